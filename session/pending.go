package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reins-agent/reins/ask"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/view"
)

// Questions lists the tool calls of a session that wait for an approval, oldest first, as [Handle.Questions] does. The
// session may be running. The places are where an approval can save rules. Other questions are left out, because only a
// running session can take their answers.
func (m *Manager) Questions(ctx context.Context, name string, places ...ask.Place) ([]ask.Question, error) {
	s, err := m.Find(ctx, name)
	if err != nil {
		return nil, err
	}
	state, err := m.screen(ctx, s.ID)
	if err != nil {
		return nil, err
	}
	return approvals(state, places), nil
}

// approvals returns the questions that a session answers when it is resumed.
func approvals(state *view.State, places []ask.Place) []ask.Question {
	list := []ask.Question{}
	for _, q := range ask.Waiting(state, places...) {
		if q.Kind == ask.Approval || q.Kind == ask.Plan {
			list = append(list, q)
		}
	}
	return list
}

// screen folds the saved records of a session. A damaged log is an error.
func (m *Manager) screen(ctx context.Context, id string) (*view.State, error) {
	var state view.State
	for r, err := range m.Store.Load(ctx, id, 0) {
		if err != nil {
			return nil, err
		}
		state.Apply(r)
	}
	return &state, nil
}

// AnswerOptions say what is answered.
type AnswerOptions struct {
	Session  string     `json:"session"`
	Question string     `json:"question"` // its ID
	Answer   ask.Answer `json:"answer"`

	// Places are where an approval can save rules, and Save saves them.
	Places []ask.Place                              `json:"-"`
	Save   func(layer string, rules []string) error `json:"-"`
}

// Answer answers a question that [Manager.Questions] lists. The session acts on the answer when it is resumed. The error
// wraps [ErrAnswered] if the question is not open any more, and [event.ErrLocked] if the session is running: answer it
// there.
func (m *Manager) Answer(ctx context.Context, o AnswerOptions) error {
	s, err := m.Find(ctx, o.Session)
	if err != nil {
		return err
	}
	w, err := m.Store.Open(ctx, s.ID)
	if err != nil {
		return err
	}
	return errors.Join(m.answer(ctx, s.ID, w, o), w.Close())
}

// answer answers a question of a session that is locked.
func (m *Manager) answer(ctx context.Context, id string, w event.Writer, o AnswerOptions) error {
	state, err := m.screen(ctx, id)
	if err != nil {
		return err
	}
	q, open := ask.Open(approvals(state, o.Places), o.Question, o.Answer)
	if !open {
		return fmt.Errorf("%w (question %s)", ErrAnswered, o.Question)
	}
	approval, choice, err := q.Approve(o.Answer)
	if err != nil {
		return err
	}
	if err := saveRules(choice, o.Save); err != nil {
		return err
	}
	return w.Append(ctx, event.Record{
		Seq:     state.Last() + 1,
		Time:    time.Now(),
		Session: id,
		Agent:   q.Agent,
		Data: event.ApprovalResolved{
			ID:        q.Call(),
			Allowed:   approval.Allow,
			Scope:     approval.Scope,
			Rules:     approval.Rules,
			Arguments: approval.Args,
			Reason:    approval.Message,
			Deferred:  true,
		},
	})
}
