//go:build !unix

package remote

import (
	"errors"
	"net"
	"os"
)

func listenUnix(string) (*net.UnixListener, error) { return nil, errors.ErrUnsupported }

func checkPrivate(string) error { return errors.ErrUnsupported }

func openPrivate(path string) (*os.File, error) { return nil, errors.ErrUnsupported }

func isRefused(error) bool { return false }

func checkPeer(net.Conn) error { return errors.ErrUnsupported }

func checkClient(net.Conn) error { return errors.ErrUnsupported }
