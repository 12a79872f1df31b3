//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package keyboard

import "os"

// flushInput does nothing on this system.
func flushInput(*os.File) {}

// pushInput does not detect unfinished lines on this system. Only the time at which a line was completed determines
// whether it is an answer.
func pushInput(*os.File) bool { return false }
