package local

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// keepAttributes copies extended attributes, access lists among them, as far as the file system
// and the rights of this process allow.
func keepAttributes(f, old *os.File) {
	from, to := int(old.Fd()), int(f.Fd())
	size, err := unix.Flistxattr(from, nil)
	if err != nil || size == 0 {
		return
	}
	list := make([]byte, size)
	if size, err = unix.Flistxattr(from, list); err != nil {
		return
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(list[:size]), "\x00"), "\x00") {
		n, err := unix.Fgetxattr(from, name, nil)
		if err != nil {
			continue
		}
		value := make([]byte, n)
		if n, err = unix.Fgetxattr(from, name, value); err == nil {
			unix.Fsetxattr(to, name, value[:n], 0)
		}
	}
}
