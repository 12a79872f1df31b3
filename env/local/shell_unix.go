//go:build unix

package local

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/creack/pty"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/sandbox"
)

// findShell returns the shell's path.
func findShell(want string) (string, error) {
	if want != "" {
		path, err := exec.LookPath(want)
		if err != nil {
			return "", fmt.Errorf("find the shell: %w", err)
		}
		return path, nil
	}
	for _, name := range []string{"/bin/bash", "bash", "/bin/sh"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	// Programs can run without a shell. Command lines will fail with an error that names it.
	return "/bin/sh", nil
}

func shellArgs(shell, line string) []string { return []string{shell, "-c", line} }

// openTerminal opens a pseudo-terminal, in the sandbox if there is one.
func openTerminal(box *sandbox.Box) (master, tty *os.File, err error) {
	if box != nil {
		if master, tty, err = box.Terminal(); err == nil {
			return master, tty, nil
		}
	}
	return pty.Open()
}

// terminalStdio opens a pseudo-terminal for a command.
func terminalStdio(c env.Command, box *sandbox.Box) (*stdio, error) {
	master, tty, err := openTerminal(box)
	if err != nil {
		return nil, err
	}
	defer master.Close()
	size := &pty.Winsize{Rows: 24, Cols: 80}
	if c.Rows > 0 {
		size.Rows = uint16(c.Rows)
	}
	if c.Cols > 0 {
		size.Cols = uint16(c.Cols)
	}
	host, err := pollable(master, func() error { return pty.Setsize(master, size) })
	if err != nil {
		tty.Close()
		return nil, err
	}
	return &stdio{child: [3]*os.File{tty, tty, tty}, output: [2]*os.File{host}, stdin: host}, nil
}

// hasTerminal reports whether this process has a controlling terminal.
func hasTerminal() bool {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	f.Close()
	return true
}

// pollable returns a duplicate of f on which the runtime can wait without blocking a thread. Getting a file's
// descriptor, as the ioctl does, makes it blocking, so that comes first.
func pollable(f *os.File, ioctl func() error) (*os.File, error) {
	if err := ioctl(); err != nil {
		return nil, err
	}
	syscall.ForkLock.RLock()
	fd, err := syscall.Dup(int(f.Fd()))
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, os.NewSyscallError("dup", err)
	}
	if err := syscall.SetNonblock(fd, true); err != nil {
		syscall.Close(fd)
		return nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}
