//go:build unix

package local

import (
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// group is a command with its descendants.
type group struct {
	env  *Env
	mark mark
	pid  int // also the id of its process group
	proc *os.Process
	exit exitWaiter

	mu     sync.Mutex
	reaped bool             // the ids may belong to somebody else by now
	known  map[int]identity // descendants that were seen after the end
	closed bool
}

func newGroup(e *Env, mark mark) *group { return &group{env: e, mark: mark} }

// attr asks for a process group of its own. If the host has a terminal it is a session of its own
// as well: that leaves the terminal behind, and nothing can ask for a password on it. Without need
// it is not done, because on Linux every session is a party of its own to the scheduler, and on a
// busy machine a new one waits.
func (g *group) attr(pty bool) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true}
	if pty || g.env.terminal {
		a = &syscall.SysProcAttr{Setsid: true, Setctty: pty}
	}
	g.exit.prepare(a)
	return a
}

func (g *group) start(path string, args []string, attr *os.ProcAttr) error {
	p, err := os.StartProcess(path, args, attr)
	if err != nil {
		return err
	}
	g.proc, g.pid = p, p.Pid
	g.exit.started(p.Pid)
	if tellGroups {
		g.env.mu.Lock()
		g.env.guard.began(g.pid)
		g.env.mu.Unlock()
	}
	return nil
}

// waitExit waits for the command to exit, or for giveUp. On Linux it is not reaped yet after that.
func (g *group) waitExit() (exited bool) { return g.exit.wait(g.proc) }

// giveUp ends waitExit for a command that hangs in the kernel and does not even die of SIGKILL.
func (g *group) giveUp() { g.exit.interrupt() }

// reap takes the exit status, and gives up the process id. A command that was given up is reaped
// when the kernel lets it go.
func (g *group) reap(exited bool) (code int, signal string) {
	g.mu.Lock()
	g.reaped = true
	g.mu.Unlock()
	if !exited {
		go g.proc.Wait()
		return 128 + int(syscall.SIGKILL), "SIGKILL"
	}
	state := g.exit.reap(g.proc)
	if state == nil {
		return -1, ""
	}
	ws := state.Sys().(syscall.WaitStatus)
	if ws.Signaled() {
		return 128 + int(ws.Signal()), unix.SignalName(ws.Signal())
	}
	return ws.ExitStatus(), ""
}

// orphans counts the descendants that run on after the command was reaped. The process table is
// only read when there is a sign of them: the group has members, or the output is held.
func (g *group) orphans(held bool) int {
	if !held && syscall.Kill(-g.pid, 0) == syscall.ESRCH {
		return 0
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	q := g.quarry()
	q.group = g.pid // right after the reaping, a group of this number can only be ours
	g.known = make(map[int]identity)
	for _, id := range scan(q) {
		g.known[id.pid] = id
	}
	return len(g.known)
}

// quarry says what to look for. The caller holds g.mu.
func (g *group) quarry() quarry {
	q := quarry{marks: marks{g.mark.env, map[int]bool{g.mark.job: true}}, known: g.known}
	if !g.reaped {
		q.group = g.pid
	}
	return q
}

// extinguish ends the command and all its descendants. gone is closed when the command exits.
func (g *group) extinguish(gone <-chan struct{}, grace time.Duration) {
	g.mu.Lock()
	q := g.quarry()
	g.mu.Unlock()
	extinguish(q, gone, grace)
}

// close gives up what the group holds. The caller holds env.mu.
func (g *group) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.closed = true
		g.env.guard.ended(g.pid)
	}
}

// closedChan stands for a command that has exited long ago.
func closedChan() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// endMarked ends every process that carries one of the marks.
func endMarked(m marks, grace time.Duration) {
	extinguish(quarry{marks: m}, closedChan(), grace)
}
