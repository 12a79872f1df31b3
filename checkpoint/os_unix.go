//go:build !windows

package checkpoint

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const openNonblock = syscall.O_NONBLOCK | syscall.O_NOCTTY

const errNotEmpty = syscall.ENOTEMPTY

// tryLock reports whether it got the lock, which lasts until f is closed.
func tryLock(f *os.File) (bool, error) {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch err {
		case nil:
			return true, nil
		case unix.EWOULDBLOCK:
			return false, nil
		case unix.EINTR:
			continue
		}
		return false, err
	}
}

// syncDir makes the names in a directory durable.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// keepOwner gives f the owner of the file it is to replace, where that is allowed.
func keepOwner(f *os.File, old fs.FileInfo) {
	if st, ok := old.Sys().(*syscall.Stat_t); ok {
		f.Chown(int(st.Uid), int(st.Gid))
	}
}
