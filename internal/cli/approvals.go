package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/ask"
	"github.com/reins-agent/reins/config"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/session"
	"github.com/reins-agent/reins/session/remote"
)

type approveCommand struct {
	host                  Host
	allow, refuse, always bool
	message, choice       string
	asJSON                bool
}

func newApprove(h Host) *cobra.Command {
	o := approveCommand{host: h}
	cmd := &cobra.Command{
		Use:   "approve [flags] [SESSION [CALL]]",
		Short: "List and answer calls that wait for approval",
		Long: `List the tool calls that wait for approval in your sessions, or answer them. It
works for sessions that run in another process, which continue at once, and for
sessions that do not run: they act on the answer when you continue them.

Without SESSION, it lists all calls. With SESSION, and CALL if several calls
wait, it answers: as the flags say, or else it asks on the terminal. Without a
terminal, it shows the calls in full.

The first answer counts. If another process has answered already, it says so,
and the exit code is 1.`,
		Example: `  reins approve
  reins approve 4TKZ                      # asks on the terminal
  reins approve 4TKZ toolu_01 --allow
  reins approve 4TKZ --refuse --message "Use the staging database"`,
		Args:              wantArgs(0, 2, "a SESSION and a CALL"),
		ValidArgsFunction: completeSessions(h, 1),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args) },
	}
	f := cmd.Flags()
	f.BoolVar(&o.allow, "allow", false, "allow the call once")
	f.BoolVar(&o.always, "always", false, "allow the call, and save the rule that it suggests for this project")
	f.BoolVar(&o.refuse, "refuse", false, "refuse the call")
	f.StringVar(&o.message, "message", "", "refuse the call, and send `TEXT` to the agent")
	f.StringVar(&o.choice, "choice", "", "give the answer `KEY`, one of the answers that the question shows")
	jsonFlag(cmd, &o.asJSON)
	return cmd
}

// decides reports whether the flags have an answer, and checks them.
func (o approveCommand) decides() (bool, error) {
	n := 0
	for _, given := range []bool{o.allow, o.always, o.refuse || o.message != "", o.choice != ""} {
		if given {
			n++
		}
	}
	if n > 1 {
		return false, usagef("--allow, --always, --refuse and --choice cannot be combined")
	}
	return n == 1, nil
}

func (o approveCommand) run(ctx context.Context, args []string) error {
	decides, err := o.decides()
	switch {
	case err != nil:
		return err
	case decides && len(args) == 0:
		return usagef("name the session to answer; \"reins approve\" lists them")
	}
	sessions, err := openSessions(o.host)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return o.list(ctx, sessions)
	}
	m, err := sessions.Find(ctx, args[0])
	if err != nil {
		return explain(err)
	}
	w, err := o.open(ctx, sessions, m)
	if err != nil {
		return explainOpen(m.ID, err)
	}
	defer w.close()
	list := w.questions
	if len(args) == 2 {
		q, open := ask.Find(list, args[1])
		if !open {
			return o.settled(ctx, sessions, m.ID, args[1], time.Time{})
		}
		list = []ask.Question{q}
	}
	switch {
	case len(list) == 0:
		return fmt.Errorf("session %s: no call waits for approval", m.ID)
	case decides && len(list) > 1:
		return usagef("session %s has %d calls that wait for approval; name one of %s", m.ID, len(list), strings.Join(ids(list), ", "))
	case decides:
		return o.answer(ctx, sessions, w, list[0])
	case o.asJSON:
		return o.printJSON(w, list)
	}
	return o.ask(ctx, w, list)
}

// needsReading reports whether a question is about the project's files or servers. A yes holds longer than the session, so the
// user has to see them.
func needsReading(q ask.Question) bool {
	return q.Kind == ask.Kind(event.QuestionTrust) || q.Kind == ask.Kind(event.QuestionServer)
}

// waitingSession is a session whose calls wait for approval.
type waitingSession struct {
	meta      event.Meta
	running   bool
	questions []ask.Question
	answerer
	close func()
}

// answerer takes answers, as a session.Handle does.
type answerer interface {
	Answer(ctx context.Context, id string, a ask.Answer) error
}

// open looks at the questions of a session: over its socket if it runs, or else in its log.
func (o approveCommand) open(ctx context.Context, sessions *session.Manager, m event.Meta) (*waitingSession, error) {
	w := &waitingSession{meta: m, close: func() {}}
	c, err := remote.Attach(ctx, sessions.Home, m.ID)
	if err == nil {
		w.running, w.answerer, w.close = true, c, func() { _ = c.Close() }
		w.questions, err = c.Questions(ctx)
	} else if errors.Is(err, remote.ErrNotRunning) {
		saved := &savedCalls{sessions: sessions, host: o.host, meta: m}
		w.answerer = saved
		w.questions, err = sessions.Questions(ctx, m.ID, o.host.rulePlaces(m.Dir)...)
	}
	if err != nil {
		w.close()
		return nil, err
	}
	w.questions = slices.DeleteFunc(w.questions, func(q ask.Question) bool { return len(q.Choices) == 0 || len(q.Schema) > 0 })
	return w, nil
}

// ids returns the IDs of questions.
func ids(list []ask.Question) (ids []string) {
	for _, q := range list {
		ids = append(ids, show.OneLine(q.ID))
	}
	return ids
}

// savedCalls answers the calls of a session that does not run.
type savedCalls struct {
	sessions *session.Manager
	host     Host
	meta     event.Meta
}

// Answer saves an answer. If the session was started meanwhile, its process gets the answer. If another process saves
// an answer, it waits.
func (s *savedCalls) Answer(ctx context.Context, id string, a ask.Answer) error {
	for {
		err := s.sessions.Answer(ctx, session.AnswerOptions{
			Session:  s.meta.ID,
			Question: id,
			Answer:   a,
			Places:   s.host.rulePlaces(s.meta.Dir),
			Save:     func(layer string, rules []string) error { return s.host.allow(s.meta.Dir, config.Layer(layer), rules) },
		})
		if !errors.Is(err, event.ErrLocked) {
			return err
		}
		c, failed := remote.Attach(ctx, s.sessions.Home, s.meta.ID)
		if failed == nil {
			defer c.Close()
			return c.Answer(ctx, id, a)
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}

// answerOf returns the answer that the flags give to a question.
func (o approveCommand) answerOf(q ask.Question) (ask.Answer, error) {
	a := ask.Answer{Choice: o.choice, Asked: q.Asked}
	switch {
	case o.choice != "":
	case o.refuse || o.message != "":
		a.Choice, a.Text = "n", o.message
	case o.always:
		i := slices.IndexFunc(q.Choices, func(c ask.Choice) bool { return c.Save == string(config.LayerPersonal) })
		if i < 0 {
			return a, usagef("no rule can be saved for this call; use --allow")
		}
		a.Choice = q.Choices[i].Key
	default:
		a.Choice = "y"
	}
	i := slices.IndexFunc(q.Choices, func(c ask.Choice) bool { return c.Key == a.Choice })
	if i < 0 {
		var keys []string
		for _, c := range q.Choices {
			keys = append(keys, c.Key)
		}
		return a, usagef("%q is not an answer to this question; use --choice with one of %s", a.Choice, strings.Join(keys, ", "))
	}
	if q.Choices[i].Allow && needsReading(q) {
		return a, usagef("flags cannot agree to %s: run \"reins approve SESSION\" on a terminal, which shows everything", q.Title)
	}
	return a, nil
}

// answer gives the answer of the flags.
func (o approveCommand) answer(ctx context.Context, sessions *session.Manager, w *waitingSession, q ask.Question) error {
	a, err := o.answerOf(q)
	if err != nil {
		return err
	}
	const patience = 20 * time.Second // an owner that ends after another answer does not answer
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err = w.Answer(within, q.ID, a)
	switch {
	case err == nil:
	case errors.Is(err, session.ErrAnswered), errors.Is(err, session.ErrClosed), ctx.Err() == nil && within.Err() != nil,
		errors.Is(err, remote.ErrUnconfirmed), errors.Is(err, remote.ErrUnreachable), errors.Is(err, event.ErrLocked):
		return o.settled(ctx, sessions, w.meta.ID, q.ID, q.Asked)
	default:
		return explainOpen(w.meta.ID, err)
	}
	result := "refused"
	if i := slices.IndexFunc(q.Choices, func(c ask.Choice) bool { return c.Key == a.Choice }); q.Choices[i].Allow {
		result = "allowed"
	}
	if o.asJSON {
		return printJSON(o.host.Stdout, struct {
			Session string `json:"session"`
			Call    string `json:"call"`
			Result  string `json:"result"`
			Running bool   `json:"running"`
		}{w.meta.ID, q.ID, result, w.running})
	}
	if _, err := fmt.Fprintf(o.host.Stdout, "%s: %s\n", result, q.Title); err != nil {
		return err
	}
	o.adviseResume(w)
	return nil
}

func (o approveCommand) adviseResume(w *waitingSession) {
	if !w.running {
		notef(o.host, "to continue the session, run: reins run --resume %s", w.meta.ID)
	}
}

// settled says how a question was answered before.
func (o approveCommand) settled(ctx context.Context, sessions *session.Manager, session, id string, asked time.Time) error {
	how := "it does not wait for approval"
	if list, err := sessions.Questions(ctx, session); err == nil {
		if _, open := ask.Find(list, id); open {
			how = "it was not answered: another process has the session open and cannot be reached"
		}
	}
	for r, err := range sessions.Store.Load(ctx, session, 0) {
		if err != nil {
			continue
		}
		if d, ok := r.Data.(event.ApprovalResolved); ok && ask.ID(r.Agent, d.ID) == id && !r.Time.Before(asked) {
			how = "it was already refused"
			if d.Allowed {
				how = "it was already allowed"
			}
		}
	}
	return fmt.Errorf("session %s: call %s: %s", session, show.OneLine(id), how)
}

// ask asks on the terminal, or shows the questions if there is none.
func (o approveCommand) ask(ctx context.Context, w *waitingSession, list []ask.Question) error {
	a := newAsker(o.host)
	if a.unattended() {
		for _, q := range list {
			text := newCallQuestion(q, screenWidth(o.host.Stdout), false)
			if _, err := fmt.Fprintf(o.host.Stdout, "%s %s%s\n", w.meta.ID, show.OneLine(q.ID), strings.Join(text.rows, "\n")); err != nil {
				return err
			}
			text.rows = nil // all of them are shown
			if _, err := fmt.Fprint(o.host.Stdout, text.answers()); err != nil {
				return err
			}
		}
		return quietError{exitNeedsInput}
	}
	for _, q := range list {
		if err := a.decide(ctx, w, q); err != nil {
			return err
		}
	}
	o.adviseResume(w)
	return nil
}

// list lists the calls of all sessions.
func (o approveCommand) list(ctx context.Context, sessions *session.Manager) error {
	t := &show.Table{Columns: []show.Column{
		{Title: "SESSION", Colour: show.Cyan}, {Title: "CALL", Colour: show.Cyan}, {Title: "STATE"}, {Title: "ASKED"}, {Title: "WHAT"},
	}}
	for m, err := range sessions.Store.List(ctx) {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && m.ID == "":
			return err
		case err != nil || m.Foreign():
			continue
		}
		w, err := o.open(ctx, sessions, m)
		if err != nil {
			notef(o.host, "session %s: %v", m.ID, err)
			continue
		}
		w.close()
		if o.asJSON {
			if err := o.printJSON(w, w.questions); err != nil {
				return err
			}
		}
		state := "saved"
		if w.running {
			state = "running"
		}
		for _, q := range w.questions {
			t.Add(m.ID, show.OneLine(q.ID), state, q.Asked.Local().Format(time.DateTime), describeQuestion(q))
		}
	}
	if o.asJSON {
		return nil
	}
	return printList(o.host, t, "no call waits for approval")
}

// describeQuestion returns a question on one line: who asks, and the command if there is one.
func describeQuestion(q ask.Question) string {
	what := q.Title
	for _, r := range q.Rows {
		if r.Kind == ask.RowCommand {
			what += " " + show.Summary(r.Text)
			break
		}
	}
	if q.Agent != "" {
		what = q.Who + ": " + what
	}
	return what
}

// printJSON prints questions, one object per line.
func (o approveCommand) printJSON(w *waitingSession, list []ask.Question) error {
	for _, q := range list {
		err := printJSON(o.host.Stdout, struct {
			Session string `json:"session"`
			Dir     string `json:"dir"`
			Running bool   `json:"running"`
			ask.Question
		}{w.meta.ID, w.meta.Dir, w.running, q})
		if err != nil {
			return err
		}
	}
	return nil
}
