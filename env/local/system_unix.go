//go:build unix && !linux

package local

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"

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

// exitWaiter waits for a process to exit. Here that reaps it.
type exitWaiter struct{ state *os.ProcessState }

func (w *exitWaiter) prepare(*syscall.SysProcAttr) {}

func (w *exitWaiter) started(int) {}

func (w *exitWaiter) wait(p *os.Process) (exited bool) {
	w.state, _ = p.Wait()
	return true
}

func (w *exitWaiter) interrupt() {}

func (w *exitWaiter) reap(*os.Process) *os.ProcessState { return w.state }

// identity names a process.
type identity struct{ pid, group int }

// scan finds the processes of a quarry with ps, which shows the environment of the user's own
// processes. The system hides that of its own programs, so there the process group has to do.
func scan(q quarry) []identity {
	show := "-axwwe"
	if runtime.GOOS == "darwin" {
		show = "-axwwE"
	}
	text, err := exec.Command("ps", show, "-o", "pid=,ppid=,pgid=,stat=,command=").Output()
	if err != nil {
		return nil
	}
	self := os.Getpid()
	found := make(map[int]bool)
	parent := make(map[int]int)
	var table []identity
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 5 || strings.HasPrefix(f[3], "Z") {
			continue
		}
		pid, _ := strconv.Atoi(f[0])
		id := identity{pid: pid}
		id.group, _ = strconv.Atoi(f[2])
		if pid == self || pid == 0 {
			continue
		}
		parent[pid], _ = strconv.Atoi(f[1])
		table = append(table, id)
		if q.group != 0 && id.group == q.group || q.marks.in(shownMarker(line)) {
			found[pid] = true
		}
	}
	return withChildren(table, parent, found)
}

// shownMarker gives the value of the marker variable in a line of ps.
func shownMarker(line string) string {
	_, vars, _ := strings.Cut(line, " "+markerName+"=")
	value, _, _ := strings.Cut(vars, " ")
	return strings.TrimSpace(value)
}

// withChildren adds the children of those found, and theirs.
func withChildren(table []identity, parent map[int]int, found map[int]bool) []identity {
	for more := len(found) > 0; more; {
		more = false
		for _, id := range table {
			if found[parent[id.pid]] && !found[id.pid] {
				found[id.pid] = true
				more = true
			}
		}
	}
	var list []identity
	for _, id := range table {
		if found[id.pid] {
			list = append(list, id)
		}
	}
	return list
}

// signal sends a signal to a process.
func (id identity) signal(sig syscall.Signal) { syscall.Kill(id.pid, sig) }

// strays returns 2: descriptors that a child would inherit by accident are not looked for here.
func strays() int { return 2 }

// keepAttributes does nothing: extended attributes are not copied here.
func keepAttributes(f, old *os.File) {}
