package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/host/show"
	"github.com/reins-agent/reins/tool"
)

// callRecords are the records of a call that ends after so long, of which it waited for an approval.
func callRecords(id, command string, took, waited time.Duration) []event.Record {
	args, _ := json.Marshal(map[string]string{"command": command})
	then := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	return []event.Record{
		{Seq: 1, Time: then, Data: event.ToolCallStart{ID: id, Name: "shell", Arguments: args}},
		{Seq: 2, Time: then, Data: event.ApprovalRequested{ID: id}},
		{Seq: 3, Time: then.Add(waited), Data: event.ApprovalResolved{ID: id, Allowed: true}},
		{Seq: 4, Time: then.Add(took), Data: event.ToolCallEnd{ID: id, Name: "shell", Duration: took}},
	}
}

func TestTool_TimeIsWithoutTheWaitForAnApproval(t *testing.T) {
	records := callRecords("c1", "make", 62*time.Second, time.Minute)
	const want = "✓ shell make 2s\n"
	var side, shown strings.Builder
	v := &textView{out: &side, side: &side, calls: show.Calls{}}
	past := &transcript{out: &shown, calls: show.Calls{}}
	for _, r := range records {
		if err := v.show(r); err != nil {
			t.Error(err)
		}
		if err := past.show(r); err != nil {
			t.Error(err)
		}
	}
	if side.String() != want || shown.String() != want {
		t.Errorf("the run shows %q and the transcript %q, want %q", side.String(), shown.String(), want)
	}
}

func TestTextView_ResumedRunSaysWhichCallWasInterrupted(t *testing.T) {
	var side strings.Builder
	v := &textView{out: &side, side: &side, calls: show.Calls{}}
	for _, r := range callRecords("c1", "make", time.Second, 0) {
		v.replay(r)
	}
	for _, r := range callRecords("c2", "make test", time.Second, 0)[:1] {
		v.replay(r)
	}
	if len(v.calls) != 1 || side.Len() > 0 {
		t.Errorf("what was shown before is shown again: %q, with %d open calls", side.String(), len(v.calls))
	}
	end := event.ToolCallEnd{ID: "c2", Name: "shell", Error: &tool.Error{Message: "interrupted: it may have taken effect"}}
	if err := v.show(event.Record{Seq: 9, Data: end}); err != nil {
		t.Error(err)
	}
	if want := "✗ shell make test <1ms interrupted: it may have taken effect\n"; side.String() != want {
		t.Errorf("it shows %q, want %q", side.String(), want)
	}
}
