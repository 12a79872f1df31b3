package local

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// strays gives the number of the highest descriptor that a child would inherit by accident: one
// that this process itself inherited, or that a C library opened. It is 2 when there are none.
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
