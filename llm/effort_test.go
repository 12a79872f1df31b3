package llm_test

import (
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm"
)

func TestCheckEffort_NamesWhatTheModelTakes(t *testing.T) {
	for _, tt := range []struct {
		provider, model, effort string
		says                    string // "" is no error
	}{
		{"openai", "gpt-5", "high", ""},
		{"openai", "gpt-5", "", ""},
		{"openai", "gpt-5", "ludicrous", `gpt-5 does not take the effort "ludicrous"; use minimal, low, medium or high`},
		{"openai", "gpt-5", "High", "use minimal, low, medium or high"},
		{"openai", "gpt-5-pro", "low", "use high"},
		{"anthropic", "claude-haiku-4-5", "medum", "use none, low, medium or high"},
		{"anthropic", "claude-haiku-4-5-20251001", "none", ""},
		{"gemini", "gemini-3-pro-preview", "medium", "use low or high"},
		{"local", "gpt-5", "ludicrous", "use minimal"}, // whoever serves it
		{"openai", "gpt-99", "ludicrous", ""},          // unknown models take any
		{"chat", "glm-5", "ludicrous", ""},             // nothing is documented
	} {
		err := llm.DefaultCatalogue().CheckEffort(tt.provider, tt.model, tt.effort)
		if tt.says == "" && err == nil || err != nil && tt.says != "" && strings.Contains(err.Error(), tt.says) && llm.KindOf(err) == llm.ErrConfiguration {
			continue
		}
		t.Errorf("%s, effort %q: %v, want it to say %q", tt.model, tt.effort, err, tt.says)
	}
}
