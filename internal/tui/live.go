package tui

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/tui/panel"
	"github.com/reins-agent/reins/internal/tui/text"
	"github.com/reins-agent/reins/internal/tui/transcript"
	"github.com/reins-agent/reins/session"
	"github.com/reins-agent/reins/view"
)

// batch is a session event, or the end of all events.
type batch struct {
	record event.Record
	end    bool
	err    error
}

// connect opens a session beside the loop, and then shows it instead of the open session.
func (a *app) connect(open func(ctx context.Context) (session.Handle, error)) {
	if a.opening {
		a.say("Another session is being opened.")
		return
	}
	a.opening, a.openErr = true, nil
	opened := make(chan struct{})
	a.opened = opened
	old := a.live
	a.do(func(ctx context.Context) func() {
		defer close(opened)
		l, err := follow(ctx, open)
		if err == nil && old != nil {
			old.leave() // before the new one is used, which is then the last one
		}
		a.arrived.Store(l)
		return func() {
			a.opening = false
			a.arrived.Store(nil)
			if err != nil {
				a.failed(err)
				return
			}
			a.attach(l)
		}
	})
}

// failed tells why a session could not be opened.
func (a *app) failed(err error) {
	a.restoreFirst()
	if a.live == nil {
		a.openErr = err
		a.offer(err)
		return
	}
	select {
	case <-a.live.done: // it was closed so that it could be opened again
		a.live.ended = true
		a.setQuestions(nil)
		a.note(err.Error()+"\n"+a.live.toContinue(), text.Failure, 0)
	default:
		a.sayError(err)
	}
}

// toContinue tells how to continue a session that was closed.
func (l *live) toContinue() string { return "To continue it, quit and run: reins --resume " + l.ID() }

// offer shows how to get a model, if a missing model is why no session opened.
func (a *app) offer(err error) {
	if a.o.Start == nil {
		return
	}
	start := a.o.Start(err)
	if start == nil {
		return
	}
	start.Use = func(provider, model string) panel.Outcome {
		a.connect(func(ctx context.Context) (session.Handle, error) { return a.o.Use(ctx, provider, model) })
		return panel.Outcome{Handled: true, Close: true}
	}
	a.push(panel.NewStart(*start, a.panelOptions()))
}

// follow opens a session and follows its events.
func follow(ctx context.Context, open func(ctx context.Context) (session.Handle, error)) (*live, error) {
	h, err := open(ctx)
	if err != nil {
		return nil, err
	}
	state, err := h.Snapshot(ctx)
	if err != nil {
		_ = h.Close()
		return nil, err
	}
	l := &live{
		Handle: h,
		state:  state,
		view:   transcript.New(state),
		events: make(chan batch, 256),
		done:   make(chan struct{}),
	}
	ctx, l.cancel = context.WithCancel(ctx)
	go l.read(ctx, state.Last())
	return l, nil
}

// read sends the session's events to the loop.
func (l *live) read(ctx context.Context, after event.Seq) {
	defer close(l.done)
	send := func(b batch) bool {
		select {
		case l.events <- b:
			return true
		case <-ctx.Done():
			return false
		}
	}
	for r, err := range l.Events(ctx, after) {
		if err != nil {
			send(batch{end: true, err: err})
			return
		}
		if !send(batch{record: r}) {
			return
		}
	}
	send(batch{end: true})
}

// leave releases a session.
func (l *live) leave() {
	l.cancel()
	_ = l.Close()
	<-l.done
}

// decides reports whether a question is about what a session needs to begin: its answer may change the session's tools and
// instructions.
func decides(i view.Inquiry) bool {
	return i.Type == event.QuestionTrust || i.Type == event.QuestionServer
}

// undecided reports whether such a question waits. Messages wait for its answer.
func (l *live) undecided() bool { return slices.ContainsFunc(l.state.Inquiries(), decides) }

// apply applies a record.
func (l *live) apply(r event.Record) []view.Key {
	d, ok := r.Data.(event.QuestionAnswered)
	l.decided = l.decided || ok && d.Accepted &&
		slices.ContainsFunc(l.state.Inquiries(), func(i view.Inquiry) bool { return i.ID == d.ID && decides(i) })
	return l.state.Apply(r)
}

// decide opens the session again after the user has agreed to something that it needs to begin, and then sends the messages
// that wait. Work that another terminal began is not interrupted.
func (a *app) decide() {
	l := a.live
	switch {
	case l.undecided() || l.ended || a.opening:
		return
	case !l.decided:
		a.sendFirst()
		return
	case a.o.Open == nil: // the program that has the session opens it again
		l.decided = false
		a.restoreFirst()
		return
	case a.working():
		return
	}
	l.decided = false
	a.connect(func(ctx context.Context) (session.Handle, error) {
		finish(ctx, l)
		l.leave()
		return a.o.Open(ctx, l.ID())
	})
}

// attach shows a session.
func (a *app) attach(l *live) {
	a.live = l
	a.resetQuestions()
	a.cover(nil)
	a.browse, a.printed = browse{}, printed{}
	a.commands, a.queueEdit = nil, nil
	l.view.SetRule(a.rule)
	a.images.reset()
	a.refresh()
	a.loadCommands()
	if err := l.state.Stop().Error; err != "" && !a.working() {
		a.say("The last work failed: " + err + " /continue tries again.")
	}
	a.sendFirst()
}

// sendFirst sends the messages that waited for the session.
func (a *app) sendFirst() {
	first := a.first
	if a.first = nil; len(first) > 0 {
		a.notice = notice{}
	}
	for _, s := range first {
		a.send(s.message, s.later)
	}
}

// disconnect releases the session.
func (a *app) disconnect() {
	if a.live != nil {
		a.live.leave()
	}
}

// events returns the channel with session events, or nil.
func (a *app) events() <-chan batch {
	if a.live == nil || a.live.ended {
		return nil
	}
	return a.live.events
}

// drained is how many events are applied before the loop looks at the terminal again.
const drained = 512

// apply applies an event and those that wait behind it.
func (a *app) apply(b batch) {
	l := a.live
	var changed []view.Key
	durable, finished := false, false
	for n := 0; ; n++ {
		if b.end {
			l.ended, l.end = true, b.err
			break
		}
		changed = append(changed, l.apply(b.record)...)
		durable = durable || b.record.Durable()
		finished = finished || b.record.Kind() == event.KindProcessingEnd && b.record.Agent == ""
		if n == drained {
			break
		}
		select {
		case b = <-l.events:
			continue
		default:
		}
		break
	}
	l.view.Sync(slices.Compact(changed))
	if a.panel != nil {
		a.panel.changed(changed)
	}
	a.dirty = true
	if durable || l.ended {
		a.changed(finished)
	}
}

// changed updates what depends on durable records.
func (a *app) changed(finished bool) {
	a.refresh()
	if !a.live.ended {
		a.waiting()
		a.decide()
	}
	if finished && !a.working() {
		a.finished()
	}
	if a.live.ended && !a.opening {
		why := "This session was closed."
		if a.live.end != nil {
			why = "The connection to this session ended: " + a.live.end.Error()
		}
		a.say(why + "\n" + a.live.toContinue())
		a.setQuestions(nil) // answers would get lost
	}
}

// refresh reads the session's settings again.
func (a *app) refresh() {
	l := a.live
	if l == nil {
		return
	}
	a.infos++
	n := a.infos
	a.do(func(ctx context.Context) func() {
		i, err := l.Info(ctx)
		if err != nil {
			return nil
		}
		var facts []Fact
		if a.o.Facts != nil {
			facts = a.o.Facts(i)
		}
		return func() {
			if a.live == l && n == a.infos { // otherwise, a newer answer comes
				if a.changing {
					i.Mode = a.info.Mode
				}
				a.info, a.facts = i, facts
				for ; a.steps > 0; a.steps-- {
					a.nextMode()
				}
				a.setTitle()
				a.runScript()
			}
		}
	})
}

// working reports whether the session works.
func (a *app) working() bool {
	if a.live == nil || a.live.ended {
		return false
	}
	root, _ := a.live.state.Agent("")
	return root.Activity.Doing != "" && root.Activity.Doing != view.DoingNothing
}

// waiting reads the questions again if what waits has changed.
func (a *app) waiting() {
	var ids []string
	s := a.live.state
	for _, q := range s.Approvals() {
		ids = append(ids, q.Asked.Format(time.RFC3339Nano)+string(q.Key))
	}
	for _, q := range s.Questions() {
		ids = append(ids, string(q.Key))
	}
	for _, q := range s.Inquiries() {
		ids = append(ids, q.Asked.Format(time.RFC3339Nano)+strconv.Quote(q.Text))
	}
	if id := strings.Join(ids, " "); id != a.questions.waiting {
		a.questions.waiting = id
		a.readQuestions()
	}
}
