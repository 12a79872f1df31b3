package wire

import (
	"errors"
	"testing"

	"github.com/reins-agent/reins/llm"
)

func TestCheckSettings_NamesTheUnsupportedSetting(t *testing.T) {
	one, some := 1.0, 1
	sampling := func(r llm.Refusal) llm.Model { return llm.Model{Rules: llm.Rules{Sampling: r}} }
	for _, c := range []struct {
		name   string
		model  llm.Model
		r      llm.Request
		thinks bool
		want   string
	}{
		{"no rules", llm.Model{},
			llm.Request{Temperature: &one, TopK: &some, ThinkingBudget: &some, ToolChoice: llm.ToolChoice{Mode: llm.ToolRequired}}, true, ""},
		{"nothing set", llm.Model{Rules: llm.Rules{Sampling: llm.RefusedAlways, Budget: llm.RefusedAlways, ForcedTools: llm.RefusedAlways}},
			llm.Request{}, true, ""},
		{"temperature", sampling(llm.RefusedAlways), llm.Request{Temperature: &one}, false, "m does not accept temperature; set the effort instead"},
		{"budget", llm.Model{Efforts: []string{"low", "high"}, Rules: llm.Rules{Budget: llm.RefusedAlways}}, llm.Request{ThinkingBudget: &some},
			true,
			"m does not accept a thinking budget; set the effort instead: low, high"},
		{"named tool", llm.Model{Rules: llm.Rules{ForcedTools: llm.RefusedThinking}},
			llm.Request{ToolChoice: llm.ToolChoice{Mode: llm.ToolNamed, Name: "f"}}, true,
			"m does not accept a forced tool; use the tool choice auto and ask for the tool in a message"},
		{"named tool without thinking", llm.Model{Rules: llm.Rules{ForcedTools: llm.RefusedThinking}},
			llm.Request{ToolChoice: llm.ToolChoice{Mode: llm.ToolNamed}}, false, ""},
		{"auto", llm.Model{Rules: llm.Rules{ForcedTools: llm.RefusedAlways}}, llm.Request{ToolChoice: llm.ToolChoice{Mode: llm.ToolAuto}}, true,
			""},
	} {
		c.r.Model = "m"
		err := CheckSettings(&c.r, c.model, c.thinks)
		got := ""
		var e *llm.Error
		if errors.As(err, &e) {
			got = e.Message
			if e.Kind != llm.ErrConfiguration {
				t.Errorf("%s: the kind is %v", c.name, e.Kind)
			}
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
