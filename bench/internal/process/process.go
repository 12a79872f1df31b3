// Package process reads what processes use from /proc, for the benchmarks.
package process

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Tree returns a process and its descendants.
func Tree(pid int) []int {
	all := []int{pid}
	lists, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "children"))
	for _, path := range lists {
		list, _ := os.ReadFile(path)
		for _, f := range bytes.Fields(list) {
			if child, err := strconv.Atoi(string(f)); err == nil {
				all = append(all, Tree(child)...)
			}
		}
	}
	return all
}

// Usage is what a process tree has used.
type Usage struct {
	CPU      time.Duration
	Switches int64 // of threads, also involuntary ones
	Memory   int64 // resident, in bytes
}

// Used returns what a process tree has used so far. Threads and processes that have ended do not count.
func Used(pid int) (u Usage) {
	for _, p := range Tree(pid) {
		dir := filepath.Join("/proc", strconv.Itoa(p))
		u.Memory += field(filepath.Join(dir, "status"), "VmRSS:") << 10
		threads, _ := filepath.Glob(filepath.Join(dir, "task", "*"))
		for _, t := range threads {
			status := filepath.Join(t, "status")
			u.Switches += field(status, "voluntary_ctxt_switches:") + field(status, "nonvoluntary_ctxt_switches:")
			stat, _ := os.ReadFile(filepath.Join(t, "schedstat"))
			if f := strings.Fields(string(stat)); len(f) > 0 {
				ns, _ := strconv.ParseInt(f[0], 10, 64)
				u.CPU += time.Duration(ns)
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

// Alive reports whether a process runs. One that has ended counts as gone before its parent has waited for it.
func Alive(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	_, rest, ok := bytes.Cut(stat, []byte(") "))
	return err == nil && ok && !bytes.HasPrefix(rest, []byte("Z"))
}
