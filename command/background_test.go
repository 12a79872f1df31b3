package command

import (
	"context"
	"strings"
	"testing"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/session"
	"github.com/reins-agent/reins/tool"
	"github.com/reins-agent/reins/view"
)

// running is a session of which only the background commands are known.
type running struct {
	session.Handle
	state view.State
}

func (r *running) Snapshot(context.Context) (*view.State, error) { return r.state.Clone(), nil }

func (r *running) ReadBackground(context.Context, string, int64) (session.BackgroundOutput, error) {
	return session.BackgroundOutput{Text: "ready\n", Running: true}, nil
}

func TestJobs_AnIDMeansTheLastCommandThatHasIt(t *testing.T) {
	r := &running{}
	start := func(seq event.Seq, line string) {
		r.state.Apply(event.Record{Seq: seq, Data: event.ToolCallEnd{
			ID:        line,
			Name:      "shell",
			Artifacts: tool.Artifacts{CommandsRun: []string{line}, Background: "1"},
		}})
	}
	start(1, "imported")
	r.state.Apply(event.Record{Seq: 2, Data: event.SessionResume{}})
	start(3, "serve")
	res, err := runJobs(t.Context(), Target{Handle: r}, "1")
	if err != nil || !strings.HasPrefix(res.Text, "serve\nrunning") {
		t.Errorf("/jobs 1 shows %q (%v)", res.Text, err)
	}
}
