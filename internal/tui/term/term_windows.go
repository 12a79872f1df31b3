package term

import (
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// handled are the signals that the terminal needs.
var handled = []os.Signal{os.Interrupt}

// rawState is the console's state before raw mode.
type rawState struct {
	in, out     windows.Handle
	inMode, old uint32
	saved       bool
}

func (s *rawState) set(in, out *os.File) error {
	s.in, s.out = windows.Handle(in.Fd()), windows.Handle(out.Fd())
	var inMode, outMode uint32
	if windows.GetConsoleMode(s.in, &inMode) != nil || windows.GetConsoleMode(s.out, &outMode) != nil {
		return ErrNoTerminal
	}
	if !s.saved {
		s.inMode, s.old, s.saved = inMode, outMode, true
	}
	inMode &^= windows.ENABLE_ECHO_INPUT | windows.ENABLE_LINE_INPUT | windows.ENABLE_PROCESSED_INPUT
	inMode |= windows.ENABLE_VIRTUAL_TERMINAL_INPUT
	if err := windows.SetConsoleMode(s.in, inMode); err != nil {
		return err
	}
	outMode |= windows.ENABLE_PROCESSED_OUTPUT | windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING | windows.DISABLE_NEWLINE_AUTO_RETURN
	return windows.SetConsoleMode(s.out, outMode)
}

func (s *rawState) restore() {
	if s.saved {
		_ = windows.SetConsoleMode(s.in, s.inMode)
		_ = windows.SetConsoleMode(s.out, s.old)
	}
}

func size(f *os.File) (w, h int) {
	var info windows.ConsoleScreenBufferInfo
	if windows.GetConsoleScreenBufferInfo(windows.Handle(f.Fd()), &info) != nil {
		return 80, 24
	}
	return int(info.Window.Right-info.Window.Left) + 1, int(info.Window.Bottom-info.Window.Top) + 1
}

func cellSize(*os.File) (w, h int) { return 0, 0 }

func writable(*os.File) bool { return true }

// reader reads the console until it is stopped.
type reader struct {
	quit, done chan struct{}
}

// read starts a reader. Windows does not report size changes, so the reader checks the size after each event.
func (t *Terminal) read() (*reader, error) {
	r := &reader{quit: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.run(t)
	}()
	return r, nil
}

func (r *reader) run(t *Terminal) {
	buf := make([]byte, 64<<10)
	w, h := t.Size()
	for {
		const slice = 100 * time.Millisecond // the console cannot be waited for together with a channel
		wait := min(max(t.parser.Wait(), time.Millisecond), slice)
		if t.parser.Wait() == 0 {
			wait = slice
		}
		event, err := windows.WaitForSingleObject(t.raw.in, uint32(wait/time.Millisecond))
		select {
		case <-r.quit:
			return
		default:
		}
		if nw, nh := t.Size(); nw != w || nh != h {
			w, h = nw, nh
			t.note(Resize{w, h})
		}
		if event == uint32(windows.WAIT_TIMEOUT) {
			t.parser.Timeout(t.note)
			continue
		}
		n, rerr := t.o.In.Read(buf)
		if err != nil || rerr != nil || n == 0 {
			t.note(Quit{"the terminal was closed"})
			return
		}
		t.parser.Feed(buf[:n], t.note)
	}
}

func (r *reader) stop() {
	select {
	case <-r.quit:
	default:
		close(r.quit)
	}
	<-r.done
}

// handle handles signals until the terminal is closed.
func (t *Terminal) handle() {
	select {
	case <-t.done:
	case s := <-t.signals:
		t.quit(s, 1)
	}
}

// Suspend does nothing: Windows does not stop processes.
func (t *Terminal) Suspend() {}

// watchdog does not exist on Windows, whose console restores its modes.
type watchdog struct{}

func startWatchdog(_ *os.File, _, _ string, _ *rawState) *watchdog { return nil }

func (w *watchdog) images() {}

func (w *watchdog) stop() {}
