package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/ask"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/keyboard"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/session"
	"github.com/reins-agent/reins/tool"
)

// asker asks the user on the terminal.
type asker struct {
	host Host
	view face

	// gaveUp, if set, is called with a call that still needs approval when the terminal closes.
	gaveUp func(id string, d event.ApprovalRequested)

	// inputs means that the model's questions are asked as soon as they come up.
	inputs bool

	asking sync.Mutex // held while a question waits for its answer
	keys   *keyboard.Keyboard

	mu      sync.Mutex
	refused []string                           // calls refused because no user could be asked
	missing []string                           // rules that would have allowed them
	posed   map[string]context.CancelCauseFunc // withdraws a question, by its ID
}

// newAsker returns an asker for a command that is not a run.
func newAsker(h Host) *asker {
	return &asker{host: h, view: &jsonView{questions: h.Stderr}, keys: newKeyboard(h)}
}

// unattended reports whether there is no terminal to ask on.
func (a *asker) unattended() bool { return !isTerminal(a.host.Stdin) || !isTerminal(a.host.Stderr) }

// unanswered lists the calls that were refused because no user could be asked, and rules that would allow them.
func (a *asker) unanswered() (calls, rules []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.refused, a.missing
}

// refuse denies a call that no user can approve. It tells the model what to do instead.
func (a *asker) refuse(ctx context.Context, r tool.Request, why string) tool.Approval {
	var rules []string
	if list := suggestions(ctx, r); len(list) > 0 {
		rules = list[0].Rules
	}
	return a.deny(r.Spec.Name, r.Decision.Reason, r.Accesses, rules, why)
}

// deny denies a call that needs approval for a reason, and notes the rules that would allow it.
func (a *asker) deny(name, reason string, accesses []policy.Access, rules []string, why string) tool.Approval {
	with := "another --mode, or --yes"
	if policy.LeavesSandbox(accesses) {
		with = "--writable DIR, or --sandbox off"
	} else if len(rules) > 0 {
		with = "reins policy allow --personal " + show.Quote(rules...) + ", " + with
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refused = append(a.refused, name+": "+reason)
	for _, rule := range rules {
		if !slices.Contains(a.missing, rule) {
			a.missing = append(a.missing, rule)
		}
	}
	return tool.Approval{
		Message: fmt.Sprintf("it needs approval (%s), but %s. Do not repeat it: use tools and commands that need no approval, "+
			"or finish without it and tell the user what is missing. The user can permit it with: %s", reason, why, with),
	}
}

// suggestions returns the suggestions for a call whose rules can be shown as they are.
func suggestions(ctx context.Context, r tool.Request) []policy.Suggestion {
	const maximum = 300
	return slices.DeleteFunc(r.Suggest(ctx), func(s policy.Suggestion) bool {
		rules := strings.Join(s.Rules, " ")
		return len(rules) > maximum || show.OneLine(rules) != rules
	})
}

// settledError means that a question was answered elsewhere, or withdrawn, before there was an answer.
type settledError struct{ how string }

func (e settledError) Error() string { return e.how }

// note follows a session's records. It asks new questions, and withdraws those that are settled.
func (a *asker) note(ctx context.Context, h session.Handle, r event.Record) {
	switch d := r.Data.(type) {
	case event.ApprovalRequested:
		a.pose(ctx, h, ask.ID(r.Agent, d.ID), d)
	case event.QuestionAsked:
		a.pose(ctx, h, d.ID, event.ApprovalRequested{})
	case event.ToolCallStart:
		if a.inputs && (d.Question != "" || len(d.Questions) > 0) {
			a.pose(ctx, h, ask.ID(r.Agent, d.ID), event.ApprovalRequested{})
		}
	case event.ApprovalResolved:
		how := "it was refused elsewhere"
		if d.Allowed {
			how = "it was allowed elsewhere"
		}
		a.settle(ask.ID(r.Agent, d.ID), how)
	case event.QuestionAnswered:
		a.settle(d.ID, "it was answered elsewhere")
	case event.ToolCallEnd:
		a.settle(ask.ID(r.Agent, d.ID), "it is no longer needed")
	}
}

// pose asks a question as soon as the terminal is free, and passes the answer to the session.
func (a *asker) pose(ctx context.Context, h session.Handle, id string, d event.ApprovalRequested) {
	if a.unattended() {
		return
	}
	if ctx, first := a.register(ctx, id); first {
		go func() {
			if err := a.put(ctx, h, id); errors.Is(err, keyboard.ErrNoAnswer) && a.gaveUp != nil && d.ID != "" {
				a.gaveUp(id, d)
			}
		}()
	}
}

// register returns a question's context, which ends when the question is settled. It reports false if the question
// was registered before.
func (a *asker) register(ctx context.Context, id string) (context.Context, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.posed[id] != nil {
		return nil, false
	}
	if a.posed == nil {
		a.posed = make(map[string]context.CancelCauseFunc)
	}
	ctx, a.posed[id] = context.WithCancelCause(ctx)
	return ctx, true
}

// put asks a question that is registered. The error is keyboard.ErrNoAnswer if the terminal was closed, and nil if the
// question was settled elsewhere.
func (a *asker) put(ctx context.Context, h session.Handle, id string) error {
	a.asking.Lock()
	defer a.asking.Unlock()
	defer a.settle(id, "it is no longer asked")
	if ctx.Err() != nil {
		return nil
	}
	list, err := h.Questions(ctx)
	q, open := ask.Find(list, id)
	switch {
	case err != nil || !open:
		return err
	case q.Kind == ask.Approval || q.Kind == ask.Plan:
		return a.decide(ctx, h, q)
	case q.Kind == ask.Input:
		return a.reply(ctx, h, q)
	}
	return a.putInquiry(ctx, h, q)
}

// settle withdraws a question that needs no answer any more.
func (a *asker) settle(id, how string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if cancel := a.posed[id]; cancel != nil {
		cancel(settledError{how})
		delete(a.posed, id)
	}
}

// decide shows a call page by page until the user decides.
func (a *asker) decide(ctx context.Context, h answerer, q ask.Question) (err error) {
	c := newCallQuestion(q, screenWidth(a.host.Stderr), a.host.colours(a.host.Stderr))
	if q.Diff != "" {
		a.view.sawDiff(q.Diff)
	}
	done := a.view.ask(c.page())
	defer func() { done(err == nil) }()
	for {
		line, err := a.keys.Ask(ctx, c.prompt(), a.view.prompt)
		if err != nil {
			return a.ended(err)
		}
		o, problem := c.parse(line)
		if problem == "" && !o.more {
			o.answer.Asked = q.Asked
			problem = a.give(ctx, h, q.ID, o.answer)
		}
		switch {
		case problem != "":
			a.view.prompt("· " + problem + "\n")
		case o.more:
			a.view.prompt(c.page())
		default:
			return nil
		}
	}
}

// ended tells the user why a question needs no answer any more, if it was settled elsewhere.
func (a *asker) ended(err error) error {
	var settled settledError
	if errors.As(err, &settled) {
		a.view.prompt("\n· " + settled.how + "\n")
		return nil
	}
	return err
}

// give passes an answer to the session. It returns the problem with an invalid answer, so that the user can correct it.
func (a *asker) give(ctx context.Context, h answerer, id string, answer ask.Answer) (problem string) {
	cancel := a.hold(id)
	switch err := h.Answer(context.WithoutCancel(ctx), id, answer); {
	case err == nil:
		return ""
	case errors.Is(err, session.ErrAnswered), errors.Is(err, session.ErrClosed):
		a.view.prompt("· " + show.OneLine(err.Error()) + "\n")
		return ""
	default:
		a.release(id, cancel)
		return show.OneLine(err.Error())
	}
}

// hold keeps an answer's record from withdrawing the question, until release.
func (a *asker) hold(id string) context.CancelCauseFunc {
	a.mu.Lock()
	defer a.mu.Unlock()
	cancel := a.posed[id]
	delete(a.posed, id)
	return cancel
}

func (a *asker) release(id string, cancel context.CancelCauseFunc) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if cancel != nil {
		a.posed[id] = cancel
	}
}

// reply asks the user a model's questions, one by one.
func (a *asker) reply(ctx context.Context, h answerer, q ask.Question) error {
	answer := ask.Answer{}
	for _, item := range q.Items {
		for {
			line, err := a.ask(ctx, questionRows(item)+"> ")
			if err != nil {
				return a.ended(err)
			}
			if given, ok := parseAnswer(item, line); ok {
				answer.Replies = append(answer.Replies, ask.Reply{Chosen: given.Chosen, Text: given.Text})
				break
			}
		}
	}
	if problem := a.give(ctx, h, q.ID, answer); problem != "" {
		return errors.New(problem)
	}
	return nil
}

// questionRows returns the agent's question with numbered options.
func questionRows(q event.Question) string {
	var b strings.Builder
	b.WriteString("\n")
	if q.Header != "" {
		b.WriteString(show.OneLine(q.Header) + ": ")
	}
	b.WriteString(show.Visible(q.Question) + "\n")
	for i, o := range q.Options {
		fmt.Fprintf(&b, "  %d. %s\n", i+1, strings.TrimSuffix(show.OneLine(o.Label)+": "+show.OneLine(o.Description), ": "))
	}
	switch {
	case q.Multiple && len(q.Options) > 0:
		b.WriteString("Type numbers, such as 1,2, or another answer.\n")
	case len(q.Options) > 0:
		b.WriteString("Type a number, or another answer.\n")
	}
	return b.String()
}

// parseAnswer parses option numbers or free text. It reports false if there is no answer.
func parseAnswer(q event.Question, line string) (agent.Answer, bool) {
	var chosen []string
	for _, word := range strings.FieldsFunc(line, func(r rune) bool { return r == ',' || r == ' ' }) {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 || n > len(q.Options) || len(chosen) > 0 && !q.Multiple {
			return agent.Answer{Text: line}, true
		}
		if label := q.Options[n-1].Label; !slices.Contains(chosen, label) {
			chosen = append(chosen, label)
		}
	}
	return agent.Answer{Chosen: chosen}, len(chosen) > 0
}

// confirm asks whether to do something, such as "remove a file". If the answer is no, it reports that nothing happened.
func confirm(ctx context.Context, h Host, action, declined string) error {
	a := newAsker(h)
	if a.unattended() {
		notef(h, "refusing to %s without confirmation; use --yes", action)
		return quietError{exitNeedsInput}
	}
	answer, err := a.ask(ctx, strings.ToUpper(action[:1])+show.OneLine(action[1:])+"? [y]es, [n]o: ")
	if err != nil && !errors.Is(err, keyboard.ErrNoAnswer) {
		return err
	}
	switch strings.ToLower(answer) {
	case "y", "yes":
		return nil
	}
	notef(h, "%s", declined)
	return quietError{exitFailed}
}

// ask shows a question and waits for its answer. The question's last line is shown once it accepts an answer.
func (a *asker) ask(ctx context.Context, question string) (answer string, err error) {
	i := strings.LastIndexByte(question, '\n') + 1
	done := a.view.ask(question[:i])
	defer func() { done(err == nil) }()
	return a.keys.Ask(ctx, question[i:], a.view.prompt)
}

// newKeyboard returns the keyboard for questions.
func newKeyboard(h Host) *keyboard.Keyboard {
	return &keyboard.Keyboard{In: h.Stdin, Words: []string{"yes", "no", answerUnseen}}
}
