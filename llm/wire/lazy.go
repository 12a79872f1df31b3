package wire

import (
	"regexp"
	"sync"
)

// lazily compiles a pattern when it is first used. Those here are for errors, which most processes
// never see, and compiling them would be a good part of the time in which a program starts.
func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}
