//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package keyboard

import "golang.org/x/sys/unix"

const (
	getTermios = unix.TIOCGETA
	setTermios = unix.TIOCSETA
	inputSize  = 0x4004667f // FIONREAD
)

func discardInput(fd int) error {
	const read = 1 // FREAD
	return unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, read)
}
