package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// forgetTyped drops what was typed and not read yet.
func forgetTyped(f *os.File) {
	if raw, err := f.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _ = unix.IoctlSetInt(int(fd), unix.TCFLSH, unix.TCIFLUSH) })
	}
}
