package cli

import "os"

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
