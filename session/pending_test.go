package session_test

import (
	"errors"
	"testing"

	"github.com/reins-agent/reins/ask"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/event/filestore"
	"github.com/reins-agent/reins/session"
)

func TestManager_AnswersACallOnceAndOnlyAsItWasAsked(t *testing.T) {
	store, err := filestore.New(filestore.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	w, err := store.Create(t.Context(), event.Meta{ID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	records := []event.Data{
		event.ToolCallStart{ID: "1", Name: "shell"},
		event.ApprovalRequested{ID: "1", Name: "shell", Tool: "shell"},
	}
	for i, d := range records {
		if err := w.Append(t.Context(), event.Record{Seq: event.Seq(i + 1), Session: "s", Agent: "2", Data: d}); err != nil {
			t.Fatal(err)
		}
	}
	m := &session.Manager{Store: store}
	answer := session.AnswerOptions{Session: "s", Question: "2:1", Answer: ask.Answer{Choice: "y"}}
	if err := m.Answer(t.Context(), answer); !errors.Is(err, event.ErrLocked) {
		t.Errorf("the answer to a session that is open failed with %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	list, err := m.Questions(t.Context(), "s")
	if err != nil || len(list) != 1 || list[0].ID != "2:1" {
		t.Fatalf("the questions are %+v (%v)", list, err)
	}
	earlier := answer
	earlier.Answer.Asked = list[0].Asked.Add(-1)
	if err := m.Answer(t.Context(), earlier); !errors.Is(err, session.ErrAnswered) {
		t.Errorf("the answer to an earlier question failed with %v", err)
	}
	if err := m.Answer(t.Context(), answer); err != nil {
		t.Fatal(err)
	}
	if err := m.Answer(t.Context(), answer); !errors.Is(err, session.ErrAnswered) {
		t.Errorf("the second answer failed with %v", err)
	}
	var last event.Record
	for r, err := range store.Load(t.Context(), "s", 0) {
		if last = r; err != nil {
			t.Fatal(err)
		}
	}
	if d, ok := last.Data.(event.ApprovalResolved); !ok || !d.Allowed || !d.Deferred || d.ID != "1" || last.Agent != "2" || last.Seq != 3 {
		t.Errorf("the last record is %+v", last)
	}
}
