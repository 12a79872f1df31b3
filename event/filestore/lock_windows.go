package filestore

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

const openNonblock = 0

// lock locks an open file until its handle is closed.
func lock(f *os.File) error {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{})
	switch {
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION), errors.Is(err, windows.ERROR_IO_PENDING):
		return ErrHeld
	case err != nil:
		return &os.PathError{Op: "lock", Path: f.Name(), Err: err}
	}
	return nil
}

// unlock does nothing, because no other process has the handle.
func unlock(*os.File) error { return nil }

// syncDir does nothing, because NTFS journals names.
func syncDir(string) error { return nil }
