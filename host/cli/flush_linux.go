package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// forgetTyped drops what was typed and not read yet. In the background it does nothing: there, what is
// typed is for another program, and the system would stop this one.
func forgetTyped(f *os.File) {
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
