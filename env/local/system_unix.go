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

// osVersion returns the system and its release.
func osVersion() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return runtime.GOOS
	}
	return unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:])
}

// exitWaiter waits for a process to exit, and reaps it.
type exitWaiter struct{ state *os.ProcessState }

func (w *exitWaiter) prepare(*syscall.SysProcAttr) {}

func (w *exitWaiter) started(int) {}

func (w *exitWaiter) wait(p *os.Process) (exited bool) {
	w.state, _ = p.Wait()
	return true
}

func (w *exitWaiter) interrupt() {}

func (w *exitWaiter) reap(*os.Process) *os.ProcessState { return w.state }

// scan finds the targets in ps output, which shows the variables of the user's processes. The system hides variables of
// its own programs; these are found by their process group only.
func scan(q targets) []identity {
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
		id.parent, _ = strconv.Atoi(f[1])
		table = append(table, id)
		if q.group != 0 && id.group == q.group || q.marks.in(shownMarker(line)) {
			found[pid] = true
		}
	}
	return withChildren(table, found)
}

// shownMarker returns the marker variable in a ps line.
func shownMarker(line string) string {
	_, vars, _ := strings.Cut(line, " "+markerName+"=")
	value, _, _ := strings.Cut(vars, " ")
	return strings.TrimSpace(value)
}

func (id identity) signal(sig syscall.Signal) { syscall.Kill(id.pid, sig) }

// strays returns 2: descriptors that a child would inherit by accident are not looked for here.
func strays() int { return 2 }

// keepAttributes does nothing: extended attributes are not copied here.
func keepAttributes(f, old *os.File) {}

// strays returns nil: without namespaces, sandbox processes cannot be told from others.
func (e *Env) strays(*group) func(identity) bool { return nil }

// adopted returns nil, for the same reason.
func (e *Env) adopted() func(identity) bool { return nil }
