package wire

import (
	"testing"

	"github.com/reins-agent/reins/llm"
)

func TestSettle_SendsOnlyWhatWasNotStreamed(t *testing.T) {
	for _, c := range []struct{ streamed, whole, want, sent string }{
		{"", "abc", "abc", "abc"},
		{"ab", "abc", "abc", "c"},
		{"abc", "abc", "abc", ""},
		{"abc", "", "abc", ""},
		{"axc", "abc", "abc", ""},
	} {
		sent := ""
		a := NewAssembler("d", "m", func(ev llm.StreamEvent) bool {
			if d, ok := ev.(llm.TextDelta); ok {
				sent += d.Text
			}
			return true
		})
		i := a.BeginText()
		a.Delta(i, c.streamed)
		sent = ""
		a.Settle(i, c.whole)
		a.Finish(llm.FinishStop, "")
		if got := a.Response().Text(); got != c.want || sent != c.sent {
			t.Errorf("Settle(%q) after %q: text %q sent %q, want %q and %q", c.whole, c.streamed, got, sent, c.want, c.sent)
		}
	}
}

func TestDrop_TakesTheCallOutOfTheResponse(t *testing.T) {
	a := NewAssembler("d", "m", func(ev llm.StreamEvent) bool {
		if _, ok := ev.(llm.ToolCallEnd); ok {
			t.Error("a dropped call got a ToolCallEnd")
		}
		return true
	})
	i := a.BeginCall("c", "f", false)
	a.Delta(i, `{"a":1}`)
	a.Drop(i)
	a.Finish(llm.FinishStop, "")
	if n := len(a.Response().ToolCalls()); n != 0 {
		t.Errorf("the response has %d calls", n)
	}
}
