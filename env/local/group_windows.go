package local

import (
	"fmt"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

var ntResumeProcess = windows.NewLazySystemDLL("ntdll.dll").NewProc("NtResumeProcess")

// guard is a job object with all processes started in an environment. The system ends them when the last job handle is
// closed, at the latest when this process dies.
type guard struct{ job windows.Handle }

func newGuard(*Env) (*guard, error) {
	job, err := newJob()
	if err != nil {
		return nil, err
	}
	return &guard{job}, nil
}

func newJob() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, err
	}
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err != nil {
		windows.CloseHandle(job)
		return 0, err
	}
	return job, nil
}

// covers returns true: the system ends the job before others can lock the files that this process held.
func (g *guard) covers([]*os.File) bool { return true }

// spools does nothing: a killed process's private directory is not removed here.
func (g *guard) spools(string) {}

// confines does nothing: there is no sandbox.
func (g *guard) confines(_, _ []string) {}

func (g *guard) stop() error { return windows.CloseHandle(g.job) }

// group is a command and its descendants: a job object inside the guard's.
type group struct {
	env   *Env
	pid   int
	proc  *os.Process
	job   windows.Handle
	state *os.ProcessState
}

func newGroup(p *process) *group { return &group{env: p.env} }

// attr starts the process suspended, so it has no children before it is in its job.
func (g *group) attr(bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		HideWindow:    true,
		CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP,
	}
}

func (g *group) start(path string, args []string, attr *os.ProcAttr) error {
	job, err := newJob()
	if err != nil {
		return err
	}
	attr.Sys.CmdLine = commandLine(args)
	p, err := os.StartProcess(path, args, attr)
	if err != nil {
		windows.CloseHandle(job)
		return err
	}
	g.proc = p
	g.pid = p.Pid
	g.job = job
	if err := g.adopt(); err != nil {
		p.Kill()
		p.Wait()
		windows.CloseHandle(job)
		return err
	}
	return nil
}

// adopt adds the process to its jobs and resumes it.
func (g *group) adopt() error {
	const access = windows.PROCESS_SET_QUOTA | windows.PROCESS_TERMINATE | windows.PROCESS_SUSPEND_RESUME
	h, err := windows.OpenProcess(access, false, uint32(g.pid))
	if err != nil {
		return err
	}
	defer windows.CloseHandle(h)
	g.env.mu.Lock()
	outer := g.env.guard
	g.env.mu.Unlock()
	if outer != nil {
		if err := windows.AssignProcessToJobObject(outer.job, h); err != nil {
			return err
		}
	}
	if err := windows.AssignProcessToJobObject(g.job, h); err != nil {
		return err
	}
	if status, _, _ := ntResumeProcess.Call(uintptr(h)); status != 0 {
		return fmt.Errorf("resume process %d: status %#x", g.pid, status)
	}
	return nil
}

func (g *group) waitExit() (exited bool) {
	g.state, _ = g.proc.Wait()
	return true
}

func (g *group) giveUp() {}

func (g *group) reap(bool) (code int, signal string) {
	if g.state == nil {
		return -1, ""
	}
	return g.state.ExitCode(), ""
}

// jobAccounting is JOBOBJECT_BASIC_ACCOUNTING_INFORMATION.
type jobAccounting struct {
	_         [4]int64
	_         uint32
	_         uint32
	active    uint32
	completed uint32
}

// orphans returns the number of processes in the job.
func (g *group) orphans(bool) int {
	var info jobAccounting
	const basicAccounting = 1
	err := windows.QueryInformationJobObject(g.job, basicAccounting,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil)
	if err != nil {
		return 0
	}
	return int(info.active)
}

// killAll sends a console break, waits for at most grace, and ends the job.
func (g *group) killAll(gone <-chan struct{}, grace time.Duration) {
	if windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(g.pid)) == nil {
		select {
		case <-gone:
		case <-time.After(grace):
		}
	}
	windows.TerminateJobObject(g.job, 1)
}

// close closes the empty job. The caller holds env.mu.
func (g *group) close() {
	if g.job != 0 {
		windows.CloseHandle(g.job)
		g.job = 0
	}
}

// endMarked does nothing: no process leaves its job.
func (e *Env) endMarked(marks, time.Duration) {}
