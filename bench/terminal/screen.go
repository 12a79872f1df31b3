//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"

	"github.com/reins-agent/reins/bench/internal/process"
	"github.com/reins-agent/reins/internal/tui/tuitest"
)

// screen runs a program on a terminal of 120 by 40 cells, answers its queries, and records what it sends.
type screen struct {
	cmd     *exec.Cmd
	tty     *os.File
	start   time.Time
	modes   string // of the line discipline before the start
	closed  chan struct{}
	exited  chan struct{}
	exitErr error

	mu    sync.Mutex
	emu   *tuitest.Emulator
	raw   []byte // kept only if keep is set
	keep  bool
	bytes int64
	waits []*wait
}

// wait is something to wait for on the screen.
type wait struct {
	cond func(*tuitest.Emulator) bool
	when chan time.Time
}

const (
	columns = 120
	rows    = 40
)

// launch starts a program. The terminal does not echo, so that only the program shows what is typed.
func launch(argv, environ []string, dir string) (*screen, error) {
	master, slave, err := pty.Open()
	if err != nil {
		return nil, err
	}
	defer slave.Close()
	if err := pty.Setsize(master, &pty.Winsize{Rows: rows, Cols: columns}); err != nil {
		return nil, err
	}
	stty := exec.Command("stty", "-echo")
	stty.Stdin = slave
	if err := stty.Run(); err != nil {
		return nil, fmt.Errorf("cannot set up the terminal: %w", err)
	}
	s := &screen{
		tty:    master,
		emu:    tuitest.New(columns, rows),
		closed: make(chan struct{}),
		exited: make(chan struct{}),
	}
	s.modes = s.discipline()
	s.cmd = exec.Command(argv[0], argv[1:]...)
	s.cmd.Dir, s.cmd.Env = dir, environ
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = slave, slave, slave
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	s.start = time.Now()
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go s.read()
	go func() {
		s.exitErr = s.cmd.Wait()
		close(s.exited)
	}()
	return s, nil
}

// discipline returns the settings of the terminal's line discipline.
func (s *screen) discipline() string {
	stty := exec.Command("stty", "-g")
	stty.Stdin = s.tty
	out, _ := stty.Output()
	return string(out)
}

func (s *screen) read() {
	defer close(s.closed)
	buf := make([]byte, 1<<16)
	for {
		n, err := s.tty.Read(buf)
		now := time.Now()
		if n > 0 {
			s.take(buf[:n], now)
		}
		if err != nil {
			return
		}
	}
}

// take shows output that arrived at a time.
func (s *screen) take(b []byte, now time.Time) {
	s.mu.Lock()
	s.bytes += int64(len(b))
	if s.keep {
		s.raw = append(s.raw, b...)
	}
	_, _ = s.emu.Write(b)
	reply := replies(b, s.emu)
	s.waits = slices.DeleteFunc(s.waits, func(w *wait) bool {
		if !w.cond(s.emu) {
			return false
		}
		w.when <- now
		return true
	})
	s.mu.Unlock()
	if reply != "" {
		_, _ = s.tty.WriteString(reply)
	}
}

var query = regexp.MustCompile(`\x1b\[6n|\x1b\[0?c|\x1b\[5n|\x1b\]1([01]);\?(?:\x07|\x1b\\)|\x1b\[\?(\d+)\$p`)

// replies answers the queries in output, as a dark terminal with synchronized output and without the kitty protocol does.
func replies(b []byte, e *tuitest.Emulator) string {
	var out strings.Builder
	for _, m := range query.FindAllSubmatch(b, -1) {
		switch q := string(m[0]); {
		case q == "\x1b[6n":
			fmt.Fprintf(&out, "\x1b[%d;%dR", e.Y+1, e.X+1)
		case q == "\x1b[5n":
			out.WriteString("\x1b[0n")
		case strings.HasSuffix(q, "c"):
			out.WriteString("\x1b[?62;22c")
		case string(m[2]) == "2026":
			out.WriteString("\x1b[?2026;2$y")
		case len(m[2]) > 0:
			fmt.Fprintf(&out, "\x1b[?%s;0$y", m[2])
		case string(m[1]) == "0":
			out.WriteString("\x1b]10;rgb:dddd/dddd/dddd\x1b\\")
		default:
			out.WriteString("\x1b]11;rgb:1111/1111/1111\x1b\\")
		}
	}
	return out.String()
}

// press types.
func (s *screen) press(keys string) { _, _ = s.tty.WriteString(keys) }

// expect starts to wait for a condition. It also holds if it holds now.
func (s *screen) expect(cond func(*tuitest.Emulator) bool) <-chan time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &wait{cond, make(chan time.Time, 1)}
	if cond(s.emu) {
		w.when <- time.Now()
	} else {
		s.waits = append(s.waits, w)
	}
	return w.when
}

// until waits for a condition.
func (s *screen) until(timeout time.Duration, cond func(*tuitest.Emulator) bool) (time.Time, bool) {
	select {
	case t := <-s.expect(cond):
		return t, true
	case <-time.After(timeout):
		return time.Time{}, false
	}
}

// has returns the condition that the screen shows a text.
func has(text string) func(*tuitest.Emulator) bool {
	return func(e *tuitest.Emulator) bool { return strings.Contains(e.Text(), text) }
}

// count returns how often a one-character cell is on the screen.
func count(e *tuitest.Emulator, cell string) (n int) {
	for _, row := range e.Cells {
		for i := range row {
			if row[i].Text == cell {
				n++
			}
		}
	}
	return n
}

// quiet waits until nothing was sent for a while.
func (s *screen) quiet(pause, timeout time.Duration) {
	last, since := int64(-1), time.Now()
	for end := time.Now().Add(timeout); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if n := s.sent(); n != last {
			last, since = n, time.Now()
		}
		if time.Since(since) >= pause {
			return
		}
	}
}

// sent returns how many bytes the program has sent.
func (s *screen) sent() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes
}

// record starts or ends to keep what the program sends.
func (s *screen) record(keep bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep, s.raw = keep, nil
}

// recorded returns what the program has sent since record.
func (s *screen) recorded() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.raw)
}

// text returns what the screen shows.
func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.emu.Text()
}

// left returns the modes that differ from those of a fresh terminal.
func (s *screen) left() (list []string) {
	s.mu.Lock()
	for mode, on := range s.emu.Modes {
		if standard := mode == "?25" || mode == "?7"; on != standard && mode != "?2027" {
			list = append(list, mode)
		}
	}
	if s.emu.Kitty > 0 {
		list = append(list, "kitty keys")
	}
	s.mu.Unlock()
	if s.discipline() != s.modes {
		list = append(list, "tty")
	}
	slices.Sort(list)
	return list
}

// end kills the program and its descendants.
func (s *screen) end() {
	for _, pid := range process.Tree(s.cmd.Process.Pid) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	<-s.exited
	select {
	case <-s.closed:
	case <-time.After(time.Second): // a process that left the tree has the terminal
	}
	s.tty.Close()
}
