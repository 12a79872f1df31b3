//go:build unix

package local

import (
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reins-agent/reins/env/sandbox"
)

// group is a command and its descendants.
type group struct {
	env  *Env
	mark mark
	pid  int // also the process group id
	proc *os.Process
	exit exitWaiter
	box  *sandbox.Box // nil if unconfined

	mu     sync.Mutex
	reaped bool             // the ids may have been reused
	known  map[int]identity // descendants found after the exit
	closed bool
}

func newGroup(p *process) *group {
	return &group{env: p.env, mark: p.mark, box: p.box}
}

// attr requests a new process group. If the host has a terminal, it requests a new session, so that no command can
// prompt on that terminal. Otherwise it does not, because Linux schedules sessions as separate groups, and on a busy
// machine a new one has to wait.
func (g *group) attr(pty bool) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true}
	if pty || g.env.terminal {
		a = &syscall.SysProcAttr{Setsid: true, Setctty: pty}
	}
	g.exit.prepare(a)
	return a
}

func (g *group) start(path string, args []string, attr *os.ProcAttr) error {
	start := os.StartProcess
	if g.box != nil {
		start = g.box.Start
	}
	p, err := start(path, args, attr)
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

// waitExit waits for the command to exit, or for giveUp. On Linux it does not reap the command.
func (g *group) waitExit() (exited bool) { return g.exit.wait(g.proc) }

// giveUp ends waitExit for a command that hangs in the kernel and survives SIGKILL.
func (g *group) giveUp() { g.exit.interrupt() }

// reap returns the exit status and frees the process id. A command that was given up is reaped in the background.
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

// orphans counts the descendants still running after the command was reaped. It reads the process table only if the
// group has members or the output is still open.
func (g *group) orphans(held bool) int {
	if !held && syscall.Kill(-g.pid, 0) == syscall.ESRCH {
		return 0
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	q := g.targets()
	q.group = g.pid // not reused yet, right after reaping
	g.known = make(map[int]identity)
	for _, id := range scan(q) {
		g.known[id.pid] = id
	}
	return len(g.known)
}

// targets returns the processes in the group. The caller holds g.mu.
func (g *group) targets() targets {
	q := targets{marks: marks{g.mark.env, map[int]bool{g.mark.job: true}}, known: g.known}
	if !g.reaped {
		q.group = g.pid
	}
	return q
}

// killAll ends the command and its descendants. gone is closed when the command exits.
func (g *group) killAll(gone <-chan struct{}, grace time.Duration) {
	g.mu.Lock()
	q := g.targets()
	g.mu.Unlock()
	if g.box != nil {
		q.strays, q.adopted = g.env.strays(g), g.env.adopted()
	}
	killAll(q, gone, grace)
}

// close tells the guard that the group has ended. The caller holds env.mu.
func (g *group) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.closed = true
		g.env.guard.ended(g.pid)
	}
}

// endMarked ends all processes with a mark in m, and sandboxed processes that belong to no command.
func (e *Env) endMarked(m marks, grace time.Duration) {
	gone := make(chan struct{})
	close(gone)
	except := &group{} // running commands
	if m.jobs == nil {
		except = nil
	}
	killAll(targets{marks: m, strays: e.strays(except), adopted: e.adopted()}, gone, grace)
}
