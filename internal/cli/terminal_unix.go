//go:build unix

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// terminalWidth returns the number of columns of a terminal. It reports false if the file is not a
// terminal.
func terminalWidth(f *os.File) (int, bool) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, false
	}
	width, ok := 0, false
	_ = raw.Control(func(fd uintptr) {
		if size, err := unix.IoctlGetWinsize(int(fd), unix.TIOCGWINSZ); err == nil {
			width, ok = int(size.Col), true
		}
	})
	return width, ok
}

// enableEscapes reports whether a terminal interprets escape sequences.
func enableEscapes(*os.File) bool { return true }
