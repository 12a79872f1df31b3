//go:build unix

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tree returns a process and its descendants.
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

// usage is what a process tree has used.
type usage struct {
	cpu      time.Duration
	switches int64 // of threads, also involuntary ones
	memory   int64 // resident, in bytes
}

// used returns what a process tree has used so far. Threads and processes that have ended do not count.
func used(pid int) (u usage) {
	for _, p := range tree(pid) {
		dir := filepath.Join("/proc", strconv.Itoa(p))
		u.memory += field(filepath.Join(dir, "status"), "VmRSS:") << 10
		threads, _ := filepath.Glob(filepath.Join(dir, "task", "*"))
		for _, t := range threads {
			status := filepath.Join(t, "status")
			u.switches += field(status, "voluntary_ctxt_switches:") + field(status, "nonvoluntary_ctxt_switches:")
			stat, _ := os.ReadFile(filepath.Join(t, "schedstat"))
			if f := strings.Fields(string(stat)); len(f) > 0 {
				ns, _ := strconv.ParseInt(f[0], 10, 64)
				u.cpu += time.Duration(ns)
			}
		}
	}
	return u
}

// field returns a number in a file of /proc.
func field(path, name string) int64 {
	b, _ := os.ReadFile(path)
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			if f := strings.Fields(rest); len(f) > 0 {
				n, _ := strconv.ParseInt(f[0], 10, 64)
				return n
			}
		}
	}
	return 0
}

// alive reports whether a process runs. One that has ended counts as gone before its parent has waited for it.
func alive(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	_, rest, ok := bytes.Cut(stat, []byte(") "))
	return err == nil && ok && !bytes.HasPrefix(rest, []byte("Z"))
}
