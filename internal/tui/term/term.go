package term

import (
	"errors"
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Options are how a terminal is used.
type Options struct {
	In, Out   *os.File
	Alternate bool // use the alternate screen
	Mouse     bool // report the mouse; the terminal's own selection then needs Shift
	Plain     bool // ask nothing and set no modes but raw input
	Images    bool // ask how the terminal draws images
	Watch     bool // start a process that restores the terminal if this process is killed
	Getenv    func(string) string
	// Exit ends the process if the program does not close the terminal soon after a [Quit], or does not end long after that.
	// Nil does not.
	Exit func(code int)
}

// How long the program has after a [Quit] until it closes the terminal, and then until it ends.
const (
	closeTime = 2 * time.Second
	endTime   = 20 * time.Second
)

// state is who uses the terminal.
type state uint8

const (
	ours     state = iota
	stopped        // the shell, until the process is continued
	released       // another program
	over           // restored for good
)

// Terminal is a terminal in raw mode. [Terminal.Close] restores it. Signals that end the process restore it too.
type Terminal struct {
	o      Options
	raw    rawState
	events chan Event
	parser Parser
	writer chan struct{} // holds a token while nothing writes
	modes  registry
	state  state // guarded by writer

	sync     bool // output can be synchronized
	clusters bool // the terminal measures grapheme clusters
	graphics graphics

	mu      sync.Mutex // guards what starts and stops
	reader  *reader
	watch   atomic.Pointer[watchdog]
	signals chan os.Signal
	done    chan struct{}
	ended   sync.WaitGroup
}

// ErrNoTerminal tells that the input or the output is not a terminal.
var ErrNoTerminal = errors.New("the standard input and output must be a terminal; use --plain, or reins run in scripts")

// Open takes over the terminal.
func Open(o Options) (*Terminal, error) {
	t := &Terminal{
		o:        o,
		events:   make(chan Event, 1024),
		writer:   make(chan struct{}, 1),
		signals:  make(chan os.Signal, 8),
		done:     make(chan struct{}),
		graphics: newGraphics(),
	}
	if err := t.raw.set(o.In, o.Out); err != nil {
		return nil, err
	}
	if !o.Plain {
		t.begin()
	}
	t.writer <- struct{}{}
	signal.Notify(t.signals, handled...)
	t.ended.Go(t.handle)
	var err error
	if t.reader, err = t.read(); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// begin sets the modes and asks what the terminal can do. An answer may come late or never.
func (t *Terminal) begin() {
	s := ""
	if t.o.Alternate {
		s += t.modes.set(modeAlternate, true)
	}
	for _, m := range []mode{modeNoWrap, modeTitle, modePaste, modeFocus, modeOtherKeys, modeKitty} {
		s += t.modes.set(m, true)
	}
	if t.o.Mouse {
		s += t.modes.set(modeMouse, true)
	}
	if t.o.Getenv("TERM") != "linux" { // the Linux console answers nothing
		t.parser.Asked = true
		s += "\x1b[?u\x1b[?2026$p\x1b[?2027$p\x1b[?2031$p\x1b]11;?\x1b\\\x1b[>0q"
		if t.asks() {
			s += queryGraphics
		}
		s += "\x1b[c"
	}
	_, _ = t.o.Out.WriteString(s)
}

// Watch starts the process that restores the terminal if this process is killed. It costs about a millisecond, and is best
// called after the first frame.
func (t *Terminal) Watch() {
	if !t.o.Watch {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	<-t.writer
	// Modes may be set after this.
	leave, use := t.modes.with(modeMouse, modeClusters, modeScheme).leave(), t.state == ours
	t.writer <- struct{}{}
	if use && t.watch.Load() == nil {
		t.watch.Store(startWatchdog(t.o.Out, leave, t.graphics.deleteAll(), &t.raw))
	}
}

// Events returns the channel of events.
func (t *Terminal) Events() <-chan Event { return t.events }

// Size returns the number of columns and rows.
func (t *Terminal) Size() (w, h int) { return size(t.o.Out) }

// Sync reports whether the terminal can synchronize its output, and Clusters whether it places grapheme clusters as one.
// Both are false until the terminal answers.
func (t *Terminal) Sync() bool { return t.sync }

// Clusters reports whether the terminal places grapheme clusters as one.
func (t *Terminal) Clusters() bool { return t.clusters }

// Write writes to the terminal. After Close it does nothing.
func (t *Terminal) Write(b []byte) (int, error) {
	<-t.writer
	defer func() { t.writer <- struct{}{} }()
	if t.state != ours {
		return len(b), nil
	}
	return t.o.Out.Write(b)
}

// Mouse turns mouse reports on or off.
func (t *Terminal) Mouse(on bool) { t.set(modeMouse, on) }

func (t *Terminal) set(m mode, on bool) {
	<-t.writer
	defer func() { t.writer <- struct{}{} }()
	if s := t.modes.set(m, on); s != "" && t.state == ours {
		_, _ = t.o.Out.WriteString(s)
	}
}

// note applies a terminal reply, and passes the event to the program.
func (t *Terminal) note(e Event) {
	if r, ok := e.(Reply); ok {
		known := r.Value != 0 && r.Value != 4
		switch {
		case r.Query == QueryAttributes:
			t.parser.Asked = false
		case r.Query == QueryKitty:
			t.parser.Kitty = r.Value&1 != 0
		case r.Query == QueryMode && r.Mode == 2027 && known:
			t.set(modeClusters, true)
		case r.Query == QueryMode && r.Mode == 2031 && known:
			t.set(modeScheme, true)
		}
	}
	select {
	case t.events <- e:
	case <-t.done:
	}
}

// Use applies a terminal reply. The program calls it for each Reply that it receives.
func (t *Terminal) Use(r Reply) {
	known := r.Query == QueryMode && r.Value != 0 && r.Value != 4
	t.sync = t.sync || known && r.Mode == 2026
	t.clusters = t.clusters || known && r.Mode == 2027
	if t.asks() {
		t.graphics.learn(r, t.o.Getenv)
	}
}

// Release gives the terminal to another program, such as an editor. [Terminal.Reclaim] takes it back.
func (t *Terminal) Release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reader.stop()
	t.restore(released)
}

// Reclaim takes the terminal back after Release, and reports Resume.
func (t *Terminal) Reclaim() (err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.enter(released)
	t.reader, err = t.read()
	return err
}

// enter takes the terminal back if it is in one of the given states.
func (t *Terminal) enter(from ...state) {
	<-t.writer
	ok := slices.Contains(from, t.state)
	if ok {
		ok = t.raw.set(t.o.In, t.o.Out) == nil
	}
	if ok && !t.o.Plain {
		s := t.modes.enter()
		if t.state == ours {
			s = t.modes.leave() + s
		}
		_, _ = t.o.Out.WriteString(s)
	}
	if ok {
		t.state = ours
	}
	t.writer <- struct{}{}
	if ok {
		t.note(Resume{})
	}
}

// restore undoes modes and raw input. It does not wait long for a terminal that accepts no output.
func (t *Terminal) restore(to state) {
	locked := false
	select {
	case <-t.writer:
		locked = true
	case <-time.After(300 * time.Millisecond): // a write is stuck
	}
	if (!locked || t.state == ours) && !t.o.Plain && writable(t.o.Out) {
		_, _ = t.o.Out.WriteString(t.modes.leave())
	}
	t.raw.restore()
	if w := t.watch.Load(); w != nil && to == over {
		w.stop()
	}
	if locked {
		if t.state != over {
			t.state = to
		}
		t.writer <- struct{}{}
	}
}

// quit tells the program to end, and sees to it.
func (t *Terminal) quit(s os.Signal, code int) {
	t.restore(over)
	if t.o.Exit != nil {
		time.AfterFunc(closeTime, func() {
			select {
			case <-t.done:
				time.Sleep(endTime) // it saves what it has
			default:
			}
			t.o.Exit(code)
		})
	}
	t.note(Quit{s.String()})
}

// Close restores the terminal. It may be called more than once.
func (t *Terminal) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-t.done:
		return nil
	default:
	}
	if t.reader != nil {
		t.reader.stop()
	}
	t.restore(over)
	signal.Stop(t.signals)
	close(t.done)
	t.ended.Wait()
	return nil
}
