package local

import (
	"bufio"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// osVersion names the distribution and the kernel.
func osVersion() string {
	name := "Linux"
	if f, err := os.Open("/etc/os-release"); err == nil {
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			if v, ok := strings.CutPrefix(lines.Text(), "PRETTY_NAME="); ok {
				name = strings.Trim(v, `"'`)
			}
		}
	}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		name += " (kernel " + unix.ByteSliceToString(u.Release[:]) + ")"
	}
	return name
}
