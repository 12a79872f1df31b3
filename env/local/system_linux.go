package local

import (
	"bufio"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// osVersion returns the distribution and the kernel version.
func osVersion() string {
	name := "Linux"
	if f, err := os.Open("/etc/os-release"); err == nil {
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			if v, ok := strings.CutPrefix(lines.Text(), "PRETTY_NAME="); ok {
				name = strings.Trim(v, `"'`)
			}
		}
	}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		name += " (kernel " + unix.ByteSliceToString(u.Release[:]) + ")"
	}
	return name
}

// strays returns the highest descriptor that a child would inherit by accident, because this process
// inherited it or a C library opened it. It returns 2 if there are none.
func strays() int {
	highest := 2
	dir, err := os.Open("/proc/self/fd")
	if err != nil {
		return highest
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		fd, err := strconv.Atoi(name)
		if err != nil || fd <= highest {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			highest = fd
		}
	}
	return highest
}

// keepAttributes copies extended attributes, including access lists, as far as permitted.
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
