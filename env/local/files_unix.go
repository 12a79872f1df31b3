//go:build unix

package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/reins-agent/reins/env"
)

const openNonblock = syscall.O_NONBLOCK | syscall.O_NOCTTY

const (
	errCrossDevice = syscall.EXDEV
	errTextBusy    = syscall.ETXTBSY
	errTooManyArgs = syscall.E2BIG
)

// meanings are the errors of the system that have a name of their own.
var meanings = []struct{ system, means error }{
	{syscall.EISDIR, env.ErrIsDir},
	{syscall.ENOTDIR, env.ErrNotDir},
	{syscall.ENOTEMPTY, env.ErrNotEmpty},
	{syscall.ENAMETOOLONG, errTooLongName},
}

// syncUnsupported reports whether a file system has no way to flush a directory.
func syncUnsupported(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP)
}

// special reports whether a path names a device by its place. Shared memory files are files.
func special(abs string) bool {
	return abs == "/dev" || strings.HasPrefix(abs, "/dev/") && !strings.HasPrefix(abs, "/dev/shm/")
}

// keepOwner gives f the owner and group of old. Who may write a file but not give files away
// cannot replace it without taking it over, and is told so.
func keepOwner(f *os.File, old fs.FileInfo) error {
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	have, ok := fi.Sys().(*syscall.Stat_t)
	want, ok2 := old.Sys().(*syscall.Stat_t)
	if !ok || !ok2 || have.Uid == want.Uid && have.Gid == want.Gid {
		return nil
	}
	if err := f.Chown(int(want.Uid), int(want.Gid)); err != nil {
		return fmt.Errorf("the file belongs to user %d, group %d, and replacing it would change that: %w", want.Uid, want.Gid, reason(err))
	}
	return nil
}
