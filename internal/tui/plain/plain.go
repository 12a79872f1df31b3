// Package plain is a session in lines: for screen readers, terminals without cursor movement, and logs. It writes each
// finished item once, in words and without control characters, and reads lines from a terminal in its usual mode or from a
// pipe.
package plain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/keyboard"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/internal/tui/dialog"
	"github.com/reins-agent/reins/session"
	"github.com/reins-agent/reins/view"
)

// Phrases that scripts can wait for. A line that ends with the first of them takes a prompt, and a line that begins with
// the other takes the answer to an approval.
const (
	Ready = "Ready."
	Allow = dialog.Phrase
)

// Options configure Run. Handle, In and Out are required.
type Options struct {
	Handle session.Handle
	In     io.Reader
	Out    io.Writer
	// Prompt is submitted at the start.
	Prompt string
	// Echo repeats the input, for logs without a terminal. Bell rings when the work ends and when a
	// question is asked.
	Echo, Bell bool
	// Open opens another session: the one with an ID, or a new one for "". Nil means that other sessions cannot be opened.
	Open func(ctx context.Context, id string) (session.Handle, error)
	// Interrupts are the user's interrupts, such as ctrl-c. Nil listens for os.Interrupt.
	Interrupts <-chan os.Signal
}

// Run shows a session and passes on what the user types, until the user quits, the input ends and the work is done, or the
// session is closed. The session stays open: the caller closes the returned handle, which differs from the handle in the
// options if the user opened another session.
func Run(ctx context.Context, o Options) (session.Handle, error) {
	if o.Interrupts == nil {
		c := make(chan os.Signal, 4)
		signal.Notify(c, os.Interrupt)
		defer signal.Stop(c)
		o.Interrupts = c
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f := &face{
		o:      o,
		ctx:    ctx,
		out:    &printer{w: o.Out, bell: o.Bell},
		typed:  make(chan typed),
		notes:  make(chan func() error),
		tick:   time.NewTicker(time.Hour),
		handle: o.Handle,
	}
	defer f.tick.Stop()
	f.keys = &keyboard.Keyboard{
		In:            o.In,
		Words:         []string{"yes", "no"},
		EndsWithInput: true,
		Closed:        func() { f.send(typed{end: true}) },
	}
	err := f.open(o.Handle)
	if err == nil {
		f.keys.Listen(func(line string) { f.send(typed{text: line}) })
		defer f.keys.Flush()
		err = f.loop()
	}
	f.detach()
	if errors.Is(err, errQuit) {
		err = nil
	}
	if ctx.Err() != nil && err == nil {
		err = context.Cause(ctx)
	}
	return f.handle, errors.Join(err, f.out.end())
}

// errQuit ends the loop.
var errQuit = errors.New("quit")

// face is a session in lines. Its fields belong to the loop, except where they say otherwise.
type face struct {
	o      Options
	ctx    context.Context
	out    *printer // may be used concurrently
	keys   *keyboard.Keyboard
	handle session.Handle
	typed  chan typed
	notes  chan func() error // what other goroutines tell the loop

	detach  func() // stops the handle's goroutines
	records <-chan record
	state   *view.State
	from    int               // items before it were printed
	printed map[view.Key]bool // later items that were printed

	sent     []string // inputs that were typed here and have not become items
	steered  map[string]bool
	draft    string   // lines that end with a backslash
	held     []string // lines that wait until the session can take them
	asking   *asking
	decided  map[string]time.Time // questions that were answered here and still wait as the last records say, as they were asked
	shelved  map[string]bool      // questions that were open when the user interrupted; /continue asks them again
	working  bool                 // as the last records say
	settling bool                 // the session may be idle: a goroutine waits until it is
	idle     bool                 // the session was idle after the record idleAt, which may be still to come
	idleAt   event.Seq
	resting  bool      // the user was told that the session is ready
	stopped  view.Stop // as the user was told
	commands int       // slash commands that run
	aside    string    // output of user commands since the last prompt
	told     time.Time // when the current activity was last described
	command  func()    // interrupts the user's own command; nil if none runs
	pressed  bool      // ctrl-c was pressed since the last line
	ended    bool      // the input ended
	tick     *time.Ticker
}

// typed is an input line, or EOF.
type typed struct {
	text string
	end  bool
}

// record is an event, or the error that ended them.
type record struct {
	event.Record
	err  error
	over bool
}

func (f *face) send(t typed) {
	select {
	case f.typed <- t:
	case <-f.ctx.Done():
	}
}

// tell passes f to the loop.
func (f *face) tell(ctx context.Context, note func() error) {
	select {
	case f.notes <- note:
	case <-ctx.Done():
	}
}

// open shows another session.
func (f *face) open(h session.Handle) error {
	if f.detach != nil {
		f.detach()
	}
	ctx, cancel := context.WithCancel(f.ctx)
	f.detach = cancel
	state, err := h.Snapshot(ctx)
	if err != nil {
		return fmt.Errorf("cannot show the session: %w", err)
	}
	info, err := h.Info(ctx)
	if err != nil {
		return fmt.Errorf("cannot show the session: %w", err)
	}
	f.handle, f.state = h, state
	f.printed, f.steered = map[view.Key]bool{}, map[string]bool{}
	f.decided, f.shelved = map[string]time.Time{}, map[string]bool{}
	f.sent, f.held = nil, nil
	f.working, f.settling, f.resting = f.busy(), false, false
	f.out.line(opening(info))
	f.from = lastPrompt(state)
	if f.from > 0 {
		f.out.line(fmt.Sprintf("%s are not shown; reins sessions show %s shows them.", show.Plural(f.from, "earlier item"), info.ID))
	}
	records := make(chan record)
	f.records = records
	go follow(ctx, h, state.Last(), records)
	if f.o.Prompt != "" {
		f.held, f.o.Prompt = []string{f.o.Prompt}, ""
	}
	return f.settle()
}

// opening describes a session in words.
func opening(i session.Info) string {
	text := fmt.Sprintf("Session %s in %s. Model %s, mode %s.", i.ID, show.OneLine(i.Dir), show.OneLine(i.Model), i.Mode)
	if i.Title != "" {
		text = fmt.Sprintf("%s Title: %s.", text, show.OneLine(i.Title))
	}
	return text + " Type a prompt, or /help."
}

// lastPrompt returns the index of the last input, or 0.
func lastPrompt(s *view.State) int {
	for i := s.Len() - 1; i > 0; i-- {
		if item := s.Item(i); item.Kind == view.KindInput && item.Agent == "" {
			return i
		}
	}
	return 0
}

// follow sends a session's events.
func follow(ctx context.Context, h session.Handle, after event.Seq, to chan<- record) {
	next := record{over: true}
	for r, err := range h.Events(ctx, after) {
		if err != nil {
			next.err = err
			break
		}
		select {
		case to <- record{Record: r}:
		case <-ctx.Done():
			return
		}
	}
	select {
	case to <- next:
	case <-ctx.Done():
	}
}

// loop handles what happens until the end.
func (f *face) loop() error {
	for {
		var err error
		select {
		case r := <-f.records:
			err = f.record(r)
		case t := <-f.typed:
			err = f.input(t)
		case note := <-f.notes:
			err = note()
		case <-f.o.Interrupts:
			err = f.interrupt()
		case now := <-f.tick.C:
			f.describe(now)
		case <-f.ctx.Done():
			err = context.Cause(f.ctx)
		}
		if err == nil {
			err = f.out.err()
		}
		if err == nil && f.over() {
			err = errQuit
		}
		if err != nil {
			return err
		}
	}
}

// record applies an event.
func (f *face) record(r record) error {
	switch {
	case r.err != nil && !errors.Is(r.err, session.ErrClosed):
		return fmt.Errorf("cannot follow the session: %w", r.err)
	case r.err != nil || r.over:
		f.out.line("The session was closed.")
		return errQuit
	}
	f.state.Apply(r.Record)
	if err := f.settle(); err != nil {
		return err
	}
	return f.rest()
}

// over reports whether the input has ended and nothing is left to do.
func (f *face) over() bool {
	return f.ended && f.resting && f.asking == nil && f.command == nil && f.commands == 0 && len(f.held) == 0
}

// settle shows new items, asks waiting questions, and reports when work starts and ends.
func (f *face) settle() error {
	f.items()
	if err := f.questions(); err != nil {
		return err
	}
	switch busy := f.busy(); {
	case busy:
		if !f.working {
			f.told = time.Time{}
			f.tick.Reset(time.Second)
		}
		f.working, f.settling, f.idle, f.resting = true, false, false, false
		return f.release()
	case (f.working || !f.resting) && !f.settling:
		f.tick.Reset(time.Hour)
		f.working, f.settling, f.idle = false, true, false
		go f.wait(f.handle)
	}
	return nil
}

// acted notes that a line had an effect: the session may work now, or is ready again.
func (f *face) acted() error {
	f.resting = false
	return f.settle()
}

// busy reports whether the main agent works, as the records say.
func (f *face) busy() bool {
	a, _ := f.state.Agent("")
	doing := a.Activity.Doing
	return doing != view.DoingNothing && doing != view.DoingQuestion && f.state.Stop().Outcome == ""
}

// wait tells the loop when the session is idle, and what its last record is.
func (f *face) wait(h session.Handle) {
	_, _ = h.Wait(f.ctx) // the state has the outcome
	info, _ := h.Info(f.ctx)
	f.tell(f.ctx, func() error {
		if f.handle != h || !f.settling {
			return nil
		}
		f.idle, f.idleAt = true, info.Last
		return f.rest()
	})
}

// rest tells the user that the session is idle, unless there are lines that waited for that.
func (f *face) rest() error {
	if !f.settling || !f.idle || f.state.Last() < f.idleAt {
		return nil
	}
	f.settling, f.idle = false, false
	f.unread()
	if len(f.held) > 0 && !f.inquired() {
		return f.release()
	}
	if f.asking != nil || f.resting {
		return nil
	}
	f.resting = true
	stop := f.state.Stop()
	if stop == f.stopped {
		stop = view.Stop{}
	} else {
		f.stopped = stop
	}
	f.out.ready(stopText(stop))
	return nil
}

// release handles the lines that waited, one for each time that the session can take one.
func (f *face) release() error {
	if len(f.held) == 0 || f.settling || f.inquired() {
		return nil
	}
	line := f.held[0]
	f.held = f.held[1:]
	return f.line(line)
}

// unread submits steering messages that came too late for the work to read them.
func (f *face) unread() {
	if f.state.Stop().Outcome != event.StatusDone {
		return
	}
	for _, q := range f.state.Queue() {
		if !f.steered[q.Text] || q.Agent != "" {
			continue
		}
		delete(f.steered, q.Text)
		if f.handle.Withdraw(f.ctx, q.Seq) == nil {
			f.held = append(f.held, q.Text)
		}
	}
}

// describe prints the session's activity from time to time.
func (f *face) describe(now time.Time) {
	if f.asking != nil || !f.working {
		return
	}
	a, _ := f.state.Agent("")
	since := a.Activity.Since
	if since.IsZero() || f.told.Before(since) {
		f.told = since
	}
	if due(since, f.told, now) {
		f.told = now
		f.out.line(activityText(a.Activity, now))
	}
}

// due reports whether an activity is to be described again: after ten seconds, then each time its duration has doubled,
// and at least every ten minutes.
func due(since, told, now time.Time) bool {
	if since.IsZero() {
		return false
	}
	const first, longest = 10 * time.Second, 10 * time.Minute
	next := max(first, min(told.Sub(since)*2, told.Sub(since)+longest))
	return now.Sub(since) >= next
}
