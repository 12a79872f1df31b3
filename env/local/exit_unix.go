//go:build unix && !linux

package local

import (
	"os"
	"syscall"
)

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
