package local

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

const openNonblock = 0

const (
	errCrossDevice = windows.ERROR_NOT_SAME_DEVICE
	errTextBusy    = syscall.ETXTBSY
)

// special reports whether a path names a device by its place: \\.\ and \\?\GLOBALROOT. Device
// names such as NUL are seen by the mode of the file.
func special(abs string) bool {
	return len(abs) >= 4 && abs[0] == '\\' && abs[1] == '\\' && (abs[2] == '.' || abs[2] == '?') && abs[3] == '\\'
}

// keepOwner does nothing: the new file inherits the access list of its directory.
func keepOwner(*os.File, fs.FileInfo) error { return nil }
