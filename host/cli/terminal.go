package cli

import (
	"io"
	"os"
)

// isTerminal reports whether a stream is a terminal. Other devices, such as the null device, are
// not.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	_, ok = terminalWidth(f)
	return ok
}

// colours reports whether what goes to a stream may be coloured and redrawn.
func (h Host) colours(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && isTerminal(f) && h.Getenv("NO_COLOR") == "" && h.Getenv("TERM") != "dumb" && showsEscapes(f)
}

// screenWidth returns the width of a terminal; 0 if the stream is not one.
func screenWidth(stream io.Writer) int {
	f, ok := stream.(*os.File)
	if !ok {
		return 0
	}
	n, ok := terminalWidth(f)
	if ok && n == 0 {
		return 80
	}
	return n
}
