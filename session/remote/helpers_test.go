package remote_test

import (
	"context"
	"testing"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/event/filestore"
	"github.com/reins-agent/reins/home"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/session"
	"github.com/reins-agent/reins/view"
)

// open opens a new session whose model plays a script.
func open(t *testing.T, state home.Dir, id string, turns ...llmtest.Turn) *session.Local {
	t.Helper()
	store, err := filestore.New(filestore.Config{Dir: state.Sessions()})
	if err != nil {
		t.Fatal(err)
	}
	script := llmtest.Play(turns...)
	l, err := session.Open(t.Context(), coding.Config{
		Provider: "script",
		Model:    "model",
		Dir:      t.TempDir(),
		State:    string(state),
		Session:  agent.Config{ID: id, Client: script, Store: store},
	}, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// collect returns the records of a session up to the end of its work.
func collect(ctx context.Context, h session.Handle) (list []event.Record, err error) {
	for r, err := range h.Events(ctx, 0) {
		if err != nil {
			return list, err
		}
		list = append(list, r)
		if _, over := r.Data.(event.ProcessingEnd); over && r.Agent == "" {
			break
		}
	}
	return list, nil
}

func screen(list []event.Record) view.Screen {
	var s view.State
	for _, r := range list {
		s.Apply(r)
	}
	return s.Screen()
}
