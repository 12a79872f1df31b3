package plain

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/reins-agent/reins/ask"
	"github.com/reins-agent/reins/command"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/internal/tui/text"
	"github.com/reins-agent/reins/internal/tui/usercmd"
	"github.com/reins-agent/reins/session"
)

// help is shown after the commands.
const help = `Other lines:
TEXT         a prompt; while the agent works, a message that it reads with its next step
/later TEXT  a message for the time when the agent is done
!COMMAND     run a command yourself; the agent reads its output with your next prompt
TEXT\        continue the text on the next line
Press ctrl-c once to interrupt, and twice to quit. Press ctrl-d to quit when the work is done.`

// input handles a typed line.
func (f *face) input(t typed) error {
	if t.end {
		return f.endInput()
	}
	f.pressed = false
	if rest, more := strings.CutSuffix(t.text, `\`); more {
		f.draft += rest + "\n"
		return nil
	}
	line := strings.TrimSpace(f.draft + t.text)
	f.draft = ""
	if line == "" {
		return nil
	}
	if f.settling || f.inquired() && !strings.HasPrefix(line, "/") {
		if f.inquired() {
			f.out.line("Answer the question first. The agent gets this afterwards: " + text.Clean(show.Summary(line)))
		}
		f.held = append(f.held, line)
		return nil
	}
	return f.line(line)
}

// endInput ends the program, once the work is done.
func (f *face) endInput() error {
	f.ended = true
	if f.draft != "" {
		f.held = append(f.held, strings.TrimSpace(f.draft))
		f.draft = ""
	}
	return f.settle()
}

// inquired reports whether the model's question waits. A prompt would be its answer.
func (f *face) inquired() bool {
	return slices.ContainsFunc(f.waiting(), func(q ask.Question) bool { return q.Kind == ask.Input })
}

// line handles a whole line.
func (f *face) line(line string) error {
	if shell, ok := strings.CutPrefix(line, "!"); ok {
		return f.shell(strings.TrimSpace(shell))
	}
	name, args, ok := command.Parse(line)
	switch {
	case ok && name == "later" && args != "":
		return f.later(args)
	case ok:
		return f.run(line, name)
	}
	return f.submit(session.Input{Text: line, Plain: true})
}

// later queues a message for the time when the work is done.
func (f *face) later(message string) error {
	if !f.working {
		return f.submit(session.Input{Text: message, Plain: true})
	}
	f.sent = append(f.sent, message)
	err := f.handle.FollowUp(f.ctx, session.Input{Text: message, Plain: true})
	return f.report(err, "Queued for the time when the agent is done.")
}

// submit submits an input, or steers with it while the session works.
func (f *face) submit(in session.Input) error {
	if f.aside != "" {
		in.Text, f.aside = f.aside+"\n\n"+in.Text, ""
	}
	f.sent = append(f.sent, in.Text)
	clear(f.shelved)
	err := f.handle.Submit(f.ctx, in)
	if errors.Is(err, session.ErrBusy) {
		f.steered[in.Text] = true
		return f.report(f.handle.Steer(f.ctx, in), "Sent to the agent, which reads it with its next step.")
	}
	if err := f.report(err, ""); err != nil {
		return err
	}
	return f.acted()
}

// report prints how an action ended. Only session errors end the program.
func (f *face) report(err error, done string) error {
	switch {
	case errors.Is(err, session.ErrClosed) || f.ctx.Err() != nil:
		return err
	case err != nil:
		f.out.line("Error: " + text.Clean(err.Error()))
	case done != "":
		f.out.line(done)
	}
	return nil
}

// run runs a slash command. It may take long, such as to summarize the conversation.
func (f *face) run(line, name string) error {
	h := f.handle
	f.commands++
	switch name {
	case "continue":
		clear(f.shelved)
	case "interrupt", "stop":
		f.shelve()
	}
	go func() {
		r, err := h.Run(f.ctx, line)
		f.tell(f.ctx, func() error {
			f.commands--
			if f.handle != h {
				return nil
			}
			if err := f.did(r, name, err); err != nil {
				return err
			}
			return f.acted()
		})
	}()
	return nil
}

// did shows a command's result, and carries out its request.
func (f *face) did(r session.Result, name string, err error) error {
	if err != nil {
		return f.report(err, "")
	}
	if s := resultText(r); s != "" {
		f.out.line(s)
	}
	switch r.Action {
	case session.ActionSubmit:
		return f.submit(*r.Submit)
	case session.ActionClose:
		return errQuit
	case session.ActionSessions:
		f.out.line("Type /resume and an ID to open a session.")
	case session.ActionOpen, session.ActionNew:
		return f.change(r.Session)
	default:
		if name == "help" || name == "commands" {
			f.out.line(help)
		}
	}
	return nil
}

// change opens another session.
func (f *face) change(id string) error {
	if f.o.Open == nil {
		f.out.line("Other sessions cannot be opened here. Quit, and type: " + strings.TrimSpace("reins --resume "+text.Clean(id)))
		return nil
	}
	h, err := f.o.Open(f.ctx, id)
	if err != nil {
		return f.report(err, "")
	}
	old := f.handle
	f.unask()
	err = f.open(h)
	return errors.Join(err, f.report(old.Close(), ""))
}

// shell runs a command for the user. Its output joins the conversation with the next prompt.
func (f *face) shell(line string) error {
	if line == "" {
		f.out.line("Type a command behind the exclamation mark, such as: !git status")
		return nil
	}
	if f.command != nil {
		f.out.line("Your last command still runs. Press ctrl-c to stop it.")
		return nil
	}
	info, err := f.handle.Info(f.ctx)
	if err != nil {
		return f.report(err, "")
	}
	ctx, cancel := context.WithCancel(f.ctx)
	f.command = cancel
	h := f.handle
	go func() {
		message, err := usercmd.Run(ctx, info.Dir, line, func(p []byte) { f.out.output(show.Visible(string(p))) })
		f.tell(f.ctx, func() error { return f.ran(h, message, err) })
	}()
	return nil
}

// ran adds the output of a user's command to the conversation.
func (f *face) ran(h session.Handle, message string, err error) error {
	f.command()
	f.command = nil
	switch {
	case err != nil || f.handle != h:
	case f.working:
		f.sent = append(f.sent, message)
		err = h.Steer(f.ctx, session.Input{Text: message, Plain: true})
	default:
		f.aside = strings.TrimSpace(f.aside + "\n\n" + message)
	}
	if err := f.report(err, ""); err != nil {
		return err
	}
	return f.acted()
}

// interrupt stops the user's command or the work. A second one in a row quits.
func (f *face) interrupt() error {
	if f.pressed {
		return errQuit
	}
	f.pressed, f.draft = true, ""
	switch {
	case f.command != nil:
		f.command()
	case f.working || f.settling:
		f.out.line("Interrupting. Press ctrl-c again to quit.")
		f.shelve()
		if err := f.report(f.handle.Interrupt(f.ctx), ""); err != nil {
			return err
		}
		return f.settle()
	default:
		f.out.line("Press ctrl-c again to quit.")
	}
	return nil
}

// shelve stops asking the questions that wait.
func (f *face) shelve() {
	f.unask()
	for _, q := range ask.Waiting(f.state) {
		f.shelved[q.ID] = true
	}
	if len(f.shelved) > 0 {
		f.out.line("The question stays open. Your next prompt or /continue asks it again.")
	}
}

// waiting returns the questions that wait for an answer, except shelved questions and questions that have just been answered.
func (f *face) waiting() []ask.Question {
	list := ask.Waiting(f.state)
	for id := range f.decided {
		if _, open := ask.Find(list, id); !open {
			delete(f.decided, id)
		}
	}
	return slices.DeleteFunc(list, func(q ask.Question) bool {
		asked, decided := f.decided[q.ID]
		return f.shelved[q.ID] || decided && asked.Equal(q.Asked)
	})
}

// questions asks the oldest question that waits, and withdraws the current one if it was answered elsewhere.
func (f *face) questions() error {
	waiting := f.waiting()
	if f.asking != nil {
		q, open := ask.Find(waiting, f.asking.id)
		same := open && q.Asked.Equal(f.asking.asked)
		if same && !f.ended {
			return nil
		}
		f.unask()
		switch {
		case same:
			return f.questions()
		case open:
			f.out.line("The question has changed.")
		default:
			f.out.line("The question was answered elsewhere, or no longer waits.")
		}
		f.items()
	}
	if len(waiting) == 0 {
		return nil
	}
	if f.ended {
		f.out.line("A question waits. Answer it with: reins --resume " + f.handle.ID())
		return errQuit
	}
	list, err := f.handle.Questions(f.ctx) // with the places for rules
	if err != nil {
		return f.report(err, "")
	}
	if q, open := ask.Find(list, waiting[0].ID); open {
		f.ask(q, len(waiting)-1)
	}
	return nil
}
