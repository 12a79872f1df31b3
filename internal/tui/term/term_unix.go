//go:build unix

package term

import (
	"errors"
	"os"
	"os/signal"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// handled are the signals that the terminal needs. SIGTSTP must not be among them: once the Go runtime has handled it,
// it never stops the process again.
var handled = []os.Signal{unix.SIGWINCH, unix.SIGTERM, unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGCONT}

// rawState is the terminal's state before raw mode.
type rawState struct {
	fd    int
	saved *unix.Termios
}

func (s *rawState) set(in, out *os.File) error {
	s.fd = int(in.Fd())
	old, err := unix.IoctlGetTermios(s.fd, getTermios)
	if err != nil {
		return ErrNoTerminal
	}
	if _, err := unix.IoctlGetTermios(int(out.Fd()), getTermios); err != nil {
		return ErrNoTerminal
	}
	if s.saved == nil {
		s.saved = old
	}
	raw := *old
	raw.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
	raw.Oflag &^= unix.OPOST
	raw.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	raw.Cflag = raw.Cflag&^(unix.CSIZE|unix.PARENB) | unix.CS8
	raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
	return unix.IoctlSetTermios(s.fd, setTermios, &raw)
}

func (s *rawState) restore() {
	if s.saved != nil {
		_ = unix.IoctlSetTermios(s.fd, setTermios, s.saved)
	}
}

func size(f *os.File) (w, h int) {
	s, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil || s.Col == 0 || s.Row == 0 {
		return 80, 24
	}
	return int(s.Col), int(s.Row)
}

// cellSize returns the size of a cell in pixels, or 0.
func cellSize(f *os.File) (w, h int) {
	s, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil || s.Col == 0 || s.Row == 0 {
		return 0, 0
	}
	return int(s.Xpixel / s.Col), int(s.Ypixel / s.Row)
}

// writable reports whether the terminal accepts output soon.
func writable(f *os.File) bool {
	fds := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLOUT}}
	n, err := poll(fds, 100*time.Millisecond)
	return err == nil && n > 0
}

// poll waits for files, forever if the time is 0.
func poll(fds []unix.PollFd, wait time.Duration) (int, error) {
	ms := -1
	if wait > 0 {
		ms = int((wait + time.Millisecond - 1) / time.Millisecond)
	}
	for {
		n, err := unix.Poll(fds, ms)
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

// reader reads the terminal until it is stopped.
type reader struct {
	wake [2]int
	done chan struct{}
}

// read starts a reader.
func (t *Terminal) read() (*reader, error) {
	r := &reader{done: make(chan struct{})}
	if err := unix.Pipe(r.wake[:]); err != nil {
		return nil, err
	}
	unix.CloseOnExec(r.wake[0])
	unix.CloseOnExec(r.wake[1])
	go func() {
		defer close(r.done)
		r.run(t, int(t.o.In.Fd()))
	}()
	return r, nil
}

func (r *reader) run(t *Terminal, fd int) {
	buf := make([]byte, 64<<10)
	for {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}, {Fd: int32(r.wake[0]), Events: unix.POLLIN}}
		n, err := poll(fds, t.parser.Wait())
		switch {
		case err != nil || fds[1].Revents != 0:
			return
		case n == 0:
			t.parser.Timeout(t.note)
			continue
		}
		n, err = unix.Read(fd, buf)
		switch {
		case err == unix.EINTR || err == unix.EAGAIN:
		case err != nil || n == 0: // the terminal is gone
			t.note(Quit{"the terminal was closed"})
			return
		default:
			t.parser.Feed(buf[:n], t.note)
			runtime.Gosched() // let this thread handle the events: to wake another one takes long on a busy machine
		}
	}
}

func (r *reader) stop() {
	select {
	case <-r.done:
	default:
		_, _ = unix.Write(r.wake[1], []byte{0})
		<-r.done
	}
	if r.wake[0] != 0 {
		_ = unix.Close(r.wake[0])
		_ = unix.Close(r.wake[1])
		r.wake = [2]int{}
	}
}

// handle handles signals until the terminal is closed.
func (t *Terminal) handle() {
	for {
		select {
		case <-t.done:
			return
		case s := <-t.signals:
			t.signal(s)
		}
	}
}

func (t *Terminal) signal(s os.Signal) {
	switch s {
	case unix.SIGWINCH:
		w, h := t.Size()
		t.note(Resize{w, h})
	case unix.SIGCONT:
		t.resume(ours, stopped)
	default:
		t.quit(s, 128+int(s.(unix.Signal)))
	}
}

// Suspend stops the process as Ctrl+Z does, with the terminal restored, until the shell continues it.
func (t *Terminal) Suspend() {
	t.restore(stopped)
	_ = unix.Kill(0, unix.SIGTSTP)
	time.AfterFunc(stopTime(), func() { t.resume(stopped) })
}

// stopTime returns how long it can take until the process is stopped. If it is not stopped, no signal continues it: a process
// group without a shell cannot be stopped. On a busy machine the threads of a process stop late.
func stopTime() time.Duration {
	parent := os.Getppid()
	session, err := unix.Getsid(parent)
	group, failed := unix.Getpgid(parent)
	own, unknown := unix.Getsid(0)
	switch {
	case errors.Join(err, failed, unknown) != nil || session != own || signal.Ignored(unix.SIGTSTP):
		return 100 * time.Millisecond
	case group == unix.Getpgrp():
		return time.Second // the parent may have a shell
	}
	return 10 * time.Second
}

// resume takes the terminal back after the process was stopped.
func (t *Terminal) resume(from ...state) {
	select {
	case <-t.done:
	default:
		t.enter(from...)
	}
}
