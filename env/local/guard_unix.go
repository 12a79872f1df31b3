//go:build unix

package local

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

//go:embed watchdog.sh
var watchdogScript string

// guard is the watchdog: a shell that waits for the end of a socket. Only this process holds the other end, so the
// socket ends when this process dies. The watchdog then kills all processes with a mark from this environment. It runs
// in its own session, away from any terminal, and inherits no host files except the socket and files passed to Hold.
type guard struct {
	proc   *os.Process
	exit   exitWaiter
	socket *os.File
	gone   chan struct{}
	held   []*os.File // files from Hold that it has
}

// newGuard starts an environment's watchdog. The caller holds e.mu.
func newGuard(e *Env) (*guard, error) {
	r, w, err := socketPair()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		w.Close()
		return nil, err
	}
	defer null.Close()
	g := &guard{socket: w, gone: make(chan struct{}), held: slices.Clone(e.held)}
	attr := &syscall.SysProcAttr{Setsid: true}
	g.exit.prepare(attr)
	g.proc, err = os.StartProcess("/bin/sh",
		[]string{"sh", "-c", watchdogScript, "reins-watchdog", markerName, e.id + ".", e.spoolRoot},
		&os.ProcAttr{
			Dir: "/",
			// The script uses PROBE to check whether grep reads past a NUL byte.
			Env: []string{
				"PATH=" + os.Getenv("PATH") + ":/usr/bin:/bin",
				"LC_ALL=C",
				markerName + "=" + e.outerMark,
				"PROBE=reins-probe",
			},
			Files: append(e.files([3]*os.File{r, null, null}), g.held...),
			Sys:   attr,
		})
	if err != nil {
		w.Close()
		return nil, err
	}
	g.exit.started(g.proc.Pid)
	if e.spoolDir != "" {
		g.spools(filepath.Base(e.spoolDir))
	}
	for p := range e.procs {
		g.began(p.group.pid)
	}
	go func() {
		defer close(g.gone)
		g.exit.wait(g.proc)
		g.exit.reap(g.proc)
	}()
	return g, nil
}

// socketPair returns two connected sockets. Commands could open a pipe through /proc, to end the watchdog
// or to keep it waiting; sockets cannot be opened there.
func socketPair() (r, w *os.File, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	syscall.CloseOnExec(fds[0])
	syscall.CloseOnExec(fds[1])
	return os.NewFile(uintptr(fds[0]), "watchdog"), os.NewFile(uintptr(fds[1]), "watchdog"), nil
}

// covers reports whether the watchdog is running and has all files to hold.
func (g *guard) covers(held []*os.File) bool {
	select {
	case <-g.gone:
		return false
	default:
	}
	for _, f := range held {
		if !slices.Contains(g.held, f) {
			return false
		}
	}
	return true
}

// tellGroups is set where the watchdog must know the process groups, because it cannot see every process's marks.
const tellGroups = runtime.GOOS != "linux"

func (g *guard) began(pgid int) { g.tell("began", pgid) }

func (g *guard) ended(pgid int) { g.tell("ended", pgid) }

// spools tells the watchdog the private directory's name.
func (g *guard) spools(name string) { fmt.Fprintln(g.socket, "spools", name) }

// confines tells the watchdog that there is a sandbox, whose processes to kill, and which paths to remove. A path with
// a line break would end the message and is left out.
func (g *guard) confines(reserved, forbidden []string) {
	fmt.Fprintln(g.socket, "boxed")
	for verb, list := range map[string][]string{"reserved": reserved, "forbidden": forbidden} {
		for _, arg := range list {
			if !strings.ContainsAny(arg, "\n\x00") {
				fmt.Fprintln(g.socket, verb, arg)
			}
		}
	}
}

func (g *guard) tell(verb string, pgid int) {
	if tellGroups && g != nil {
		fmt.Fprintf(g.socket, "%s %d\n", verb, pgid)
	}
}

// stop ends the watchdog and waits for it.
func (g *guard) stop() error {
	fmt.Fprintln(g.socket, "bye")
	err := g.socket.Close()
	select {
	case <-g.gone:
	case <-time.After(grace):
		err = errors.Join(err, g.proc.Kill())
		<-g.gone
	}
	return err
}
