package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// tree is a process and its descendants, as Linux tells them; elsewhere it is the process alone.
func tree(pid int) []int {
	all := []int{pid}
	lists, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "children"))
	for _, path := range lists {
		list, _ := os.ReadFile(path)
		for _, f := range bytes.Fields(list) {
			if child, err := strconv.Atoi(string(f)); err == nil {
				all = append(all, tree(child)...)
			}
		}
	}
	return all
}

// kill ends a process and its descendants: an agent from npm is often a script around another
// program.
func kill(pid int) error {
	var err error
	for _, p := range tree(pid) {
		if process, findErr := os.FindProcess(p); findErr == nil {
			if killErr := process.Kill(); p == pid {
				err = killErr
			}
		}
	}
	return err
}

// peakMemory is the most memory that a process and its descendants have held so far, in bytes, as
// Linux tells it; elsewhere it is 0. The peak that a parent is told when a process has ended would
// not do: there it begins with what the parent itself held.
func peakMemory(pid int) int64 {
	var sum int64
	for _, p := range tree(pid) {
		status, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p), "status"))
		_, rest, _ := bytes.Cut(status, []byte("VmHWM:"))
		if fields := bytes.Fields(rest); len(fields) > 0 {
			kib, _ := strconv.ParseInt(string(fields[0]), 10, 64)
			sum += kib << 10
		}
	}
	return sum
}
