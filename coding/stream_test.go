package coding

import (
	"testing"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
)

func TestStream_ClosesTheSession(t *testing.T) {
	g := newOpenRig(t)
	closed := &countingCloser{}
	g.model = llmtest.Play(llmtest.Say("Hello."), llmtest.Say("Hello."))
	c := Config{Model: "m", Dir: g.dir, State: g.state, Session: agent.Config{Client: g.model, Owned: closed.list()}}
	var last event.Record
	for r, err := range Stream(t.Context(), c, "hello") {
		if err != nil {
			t.Fatal(err)
		}
		last = r
	}
	if _, ok := last.Data.(event.ProcessingEnd); !ok || closed.n != 1 {
		t.Errorf("the last record is %s, and the session was closed %d times", last.Kind(), closed.n)
	}
	for range Stream(t.Context(), c, "hello") {
		break
	}
	if closed.n != 2 {
		t.Error("the session is open after a break")
	}
	for _, err := range Stream(t.Context(), Config{Session: agent.Config{Model: "m"}}, "hello") {
		if llm.KindOf(err) != llm.ErrConfiguration {
			t.Errorf("an invalid configuration: %v", err)
		}
	}
}
