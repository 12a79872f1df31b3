package local

import (
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// exitWaiter waits for a process to exit without reaping it and without blocking a thread: a process
// descriptor becomes readable at exit.
type exitWaiter struct {
	fd   int
	file *os.File
}

func (w *exitWaiter) prepare(a *syscall.SysProcAttr) {
	w.fd = -1
	a.PidFD = &w.fd
}

func (w *exitWaiter) started(pid int) {
	if w.fd < 0 { // the sandbox started it
		var err error
		if w.fd, err = unix.PidfdOpen(pid, 0); err != nil {
			return
		}
	}
	if err := syscall.SetNonblock(w.fd, true); err != nil {
		syscall.Close(w.fd)
		return
	}
	w.file = os.NewFile(uintptr(w.fd), "pidfd")
}

// wait waits until the process has exited or interrupt was called, and reports which.
func (w *exitWaiter) wait(p *os.Process) (exited bool) {
	if w.file != nil {
		defer w.file.Close()
		raw, err := w.file.SyscallConn()
		if err == nil {
			exited, err = w.poll(raw)
		}
		if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			return exited
		}
	}
	waitid(unix.P_PID, p.Pid, 0)
	return true
}

// poll waits on the process descriptor.
func (w *exitWaiter) poll(raw syscall.RawConn) (exited bool, err error) {
	var failed error
	err = raw.Read(func(fd uintptr) bool {
		exited, failed = waitid(unix.P_PIDFD, int(fd), unix.WNOHANG)
		return exited || failed != nil
	})
	return exited, errors.Join(err, failed)
}

// interrupt ends wait for a process that SIGKILL does not end.
func (w *exitWaiter) interrupt() {
	if w.file != nil {
		w.file.SetReadDeadline(time.Unix(1, 0))
	}
}

// waitid reports whether a process has exited, without reaping it.
func waitid(kind, id, options int) (exited bool, err error) {
	for {
		var si unix.Siginfo
		err := unix.Waitid(kind, id, &si, unix.WEXITED|unix.WNOWAIT|options, nil)
		if err != unix.EINTR {
			return si.Signo != 0, err
		}
	}
}

func (w *exitWaiter) reap(p *os.Process) *os.ProcessState {
	state, _ := p.Wait()
	return state
}
