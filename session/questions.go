package session

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/ask"
	"github.com/reins-agent/reins/tool"
	"github.com/reins-agent/reins/view"
)

// approve is the session's approver.
func (l *held) approve(ctx context.Context, r tool.Request) (tool.Approval, error) {
	switch {
	case l.options.Approvals == DeferApproval:
		return tool.Approval{}, tool.ErrPending
	case l.options.Approvals == RefuseApproval && l.options.Refusal != nil:
		return l.options.Refusal(ctx, r), nil
	case l.options.Approvals == RefuseApproval:
		return tool.Approval{Message: "needs approval, but no approver is configured"}, nil
	}
	<-ctx.Done() // Answer resolves the call
	return tool.Approval{}, context.Cause(ctx)
}

// Questions implements [Handle].
func (l *held) Questions(ctx context.Context) (list []ask.Question, err error) {
	err = l.current(ctx, func(s *view.State) { list = ask.Waiting(s, l.options.Places...) })
	return list, err
}

// Answer implements [Handle].
func (l *held) Answer(ctx context.Context, id string, a ask.Answer) error {
	list, err := l.Questions(ctx)
	if err != nil {
		return err
	}
	q, open := ask.Open(list, id, a)
	switch {
	case !open:
		return fmt.Errorf("%w (question %s)", ErrAnswered, id)
	case q.Kind == ask.Approval || q.Kind == ask.Plan:
		return l.decide(ctx, q, a)
	case q.Kind == ask.Input:
		return l.reply(ctx, q, a)
	}
	d, err := q.Inquire(a)
	if err != nil {
		return err
	}
	if err := l.agent.Reply(d); err != nil {
		return errors.Join(ErrAnswered, err)
	}
	return nil
}

// decide answers a question about a tool call.
func (l *held) decide(ctx context.Context, q ask.Question, a ask.Answer) error {
	approval, choice, err := q.Approve(a)
	if err != nil {
		return err
	}
	if err := l.resolve(ctx, q, approval, choice); err != nil {
		return err
	}
	return l.proceed(ctx)
}

// resolve saves the rules of an answer and passes the answer to the agent. It does neither if another answer came first.
func (l *held) resolve(ctx context.Context, q ask.Question, approval tool.Approval, choice ask.Choice) error {
	l.deciding.Lock()
	defer l.deciding.Unlock()
	waits := func(p agent.Pending) bool { return p.ID == q.Call() && p.Agent == q.Agent }
	if !slices.ContainsFunc(l.agent.Pending(), waits) {
		return fmt.Errorf("%w (question %s)", ErrAnswered, q.ID)
	}
	if err := saveRules(choice, l.options.Save); err != nil {
		return err
	}
	if err := l.agent.Resolve(ctx, q.Agent+":"+q.Call(), approval); err != nil {
		return fmt.Errorf("%w: %w", ErrAnswered, err)
	}
	return nil
}

// saveRules saves the rules of a choice, if it says so.
func saveRules(c ask.Choice, save func(layer string, rules []string) error) error {
	switch {
	case c.Save == "":
		return nil
	case save == nil:
		return errors.New("rules cannot be saved here: choose another answer")
	}
	if err := save(c.Save, c.Rules); err != nil {
		return fmt.Errorf("not saved, choose another answer: %w", err)
	}
	return nil
}

// proceed continues work that ended because it waited for approvals, when all are answered.
func (l *held) proceed(ctx context.Context) error {
	l.mu.Lock()
	idle := l.work == nil || l.work.over()
	l.mu.Unlock()
	if !idle || l.options.Approvals == DeferApproval || len(l.agent.Pending()) > 0 {
		return nil
	}
	if err := l.Continue(ctx); err != nil && !errors.Is(err, ErrNothingToContinue) && !errors.Is(err, ErrBusy) {
		return err
	}
	return nil
}

// reply answers a question of the model.
func (l *held) reply(ctx context.Context, q ask.Question, a ask.Answer) error {
	answers, err := q.Reply(a)
	if err != nil {
		return err
	}
	if answers == nil {
		return l.Submit(ctx, Input{Text: a.Text, Plain: true})
	}
	return l.start(ctx, func(ctx context.Context) (agent.Outcome, error) { return l.agent.Answer(ctx, answers...) }, startsWork)
}
