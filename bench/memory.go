package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// peakMemory is the most memory that a process and its descendants have held so far, in bytes, as
// Linux tells it; elsewhere it is 0. The peak that a parent is told when a process has ended would
// not do: there it begins with what the parent itself held.
func peakMemory(pid int) int64 {
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return 0
	}
	var peak int64
	if _, rest, ok := bytes.Cut(status, []byte("VmHWM:")); ok {
		if fields := bytes.Fields(rest); len(fields) > 0 {
			kib, _ := strconv.ParseInt(string(fields[0]), 10, 64)
			peak = kib << 10
		}
	}
	children, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "children"))
	for _, path := range children {
		list, _ := os.ReadFile(path)
		for _, f := range bytes.Fields(list) {
			if child, err := strconv.Atoi(string(f)); err == nil {
				peak += peakMemory(child)
			}
		}
	}
	return peak
}
