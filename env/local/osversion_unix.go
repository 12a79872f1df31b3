//go:build unix && !linux

package local

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// osVersion names the system and its release.
func osVersion() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return runtime.GOOS
	}
	return unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:])
}
