package agent

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/reins-agent/reins/event"
)

// Ask asks the user a question on behalf of the host: an MCP server's form, or whether to overwrite a file. It records
// the question, waits for [Session.Reply], and returns the answer. The question gets an ID if it has none. If ctx ends
// first, the question is withdrawn, and Ask returns the cause. Ask may be called while the session works and while it
// is idle, and several questions may be open at once.
//
// A question ends with its process: unlike an approval, it does not wait for an answer after a crash.
func (s *Session) Ask(ctx context.Context, q event.QuestionAsked) (event.QuestionAnswered, error) {
	if q.ID == "" {
		q.ID = rand.Text()
	}
	reply := make(chan event.QuestionAnswered, 1)
	err := s.commit(func() error {
		if _, open := s.replies[q.ID]; open {
			return fmt.Errorf("question %q is already open", q.ID)
		}
		if s.replies == nil {
			s.replies = make(map[string]chan event.QuestionAnswered)
		}
		s.replies[q.ID] = reply
		s.note(q)
		return nil
	})
	if err != nil {
		return event.QuestionAnswered{}, err
	}
	select {
	case a := <-reply:
		return a, nil
	case <-ctx.Done():
	}
	if a, answered := s.withdraw(q.ID, context.Cause(ctx), reply); answered {
		return a, nil
	}
	return event.QuestionAnswered{}, context.Cause(ctx)
}

// withdraw ends a question without an answer, unless there is one.
func (s *Session) withdraw(id string, why error, reply <-chan event.QuestionAnswered) (a event.QuestionAnswered, answered bool) {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	select {
	case a = <-reply:
		return a, true
	default:
	}
	delete(s.replies, id)
	if !s.closed {
		s.note(event.QuestionAnswered{ID: id, Reason: why.Error()})
	}
	return a, false
}

// Reply answers an open question asked by [Session.Ask]. The first answer counts: later answers, and answers to unknown
// questions, are errors.
func (s *Session) Reply(a event.QuestionAnswered) error {
	return s.commit(func() error {
		reply, open := s.replies[a.ID]
		if !open {
			return fmt.Errorf("no question %q waits for an answer", a.ID)
		}
		delete(s.replies, a.ID)
		s.note(a)
		reply <- a
		return nil
	})
}
