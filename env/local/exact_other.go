//go:build !linux

package local

import (
	"errors"
	"os"
)

const findFile, findEntry, findDirectory = 0, 0, 0

func openNoLinks(handle, string, int) (*os.File, error) { return nil, errors.ErrUnsupported }

func descriptorPath(*os.File) (string, bool) { return "", false }
