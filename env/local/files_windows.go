package local

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/windows"

	"github.com/reins-agent/reins/env"
)

const openNonblock = 0

const (
	errCrossDevice = windows.ERROR_NOT_SAME_DEVICE
	errTextBusy    = syscall.ETXTBSY
	errTooManyArgs = windows.ERROR_FILENAME_EXCED_RANGE
)

// meanings are the errors of the system that have a name of their own.
var meanings = []struct{ system, means error }{
	{syscall.EISDIR, env.ErrIsDir},
	{syscall.ENOTDIR, env.ErrNotDir},
	{windows.ERROR_DIRECTORY, env.ErrNotDir},
	{windows.ERROR_DIR_NOT_EMPTY, env.ErrNotEmpty},
	{windows.ERROR_FILENAME_EXCED_RANGE, errTooLongName},
}

// syncUnsupported is always true: the file system makes names durable by itself, and a directory
// cannot be flushed.
func syncUnsupported(error) bool { return true }

// special reports whether a path names a device by its place: \\.\ and \\?\GLOBALROOT. Device
// names such as NUL are seen by the mode of the file.
func special(abs string) bool {
	return len(abs) >= 4 && abs[0] == '\\' && abs[1] == '\\' && (abs[2] == '.' || abs[2] == '?') && abs[3] == '\\'
}

// keepOwner does nothing: the new file inherits the access list of its directory.
func keepOwner(*os.File, fs.FileInfo) error { return nil }
