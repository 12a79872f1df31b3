package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// flushInput discards terminal input that was not read yet. A background job leaves it alone: the
// input is for another program, and the system would stop the job.
func flushInput(f *os.File) {
	raw, err := f.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		if group, err := unix.IoctlGetInt(int(fd), unix.TIOCGPGRP); err == nil && group == unix.Getpgrp() {
			_ = unix.IoctlSetInt(int(fd), unix.TCFLSH, unix.TCIFLUSH)
		}
	})
}
