package term

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	getTermios = unix.TCGETS
	setTermios = unix.TCSETS
)

// settings returns the saved state as "stty -g" prints it.
func (s *rawState) settings() string {
	const size = 32 // size of c_cc in the C library
	var b strings.Builder
	fmt.Fprintf(&b, "%x:%x:%x:%x", s.saved.Iflag, s.saved.Oflag, s.saved.Cflag, s.saved.Lflag)
	for i := range size {
		c := uint8(0)
		if i < len(s.saved.Cc) {
			c = s.saved.Cc[i]
		}
		fmt.Fprintf(&b, ":%x", c)
	}
	return b.String()
}
