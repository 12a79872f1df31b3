//go:build unix

package filestore

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// openNonblock prevents opening a FIFO or a device from blocking.
const openNonblock = unix.O_NONBLOCK | unix.O_NOCTTY

// lock locks an open file until its last descriptor is closed.
func lock(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EWOULDBLOCK):
			return ErrHeld
		case err != nil:
			return &os.PathError{Op: "lock", Path: f.Name(), Err: err}
		}
		return nil
	}
}

func unlock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_UN) }

func syncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	err = d.Sync()
	d.Close()
	return err
}
