package agent

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm/llmtest"
)

// askedIn returns a channel with the result of Ask, once the question is recorded.
func askedIn(ctx context.Context, t *testing.T, s *Session, q event.QuestionAsked) <-chan result[event.QuestionAnswered] {
	t.Helper()
	done := make(chan result[event.QuestionAnswered], 1)
	from := s.Last()
	go func() {
		a, err := s.Ask(ctx, q)
		done <- result[event.QuestionAnswered]{a, err}
	}()
	for r, err := range s.Events(t.Context(), from) {
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := r.Data.(event.QuestionAsked); ok && d.ID == q.ID {
			break
		}
	}
	return done
}

type result[T any] struct {
	value T
	err   error
}

func TestAsk_TheFirstReplyCounts(t *testing.T) {
	s := open(t, llmtest.Play(), nil)
	q := event.QuestionAsked{ID: "q", Type: event.QuestionForm, From: "tracker", Text: "Which?"}
	done := askedIn(t.Context(), t, s, q)
	if _, err := s.Ask(t.Context(), q); err == nil {
		t.Error("a second question with the same ID was accepted")
	}
	if err := s.Reply(event.QuestionAnswered{ID: "other", Accepted: true}); err == nil {
		t.Error("an answer to an unknown question was accepted")
	}
	if err := s.Reply(event.QuestionAnswered{ID: "q", Accepted: true, Values: json.RawMessage(`{"a":1}`)}); err != nil {
		t.Fatal(err)
	}
	if err := s.Reply(event.QuestionAnswered{ID: "q"}); err == nil {
		t.Error("a second answer was accepted")
	}
	if got := <-done; got.err != nil || !got.value.Accepted || string(got.value.Values) != `{"a":1}` {
		t.Errorf("got %+v", got)
	}
	if got := records[event.QuestionAnswered](s); len(got) != 1 || !got[0].Accepted {
		t.Errorf("recorded the answers %+v, want the first only", got)
	}
}

func TestAsk_IsWithdrawnWhenItsContextEnds(t *testing.T) {
	s := open(t, llmtest.Play(), nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	done := askedIn(ctx, t, s, event.QuestionAsked{ID: "q", Type: event.QuestionTrust, Text: "Trust it?"})
	gone := errors.New("the server has stopped")
	cancel(gone)
	if got := <-done; !errors.Is(got.err, gone) {
		t.Errorf("got %+v, want the cause", got)
	}
	if err := s.Reply(event.QuestionAnswered{ID: "q", Accepted: true}); err == nil {
		t.Error("a withdrawn question was answered")
	}
	if got := records[event.QuestionAnswered](s); len(got) != 1 || got[0].Accepted || got[0].Reason != gone.Error() {
		t.Errorf("recorded %+v, want that the question was withdrawn", got)
	}
}
