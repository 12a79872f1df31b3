package wire

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm"
)

func assembler(dst *[]llm.StreamEvent) *Assembler {
	return NewAssembler("toy", "m", func(ev llm.StreamEvent) bool {
		*dst = append(*dst, ev)
		return true
	})
}

func TestAssembler_PartsMayOverlapAndKeepTheirOrder(t *testing.T) {
	var evs []llm.StreamEvent
	a := assembler(&evs)
	a.Start("id", "model")
	think, text := a.BeginThinking(), a.BeginText()
	call := a.BeginCall("c1", "read", false)
	a.Delta(text, "he")
	a.Delta(call, `{"a":`)
	a.Delta(think, "hm")
	a.Delta(text, "llo")
	a.Delta(call, `1}`)
	a.SetState(think, a.State([]byte("sig")))
	a.End(think)
	a.End(call)
	a.Finish(llm.FinishToolCalls, "tool_use")
	want := []llm.Part{
		llm.Thinking{Text: "hm", State: llm.State{Dialect: "toy", Model: "m", Data: []byte("sig")}},
		llm.Text{Text: "hello"},
		llm.ToolCall{ID: "c1", Name: "read", Arguments: `{"a":1}`},
	}
	got := a.Response()
	if fmt.Sprintf("%#v", got.Message.Parts) != fmt.Sprintf("%#v", want) || got.ID != "id" || got.Model != "model" {
		t.Errorf("%#v, want %#v", got.Message.Parts, want)
	}
	if _, ok := evs[0].(llm.Start); !ok {
		t.Errorf("the first event is %T", evs[0])
	}
	if f, ok := evs[len(evs)-1].(llm.Finish); !ok || f.Response != got {
		t.Errorf("the last event is %T", evs[len(evs)-1])
	}
}

func TestAssembler_NeverReturnsAnInterruptedCall(t *testing.T) {
	tests := []struct {
		name, args string
		custom     bool
		reason     llm.FinishReason
		given      bool
	}{
		{"whole, ended for the call", `{"a":1}`, false, llm.FinishToolCalls, true},
		{"whole, cut behind it", `{"a":1}`, false, llm.FinishLength, true},
		{"cut for length", `{"a":`, false, llm.FinishLength, false},
		{"cut by a filter", `{"a":`, false, llm.FinishContentFilter, false},
		{"cut for a reason we do not know", `{"a":`, false, llm.FinishOther, false},
		{"custom text may always be cut", `rm -rf build`, true, llm.FinishLength, false},
		{"custom text that looks whole", `{}`, true, llm.FinishLength, false},
		{"custom text", `echo hi`, true, llm.FinishToolCalls, true},
		{"no arguments, cut", ``, false, llm.FinishLength, false},
	}
	for _, tt := range tests {
		var evs []llm.StreamEvent
		a := assembler(&evs)
		a.Delta(a.BeginCall("1", "x", tt.custom), tt.args)
		a.Finish(tt.reason, "raw")
		ended := slices.ContainsFunc(evs, func(ev llm.StreamEvent) bool { _, ok := ev.(llm.ToolCallEnd); return ok })
		if got := len(a.Response().ToolCalls()) == 1; got != tt.given || ended != tt.given {
			t.Errorf("%s: in the response %v, ended %v, want %v", tt.name, got, ended, tt.given)
		}
	}
}

func TestAssembler_NothingHappensAfterTheEnd(t *testing.T) {
	var evs []llm.StreamEvent
	a := assembler(&evs)
	i := a.BeginText()
	a.End(i)
	a.End(i)
	a.Delta(i, "late")
	a.Finish(llm.FinishStop, "")
	n := len(evs)
	a.Finish(llm.FinishLength, "again")
	a.Delta(i, "later")
	a.Delta(7, "nowhere")
	a.End(-1)
	if len(evs) != n || a.Response().Text() != "" || a.Response().Finish.Reason != llm.FinishStop {
		t.Errorf("got %d events after the finish; the response is %+v", len(evs)-n, a.Response())
	}
}

func TestAssembler_ConsumerThatLeavesGetsNothingMore(t *testing.T) {
	n := 0
	a := NewAssembler("toy", "m", func(llm.StreamEvent) bool { n++; return false })
	a.Delta(a.BeginText(), "x")
	a.Finish(llm.FinishStop, "")
	if n != 1 || !a.stopped {
		t.Errorf("got %d events, want 1", n)
	}
}

func TestAssembler_SizeIsBounded(t *testing.T) {
	var evs []llm.StreamEvent
	text := assembler(&evs)
	text.Max = 1500
	i := text.BeginText()
	for range 1000 {
		text.Delta(i, "0123456789")
	}
	empty := assembler(&evs)
	empty.Max = 1500
	for range 1000 {
		empty.End(empty.BeginText())
	}
	opaque := assembler(&evs)
	opaque.Max = 1500
	opaque.Part(llm.Opaque{State: llm.State{Data: make([]byte, 2000)}})
	full := func(f func(a *Assembler)) *Assembler {
		a := assembler(&evs)
		a.Max = 1500
		f(a)
		return a
	}
	long := strings.Repeat("x", 2000)
	for name, a := range map[string]*Assembler{
		"text": text, "empty parts": empty, "opaque": opaque,
		"id":    full(func(a *Assembler) { a.Start(long, "") }),
		"model": full(func(a *Assembler) { a.Start("", long) }),
		"call":  full(func(a *Assembler) { a.BeginCall(long, "", false) }),
		"name":  full(func(a *Assembler) { a.SetCall(a.BeginCall("", "", false), "", long) }),
		"state": full(func(a *Assembler) { a.SetState(a.BeginText(), llm.State{Data: []byte(long)}) }),
		"image": full(func(a *Assembler) { a.Part(llm.Image{Media: llm.Media{Data: []byte(long)}}) }),
		"held":  full(func(a *Assembler) { a.Hold(2000) }),
	} {
		if a.err == nil {
			t.Errorf("%s: got no error, want one", name)
		}
		if a.Finish(llm.FinishStop, ""); a.Done() {
			t.Errorf("%s: an answer over the limit was finished", name)
		}
	}
}

func TestSettle_SendsOnlyTheMissingRest(t *testing.T) {
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

func TestDrop_RemovesTheCallFromTheResponse(t *testing.T) {
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
		t.Errorf("the response has %d calls, want 0", n)
	}
}
