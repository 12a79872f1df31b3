package tui

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/reins-agent/reins/command"
	"github.com/reins-agent/reins/internal/tui/edit"
	"github.com/reins-agent/reins/session"
)

// submit sends the draft: as a command, as a message to the work in progress, or as new work. later queues it until the
// work is done.
func (a *app) submit(later bool) {
	if a.queueEdit != nil {
		a.requeue()
		return
	}
	if strings.TrimSpace(a.edit.Message().Text) == "" && len(a.edit.Message().Images) == 0 {
		return
	}
	if a.live == nil && !a.opening {
		a.say("No session to send this to.")
		return
	}
	m, err := a.edit.Take()
	a.sayError(err)
	if a.live != nil {
		a.live.view.Bottom()
	}
	a.browse = browse{}
	a.send(m, later)
}

// sent is a message that the user sent.
type sent struct {
	message edit.Message
	later   bool
}

// send sends a message, to the next session if one is being opened.
func (a *app) send(m edit.Message, later bool) {
	if a.live == nil || a.opening || a.live.undecided() {
		a.first = append(a.first, sent{m, later})
		if a.live != nil && !a.opening {
			a.say("Your message is sent when the question is answered.")
		}
		return
	}
	if line, ok := m.Shell(); ok && len(m.Images) == 0 {
		a.startShell(line)
		return
	}
	if _, _, ok := command.Parse(m.Text); ok && len(m.Images) == 0 {
		a.command(m.Text)
		return
	}
	a.input(input(m), later, func() { a.restore(m) })
}

// restoreFirst puts the messages that wait for a session back into the draft, before what is written there.
func (a *app) restoreFirst() {
	if len(a.first) == 0 {
		return
	}
	if !a.edit.Empty() {
		a.first = append(a.first, sent{message: a.edit.Message()})
		a.edit.Clear()
	}
	var all edit.Message
	for i, s := range a.first {
		if i > 0 {
			all.Text += "\n\n"
		}
		all.Text += s.message.Text
		all.Images = append(all.Images, s.message.Images...)
	}
	a.first = nil
	a.restore(all)
}

// input returns a message as a session takes it.
func input(m edit.Message) session.Input {
	in := session.Input{Text: m.Text}
	for _, i := range m.Images {
		in.Media = append(in.Media, session.Media{Type: i.Type, Data: i.Data, Name: i.Name})
	}
	return in
}

// input gives the session an input, after those before it. If that fails, it calls back.
func (a *app) input(in session.Input, later bool, back func()) {
	l, working := a.live, a.working()
	before, taken := a.taken, make(chan struct{})
	a.taken = taken
	a.do(func(ctx context.Context) func() {
		defer close(taken)
		if before != nil {
			<-before
		}
		err := deliver(ctx, l, in, working, later)
		if err == nil {
			return nil
		}
		return func() {
			if a.live == l && back != nil {
				back()
			}
			a.sayError(err)
		}
	})
}

// deliver steers, queues or submits.
func deliver(ctx context.Context, h session.Handle, in session.Input, working, later bool) error {
	if working && later {
		return h.FollowUp(ctx, in)
	}
	if working {
		return h.Steer(ctx, in)
	}
	err := h.Submit(ctx, in)
	if errors.Is(err, session.ErrBusy) { // the work began meanwhile
		return deliver(ctx, h, in, true, later)
	}
	return err
}

// restore puts a message that could not be sent back into an empty draft.
func (a *app) restore(m edit.Message) {
	if a.edit.Empty() {
		a.edit.SetText(m.Text)
		for _, i := range m.Images {
			a.edit.PasteImage(i)
		}
	}
}

// command runs a slash command.
func (a *app) command(line string) {
	name, args, _ := command.Parse(line)
	if a.builtin(name, args) {
		return
	}
	l, working := a.live, a.working()
	a.do(func(ctx context.Context) func() {
		r, err := l.Run(ctx, line)
		if unavailable := (*session.UnavailableError)(nil); errors.As(err, &unavailable) && !working {
			finish(ctx, l)
			r, err = l.Run(ctx, line)
		}
		return func() {
			if a.live != l {
				return
			}
			if err != nil {
				a.restore(edit.Message{Text: line})
				a.sayError(err)
				return
			}
			a.result(line, r)
		}
	})
}

// lastSteps is how long a command waits for the last steps of work that is shown as over.
const lastSteps = 10 * time.Second

// finish waits for the last steps of work whose records have ended, such as a checkpoint. Until then the session counts as
// working.
func finish(ctx context.Context, h session.Handle) {
	ctx, cancel := context.WithTimeout(ctx, lastSteps)
	defer cancel()
	_, _ = h.Wait(ctx)
}

// result shows a command's result, and carries out its request.
func (a *app) result(line string, r session.Result) {
	a.refresh()
	switch r.Action {
	case session.ActionSubmit:
		if r.Submit != nil {
			a.input(*r.Submit, false, func() { a.restore(edit.Message{Text: line}) })
		}
		return
	case session.ActionClose:
		a.quit()
		return
	case session.ActionOpen:
		a.openSession(r.Session)
	case session.ActionNew:
		a.openSession("")
		return
	case session.ActionSessions:
		a.sessions()
		return
	}
	a.show(line, r)
}

// openSession opens another session; "" is a new one.
func (a *app) openSession(id string) {
	if a.o.Open == nil {
		a.say("This terminal shows one session. Start reins for another one.")
		return
	}
	if a.live != nil && !a.opening {
		a.restoreFirst() // they are for the session that is left
	}
	a.connect(func(ctx context.Context) (session.Handle, error) { return a.o.Open(ctx, id) })
}
