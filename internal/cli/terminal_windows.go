package cli

import (
	"os"

	"golang.org/x/sys/windows"
)

// terminalWidth returns the number of columns of a terminal. It reports false if the file is not a
// terminal.
func terminalWidth(f *os.File) (int, bool) {
	var mode uint32
	handle := windows.Handle(f.Fd())
	if windows.GetConsoleMode(handle, &mode) != nil {
		return 0, false
	}
	var info windows.ConsoleScreenBufferInfo
	if windows.GetConsoleScreenBufferInfo(handle, &info) != nil {
		return 0, true // an input handle has no columns
	}
	return int(info.Window.Right-info.Window.Left) + 1, true
}

// enableEscapes makes a terminal interpret escape sequences.
func enableEscapes(f *os.File) bool {
	var mode uint32
	handle := windows.Handle(f.Fd())
	if windows.GetConsoleMode(handle, &mode) != nil {
		return false
	}
	return windows.SetConsoleMode(handle, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
