package show

import (
	"testing"
	"time"

	"github.com/reins-agent/reins/event"
)

func TestCalls_TimeIsWithoutTheWaitForAnApproval(t *testing.T) {
	then := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct{ took, waited, want time.Duration }{
		{62 * time.Second, time.Minute, 2 * time.Second},
		// The request that was answered may be one of an earlier run, before it was interrupted.
		{time.Second, time.Minute, 0},
	} {
		open := make(Calls)
		for _, r := range []event.Record{
			{Time: then, Agent: "a", Data: event.ToolCallStart{ID: "c1", Name: "shell", Arguments: []byte(`{"command":"make"}`)}},
			{Time: then, Agent: "a", Data: event.ApprovalRequested{ID: "c1"}},
			{Time: then.Add(c.waited), Agent: "a", Data: event.ApprovalResolved{ID: "c1", Allowed: true}},
		} {
			open.Note(r)
		}
		title, took := open.End("a", event.ToolCallEnd{ID: "c1", Name: "shell", Duration: c.took})
		if title != "shell make" || took != c.want || len(open) != 0 {
			t.Errorf("%q took %v, want %v; %d calls are left", title, took, c.want, len(open))
		}
	}
	if title, took := make(Calls).End("", event.ToolCallEnd{ID: "x", Name: "grep", Duration: time.Second}); title != "grep" || took != time.Second {
		t.Errorf("a call whose beginning was not seen is %q, %v", title, took)
	}
}
