//go:build unix

package audit

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// openFlags refuse a symbolic link, and keep a FIFO from blocking.
const openFlags = unix.O_NOFOLLOW | unix.O_NONBLOCK

// lock waits until no other process has locked the file, but not for ever.
func lock(f *os.File) error {
	start := time.Now()
	for wait := 50 * time.Microsecond; ; wait = min(2*wait, 10*time.Millisecond) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EWOULDBLOCK) && time.Since(start) < maxWait:
			time.Sleep(wait)
		case errors.Is(err, unix.EWOULDBLOCK):
			return errLocked
		default:
			return err
		}
	}
}

func unlock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_UN) }
