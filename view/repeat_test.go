package view_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/view"
)

// A reader that continues after a snapshot or a lost connection gets transient records again.
func TestState_TransientRecordsAreAppliedOnce(t *testing.T) {
	log := event.NewLog(nil)
	log.Append(event.Record{Data: event.UserInput{Message: llm.UserText("go")}})
	log.Append(event.Record{Data: event.ModelCallStart{Call: 1}})
	for _, text := range []string{"a", "a", "b", "b"} {
		log.Append(event.Record{Time: time.Unix(1, 0), Data: event.TextDelta{Call: 1, Text: text}})
	}
	log.Close()
	var once view.State
	for r, err := range log.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		once.Apply(r)
	}
	for cut := 1; cut <= 6; cut++ {
		var before view.State
		n := 0
		for r := range log.Events(t.Context(), 0) {
			before.Apply(r)
			if n++; n >= cut {
				break
			}
		}
		repeated := before.Clone()
		for r := range log.Events(t.Context(), repeated.Last()) {
			repeated.Apply(r)
		}
		if diff := cmp.Diff(once.Screen(), repeated.Screen()); diff != "" {
			t.Errorf("after %d records (-once +repeated):\n%s", cut, diff)
		}
	}
	if i := once.Len() - 1; once.Item(i).Text != "aabb" {
		t.Errorf("the text is %q", once.Item(i).Text)
	}
}
