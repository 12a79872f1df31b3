package checkpoint

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

const openNonblock = 0

const errNotEmpty = windows.ERROR_DIR_NOT_EMPTY

// tryLock reports whether it got the lock. Closing f releases it.
func tryLock(f *os.File) (bool, error) {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, new(windows.Overlapped))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}

// syncDir does nothing: NTFS journals directory entries.
func syncDir(string) error { return nil }

// keepOwner does nothing: ownership is not preserved on Windows.
func keepOwner(*os.File, fs.FileInfo) {}
