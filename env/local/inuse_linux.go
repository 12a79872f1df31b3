package local

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// inUse returns which private directories another process has open or mounted. Their hosts do not lock them, or a
// watchdog is still killing their processes.
func inUse(names []string) map[string]bool {
	used := make(map[string]bool)
	note := func(text string) {
		for _, name := range names {
			used[name] = used[name] || strings.Contains(text, "/"+name)
		}
	}
	processes, _ := filepath.Glob("/proc/[0-9]*")
	self := filepath.Join("/proc", strconv.Itoa(os.Getpid()))
	for _, dir := range processes {
		if dir == self {
			continue
		}
		if mounts, err := os.ReadFile(filepath.Join(dir, "mountinfo")); err == nil && bytes.Contains(mounts, []byte("/"+spoolPrefix)) {
			note(string(mounts))
		}
		files, _ := os.ReadDir(filepath.Join(dir, "fd"))
		for _, f := range files {
			if at, err := os.Readlink(filepath.Join(dir, "fd", f.Name())); err == nil {
				note(at)
			}
		}
	}
	return used
}
