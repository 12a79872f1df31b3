//go:build !windows

package checkpoint

import (
	"io/fs"
	"os"
	"syscall"
)

const openNonblock = syscall.O_NONBLOCK | syscall.O_NOCTTY

const errNotEmpty = syscall.ENOTEMPTY

// syncDir makes directory entries durable.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// keepOwner gives f the owner of old, which it will replace, if permitted.
func keepOwner(f *os.File, old fs.FileInfo) {
	if st, ok := old.Sys().(*syscall.Stat_t); ok {
		f.Chown(int(st.Uid), int(st.Gid))
	}
}
