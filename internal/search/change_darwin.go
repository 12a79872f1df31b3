package search

import (
	"io/fs"
	"syscall"
)

// changeOf returns a file's change time and inode.
func changeOf(info fs.FileInfo) (changed int64, inode uint64) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0
	}
	return st.Ctimespec.Nano(), st.Ino
}
