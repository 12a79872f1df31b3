//go:build unix

package filestore

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// openNonblock prevents opening a FIFO or a device from blocking.
const openNonblock = unix.O_NONBLOCK | unix.O_NOCTTY

func syncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	err = d.Sync()
	d.Close()
	return err
}

// inode returns a file's number in its file system, or 0.
func inode(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ino
	}
	return 0
}
