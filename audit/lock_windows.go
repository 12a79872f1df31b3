package audit

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

const openFlags = 0

// lockAt is the byte that is locked. It is outside of the file, so that the file can be read.
var lockAt = windows.Overlapped{Offset: 1 << 30}

// lock waits until no other process has locked the file, but not for ever.
func lock(f *os.File) error {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	for start := time.Now(); ; time.Sleep(time.Millisecond) {
		at := lockAt
		err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &at)
		if !errors.Is(err, windows.ERROR_LOCK_VIOLATION) && !errors.Is(err, windows.ERROR_IO_PENDING) {
			return err
		}
		if time.Since(start) > maxWait {
			return errLocked
		}
	}
}

func unlock(f *os.File) error {
	at := lockAt
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &at)
}
