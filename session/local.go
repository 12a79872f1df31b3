package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/ask"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
	"github.com/reins-agent/reins/view"
)

// Approvals is what happens to a tool call that needs an approval.
type Approvals int

// Values of Approvals.
const (
	WaitForApproval Approvals = iota // the call waits for [Handle.Answer]
	DeferApproval                    // the call stays pending, and the work ends
	RefuseApproval                   // the call is refused
)

// Options configure a [Local]. The zero value waits for answers, saves no rules and has no commands.
type Options struct {
	// Approvals is what happens to calls that need an approval. With RefuseApproval, Refusal gives the answer.
	Approvals Approvals
	Refusal   func(ctx context.Context, r tool.Request) tool.Approval

	// Places are the files in which approvals can save rules, and Save saves rules in one of them, by its layer.
	Places []ask.Place
	Save   func(layer string, rules []string) error

	// Registry runs the session's commands; nil means that there are none but Commands.
	Registry Registry
	// Commands lists the commands that are prompts, such as skills. Submit submits an input, which may be one of them; it
	// defaults to [agent.Session.Submit].
	Commands func() []Command
	Submit   func(ctx context.Context, s *agent.Session, text string, more ...llm.Part) (agent.Outcome, error)

	// Manager, if set, previews undos.
	Manager *Manager

	// Context, if set, ends all work when it is done, with its cause.
	Context context.Context
}

// Local is a session in this process.
type Local struct {
	Handle
	held *held
}

// Agent returns the session itself, for the program that opened it. Work that the program starts there is not the work
// that Wait waits for.
func (l *Local) Agent() *agent.Session { return l.held.agent }

// Ask asks a person something; see [agent.Session.Ask].
func (l *Local) Ask(ctx context.Context, q event.QuestionAsked) (event.QuestionAnswered, error) {
	return l.held.agent.Ask(ctx, q)
}

// Prompt is Submit without the session's commands: an input that begins with "/" is a prompt such as a skill, or an
// error.
func (l *Local) Prompt(ctx context.Context, in Input) error { return l.held.prompt(ctx, in) }

// held implements Handle for a session that this process holds.
type held struct {
	agent   *agent.Session
	options Options
	saved   bool

	ctx    context.Context // of all work; cancelled by Close
	cancel context.CancelFunc

	files files // for completions

	deciding sync.Mutex // held while an answer about a tool call is saved and counts

	mu      sync.Mutex
	work    *work      // the last one; nil before the first
	undo    *rewinding // the undo in progress, or nil
	state   view.State
	applied chan struct{} // closed and replaced whenever a record was applied
	ended   bool          // no more records will come
}

// work is the work on an input.
type work struct {
	done chan struct{}
	out  agent.Outcome
	err  error
}

var _ Handle = (*held)(nil)

// Open opens a coding session, as [coding.Open] does, whose questions wait for [Handle.Answer].
func Open(ctx context.Context, c coding.Config, o Options) (*Local, error) {
	l := &held{
		options: o,
		applied: make(chan struct{}),
		saved:   !c.NoSave || c.Session.Store != nil,
	}
	c.Session.Approve, c.Later, c.Restored = l.approve, l.decideLater, l.restored
	s, err := coding.Open(ctx, c)
	if err != nil {
		return nil, err
	}
	l.attach(s)
	return &Local{l, l}, nil
}

func (l *held) attach(s *agent.Session) {
	l.agent = s
	ctx := l.options.Context
	if ctx == nil {
		ctx = context.Background()
	}
	l.ctx, l.cancel = context.WithCancel(ctx)
	go l.follow(s.Last())
}

// follow applies the records until the session is closed. The records up to saved are from before this process.
func (l *held) follow(saved event.Seq) {
	for r, err := range l.agent.Events(context.Background(), 0) {
		if err != nil {
			break
		}
		l.mu.Lock()
		if l.state.Apply(r); saved > 0 && r.Seq == saved {
			l.state.Reopen()
		}
		close(l.applied)
		l.applied = make(chan struct{})
		l.mu.Unlock()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	close(l.applied)
	l.applied = make(chan struct{})
}

// current calls f with the state after all records that exist now.
func (l *held) current(ctx context.Context, f func(*view.State)) error {
	last := l.agent.Last()
	l.mu.Lock()
	for l.state.Last() < last && !l.ended {
		applied := l.applied
		l.mu.Unlock()
		select {
		case <-applied:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		l.mu.Lock()
	}
	defer l.mu.Unlock()
	f(&l.state)
	return nil
}

// ID implements [Handle].
func (l *held) ID() string { return l.agent.ID() }

// Info implements [Handle].
func (l *held) Info(ctx context.Context) (i Info, err error) {
	setup, title := l.agent.Setup(), l.agent.Title()
	err = l.current(ctx, func(s *view.State) {
		i = Info{
			ID:       l.ID(),
			Dir:      l.agent.Env().Info().Dir,
			Title:    title,
			Provider: setup.Provider,
			Model:    setup.Model,
			Effort:   setup.Effort,
			Mode:     cmp.Or(l.agent.Mode(), policy.ModeDefault),
			State:    l.agent.State(),
			Last:     s.Last(),
			Window:   setup.Window,
			Saved:    l.saved,
		}
	})
	return i, err
}

// Snapshot implements [Handle].
func (l *held) Snapshot(ctx context.Context) (copied *view.State, err error) {
	err = l.current(ctx, func(s *view.State) { copied = s.Clone() })
	return copied, err
}

// Events implements [Handle].
func (l *held) Events(ctx context.Context, after event.Seq) iter.Seq2[event.Record, error] {
	return l.agent.Events(ctx, after)
}

// startsWork reports whether a record begins work.
func startsWork(r event.Record) bool {
	switch r.Data.(type) {
	case event.UserInput, event.Continue, event.SteeringQueued:
		return r.Agent == ""
	}
	return false
}

// start begins work and returns when its first record is there, or when it ended without one. If begins is nil, it does
// not wait.
func (l *held) start(ctx context.Context, do func(context.Context) (agent.Outcome, error), begins func(event.Record) bool) error {
	w := &work{done: make(chan struct{})}
	l.mu.Lock()
	if l.work != nil && !l.work.over() {
		l.mu.Unlock()
		return ErrBusy
	}
	before := l.work
	l.work = w
	l.mu.Unlock()
	after := l.agent.Last()
	go func() {
		defer close(w.done)
		w.out, w.err = do(l.ctx)
	}()
	if begins == nil {
		return nil
	}
	begun, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-w.done:
			stop()
		case <-begun.Done():
		}
	}()
	for r, err := range l.agent.Events(begun, after) {
		if err != nil {
			break
		}
		if begins(r) {
			return nil
		}
	}
	select {
	case <-w.done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if w.err != nil && w.out.Status == "" { // it did not begin
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.work == w {
			l.work = before
		}
		return known(w.err)
	}
	return nil
}

func (w *work) over() bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

// known translates an error from package agent to this package's error.
func known(err error) error {
	for from, to := range map[error]error{
		agent.ErrBusy:              ErrBusy,
		agent.ErrClosed:            ErrClosed,
		agent.ErrNothingToContinue: ErrNothingToContinue,
	} {
		if errors.Is(err, from) {
			return to
		}
	}
	return err
}

// Wait implements [Handle].
func (l *held) Wait(ctx context.Context) (Outcome, error) {
	l.mu.Lock()
	w := l.work
	l.mu.Unlock()
	if w == nil {
		return Outcome{}, nil
	}
	select {
	case <-w.done:
		return outcome(w.out, w.err), nil
	case <-ctx.Done():
		return Outcome{}, context.Cause(ctx)
	}
}

// outcome returns an outcome as data.
func outcome(out agent.Outcome, err error) Outcome {
	o := Outcome{
		Status:   out.Status,
		Text:     out.Text,
		Object:   out.Object,
		Question: out.Question,
		Limit:    out.Limit,
		Rounds:   out.Rounds,
		Duration: out.Duration,
		err:      err,
	}
	for _, r := range out.Refused {
		o.Refused = append(o.Refused, strings.TrimSuffix(r.Tool+": "+r.Reason, ": "))
	}
	if err != nil {
		o.Error, o.Class = err.Error(), llm.KindOf(err)
	}
	return o
}

// Submit implements [Handle].
func (l *held) Submit(ctx context.Context, in Input) error {
	if l.options.Registry != nil && !in.Plain && l.agent.Question() == "" { // an answer is not a command
		r, ok, err := l.options.Registry.Run(ctx, l, in.Text)
		switch {
		case err != nil:
			return err
		case !ok:
			in.Plain = true
		case r.Submit == nil:
			return nil
		default:
			in.Text, in.Plain = r.Submit.Text, r.Submit.Plain
		}
	}
	return l.prompt(ctx, in)
}

func (l *held) prompt(ctx context.Context, in Input) error {
	more, err := in.media()
	if err != nil {
		return err
	}
	return l.start(ctx, func(ctx context.Context) (agent.Outcome, error) {
		if l.options.Submit != nil && !in.Plain && l.agent.Question() == "" { // an answer is not a command
			return l.options.Submit(ctx, l.agent, in.Text, more...)
		}
		return l.agent.Submit(ctx, in.parts(more)...)
	}, startsWork)
}

// Continue implements [Handle].
func (l *held) Continue(ctx context.Context) error {
	// Work that was killed continues without a record of its own, and a record can be about something else.
	begins := func(event.Record) bool { return l.agent.State() == agent.Processing }
	if len(l.agent.Pending()) > 0 {
		begins = nil // there may be no record until an answer
		if l.agent.State() == agent.Processing {
			return ErrBusy
		}
	}
	return l.start(ctx, l.agent.Continue, begins)
}

// Steer implements [Handle].
func (l *held) Steer(_ context.Context, in Input) error { return l.send(in, l.agent.Steer) }

// FollowUp implements [Handle].
func (l *held) FollowUp(_ context.Context, in Input) error { return l.send(in, l.agent.FollowUp) }

func (l *held) send(in Input, to func(...llm.Part) error) error {
	more, err := in.media()
	if err != nil {
		return err
	}
	return known(to(in.parts(more)...))
}

// Interrupt implements [Handle].
func (l *held) Interrupt(context.Context) error {
	l.agent.Interrupt()
	return nil
}

// parts returns an input as message parts.
func (in Input) parts(more []llm.Part) []llm.Part {
	return append([]llm.Part{llm.Text{Text: in.Text}}, more...)
}

// media returns an input's images and documents.
func (in Input) media() (parts []llm.Part, err error) {
	for _, m := range in.Media {
		media := llm.Media{MIME: m.Type, Data: m.Data, Name: m.Name}
		switch {
		case strings.HasPrefix(m.Type, "image/"):
			parts = append(parts, llm.Image{Media: media})
		case m.Type == "application/pdf" || strings.HasPrefix(m.Type, "text/"):
			parts = append(parts, llm.Document{Media: media})
		default:
			return nil, fmt.Errorf("%s: files of type %q cannot be sent; use an image, a PDF or a text", m.Name, m.Type)
		}
	}
	return parts, nil
}

// Close implements [Handle]. It interrupts the work and ends the session.
func (l *held) Close() error {
	err := l.agent.Close()
	l.cancel()
	l.files.close()
	return err
}
