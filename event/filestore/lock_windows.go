package filestore

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// openNonblock has nothing to do here.
const openNonblock = 0

// lock takes the lock of an open file, which goes with its handle.
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

// unlock has nothing to do: no other process gets the handle.
func unlock(*os.File) error { return nil }

// syncDir has nothing to do: NTFS journals names itself, and has no call for it.
func syncDir(string) error { return nil }
