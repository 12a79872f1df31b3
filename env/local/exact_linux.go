package local

import (
	"errors"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/reins-agent/reins/env"
)

// Flags for openNoLinks that only find a file: any file, any file or symbolic link, and a directory.
const (
	findFile      = unix.O_PATH
	findEntry     = unix.O_PATH | unix.O_NOFOLLOW
	findDirectory = unix.O_PATH | unix.O_DIRECTORY
)

// openNoLinks opens an existing file and refuses symbolic links in its name. The error is
// errors.ErrUnsupported if the kernel, or a filter for system calls, does not support that.
func openNoLinks(h handle, name string, flag int) (*os.File, error) {
	at := unix.AT_FDCWD
	if root, ok := h.(*os.Root); ok {
		dir, err := root.Open(".")
		if err != nil {
			return nil, err
		}
		defer dir.Close()
		at = int(dir.Fd())
	}
	how := unix.OpenHow{Flags: uint64(flag) | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	for {
		fd, err := openat2(at, name, &how)
		switch err {
		case nil:
			return os.NewFile(uintptr(fd), name), nil
		case unix.EINTR, unix.EAGAIN:
		case unix.ELOOP:
			return nil, env.ErrLink
		case unix.ENOSYS, unix.EPERM, unix.EINVAL:
			return nil, errors.ErrUnsupported
		default:
			return nil, err
		}
	}
}

// openat2 is replaced by tests.
var openat2 = unix.Openat2

// descriptorPath returns a path that denotes an open file as long as it is open.
func descriptorPath(f *os.File) (string, bool) {
	return descriptors + strconv.Itoa(int(f.Fd())), haveDescriptors()
}

const descriptors = "/proc/self/fd/"

var haveDescriptors = sync.OnceValue(func() bool {
	_, err := os.Stat(descriptors)
	return err == nil
})
