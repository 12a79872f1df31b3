package checkpoint

import (
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

const openNonblock = 0

const errNotEmpty = windows.ERROR_DIR_NOT_EMPTY

// syncDir does nothing: NTFS journals directory entries.
func syncDir(string) error { return nil }

// keepOwner does nothing: ownership is not preserved on Windows.
func keepOwner(*os.File, fs.FileInfo) {}
