//go:build unix

package local

import (
	"strconv"
	"strings"
	"syscall"
	"time"
)

// killTime bounds the killing of processes that do not go away, such as those that hang in the
// kernel. They die when the kernel lets them.
const killTime = 600 * time.Millisecond

// quarry says which processes to look for: those that carry a mark, those in a process group or
// session, those seen before, and the children of all of them.
type quarry struct {
	marks marks
	group int // 0: none
	known map[int]identity
}

// extinguish ends all processes of a quarry: it asks, waits for at most grace, and kills. gone is
// closed when the leader of the group has exited.
func extinguish(q quarry, gone <-chan struct{}, grace time.Duration) {
	if grace > 0 && ask(q) {
		awaitEnd(q, gone, grace)
	}
	deadline := time.Now().Add(killTime)
	// A process that forks while the table is read may be missed, so one clean look is not enough.
	for clean, pause := 0, time.Millisecond; clean < 2 && time.Now().Before(deadline); {
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
			id.signal(syscall.SIGKILL)
		}
		time.Sleep(pause)
		pause = min(2*pause, 20*time.Millisecond)
	}
}

// ask sends the polite signal, and reports whether there was anybody to send it to.
func ask(q quarry) bool {
	asked := false
	if q.group != 0 {
		asked = syscall.Kill(-q.group, syscall.SIGTERM) == nil
	}
	for _, id := range scan(q) {
		if q.group == 0 || id.group != q.group {
			id.signal(syscall.SIGTERM)
		}
		asked = true
	}
	return asked
}

// awaitEnd waits until the processes are gone or the time has passed.
func awaitEnd(q quarry, gone <-chan struct{}, grace time.Duration) {
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

// in reports whether one of the marks is in the value of a marker variable.
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
