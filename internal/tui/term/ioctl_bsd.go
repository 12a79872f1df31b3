//go:build unix && !linux

package term

import "golang.org/x/sys/unix"

const (
	getTermios = unix.TIOCGETA
	setTermios = unix.TIOCSETA
)

// settings returns "": stty then restores reasonable settings.
func (s *rawState) settings() string { return "" }
