//go:build unix

package local

import (
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// killTime is the maximum time to wait for a killed process. Processes that hang in the kernel die later.
const killTime = 3 * time.Second

// newTime is the maximum time to look for processes that appear while others are killed.
const newTime = 10 * killTime

// targets selects processes: by mark, by process group or session, by earlier sightings, and all descendants of these.
type targets struct {
	marks marks
	group int // 0: none
	known map[int]identity
	// strays, if set, reports whether a process is in the sandbox and belongs to no running command. This finds
	// processes that dropped their mark, group and parent.
	strays func(identity) bool
	// adopted, if set, reports whether a process made itself a child of this process. Nothing else reaps it.
	adopted func(identity) bool
}

// identity distinguishes a process from a later process with the same id.
type identity struct {
	pid, parent, group int
	start              uint64 // start time; 0 if unknown
}

// withChildren returns the processes found and all their descendants.
func withChildren(table []identity, found map[int]bool) []identity {
	for more := len(found) > 0; more; {
		more = false
		for _, id := range table {
			if found[id.parent] && !found[id.pid] {
				found[id.pid] = true
				more = true
			}
		}
	}
	return slices.DeleteFunc(table, func(id identity) bool { return !found[id.pid] })
}

// killAll ends the targets: it sends SIGTERM, waits for at most grace, and sends SIGKILL. gone is closed when the group
// leader has exited.
func killAll(q targets, gone <-chan struct{}, grace time.Duration) {
	if grace > 0 && terminate(q) {
		awaitExit(q, gone, grace)
	}
	begin := time.Now()
	last := begin // when a process was killed for the first time
	killed := make(map[identity]bool)
	var children []int
	defer func() {
		for _, pid := range children {
			syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		}
	}()
	// A process that forks while the table is read may be missed, so look twice.
	for clean, pause := 0, time.Millisecond; clean < 2; {
		if q.group != 0 {
			syscall.Kill(-q.group, syscall.SIGKILL)
		}
		found := scan(q)
		if len(found) == 0 {
			clean++
			continue
		}
		clean = 0
		for _, id := range found {
			if same := (identity{pid: id.pid, start: id.start}); !killed[same] && time.Since(begin) < newTime {
				killed[same], last = true, time.Now()
			}
			if q.adopted != nil && q.adopted(id) {
				children = append(children, id.pid)
			}
			id.signal(syscall.SIGKILL)
		}
		if time.Since(last) > killTime {
			return
		}
		time.Sleep(pause)
		pause = min(2*pause, 20*time.Millisecond)
	}
}

// terminate sends SIGTERM, and reports whether there was any target.
func terminate(q targets) bool {
	found := false
	if q.group != 0 {
		found = syscall.Kill(-q.group, syscall.SIGTERM) == nil
	}
	for _, id := range scan(q) {
		if q.group == 0 || id.group != q.group {
			id.signal(syscall.SIGTERM)
		}
		found = true
	}
	return found
}

// awaitExit waits until the targets are gone, for at most grace.
func awaitExit(q targets, gone <-chan struct{}, grace time.Duration) {
	limit := time.NewTimer(grace)
	defer limit.Stop()
	select {
	case <-gone:
	case <-limit.C:
		return
	}
	for pause := time.Millisecond; len(scan(q)) > 0; pause = min(2*pause, 100*time.Millisecond) {
		select {
		case <-limit.C:
			return
		case <-time.After(pause):
		}
	}
}

// in reports whether a marker variable's value contains a mark in m.
func (m marks) in(value string) bool {
	for text := range strings.SplitSeq(value, ";") {
		env, number, ok := strings.Cut(text, ".")
		if !ok || env != m.env {
			continue
		}
		job, err := strconv.Atoi(number)
		if err == nil && (m.jobs == nil || m.jobs[job]) {
			return true
		}
	}
	return false
}
