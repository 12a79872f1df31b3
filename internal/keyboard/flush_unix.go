//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package keyboard

import (
	"os"

	"golang.org/x/sys/unix"
)

// flushInput discards terminal input that was not read yet.
func flushInput(f *os.File) { inForeground(f, func(fd int) { _ = discardInput(fd) }) }

// pushInput reports whether there is terminal input that was not read yet, even if its line is unfinished. On Linux, it
// also makes an unfinished line readable.
func pushInput(f *os.File) (unread bool) {
	inForeground(f, func(fd int) {
		lines, err := unix.IoctlGetTermios(fd, getTermios)
		if err != nil {
			return
		}
		keys := *lines
		keys.Lflag &^= unix.ICANON // keys are counted one by one
		if unix.IoctlSetTermios(fd, setTermios, &keys) != nil {
			return
		}
		n, err := unix.IoctlGetInt(fd, inputSize)
		unread = err == nil && n > 0
		_ = unix.IoctlSetTermios(fd, setTermios, lines)
	})
	return unread
}

// inForeground calls f with a terminal, unless the process is a background job. The input of a background job belongs to
// another program, and the system would stop the job.
func inForeground(file *os.File, f func(fd int)) {
	raw, err := file.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		if group, err := unix.IoctlGetInt(int(fd), unix.TIOCGPGRP); err == nil && group == unix.Getpgrp() {
			f(int(fd))
		}
	})
}
