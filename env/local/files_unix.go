//go:build unix

package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/reins-agent/reins/env"
)

const openNonblock = syscall.O_NONBLOCK | syscall.O_NOCTTY

const (
	errCrossDevice = syscall.EXDEV
	errTextBusy    = syscall.ETXTBSY
	errTooManyArgs = syscall.E2BIG
)

// systemErrors maps system errors to errors in package env.
var systemErrors = []struct{ system, env error }{
	{syscall.EISDIR, env.ErrIsDir},
	{syscall.ENOTDIR, env.ErrNotDir},
	{syscall.ENOTEMPTY, env.ErrNotEmpty},
	{syscall.ENAMETOOLONG, errTooLongName},
}

// syncUnsupported reports whether the file system cannot flush a directory.
func syncUnsupported(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP)
}

// special reports whether a path is in /dev, except for shared memory files.
func special(abs string) bool {
	return abs == "/dev" || strings.HasPrefix(abs, "/dev/") && !strings.HasPrefix(abs, "/dev/shm/")
}

// renameBetween moves a file from one directory to another.
func renameBetween(from *os.Root, old string, to *os.Root, name string) error {
	f, err := from.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	t, err := to.Open(".")
	if err != nil {
		return err
	}
	defer t.Close()
	return unix.Renameat(int(f.Fd()), old, int(t.Fd()), name)
}

// keepOwner copies owner and group from old to f. It fails if that is not permitted, because replacing the file would
// change its owner.
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
		return fmt.Errorf("the file belongs to user %d, group %d; replacing it would change its owner: %w", want.Uid, want.Gid, cause(err))
	}
	return nil
}
