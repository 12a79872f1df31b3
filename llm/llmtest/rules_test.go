package llmtest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm"
)

// catalogueRules returns a catalogue model, if the catalogue has rules for it.
func catalogueRules(provider, name string) (llm.Model, bool) {
	m, ok := llm.DefaultCatalogue().Lookup(provider, name)
	return m, ok && !reflect.ValueOf(m.Rules).IsZero()
}

// words returns a list in alphabetical order, without "none" where the API does not have that value.
func words(list []string, none bool) string {
	list = slices.Clone(list)
	slices.Sort(list)
	if !none {
		list = slices.DeleteFunc(list, func(s string) bool { return s == "none" })
	}
	return strings.Join(list, " ")
}

func (r refusal) String() string { return []string{"", "always", "thinking", "changed", "both"}[r] }

// TestRules_AgreeWithTheCatalogue compares two tables that were written independently. If they differ, one is wrong.
func TestRules_AgreeWithTheCatalogue(t *testing.T) {
	compared := map[string]bool{}
	compare := func(model, what string, ours, theirs any) {
		compared[model] = true
		if got, want := fmt.Sprint(theirs), fmt.Sprint(ours); got != want {
			t.Errorf("%s: the catalogue has the %s %q, the strict server has %q", model, what, got, want)
		}
	}
	for _, r := range claudeModels {
		m, ok := catalogueRules("anthropic", r.name)
		if !ok {
			continue
		}
		compare(r.name, "thinking types", words(strings.Fields(r.thinking), true), words(m.Rules.ThinkingTypes, true))
		compare(r.name, "thinking by default", r.thinks, m.Rules.Thinks)
		compare(r.name, "hidden thinking", r.hides, m.Rules.Hides)
		compare(r.name, "refusal of forced tools", r.forced, m.Rules.ForcedTools)
		compare(r.name, "refusal of sampling", r.sampling, m.Rules.Sampling)
		compare(r.name, "refusal of prefill", r.prefill == always, m.Rules.NoPrefill)
		compare(r.name, "prefix check", r.bound, m.Rules.PrefixCheck)
		compare(r.name, "late system messages", r.late, m.Rules.LateSystem)
		compare(r.name, "inline tools", r.inline, m.Rules.InlineTools)
		compare(r.name, "compaction", r.compacts, m.Rules.Compacts)
		compare(r.name, "maximum input", r.input, m.InputLimit())
		if lists(r.thinking, "adaptive") {
			compare(r.name, "efforts", words(strings.Fields(r.efforts), false), words(m.Efforts, false))
		}
	}
	for _, r := range openaiModels {
		m, ok := catalogueRules("openai", r.name)
		if !ok {
			continue
		}
		compare(r.name, "efforts", words(strings.Fields(r.efforts), true), words(m.Efforts, true))
		compare(r.name, "refusal of tools in Chat Completions", r.chatTools, m.Rules.ChatTools)
		compare(r.name, "prompt_cache_options", r.options, m.Rules.Cache == "prompt_cache_options")
		compare(r.name, "maximum input", r.input, m.InputLimit())
	}
	for _, r := range geminiModels {
		if m, ok := catalogueRules("gemini", r.name); ok && r.levels != "" {
			compare(r.name, "levels", words(strings.Fields(r.levels), true), words(m.Efforts, true))
			compare(r.name, "refusal of budgets", r.budget, m.Rules.Budget)
			compare(r.name, "maximum input", r.input, m.InputLimit())
		}
	}
	for provider, prefix := range map[string]string{"deepseek": "deepseek-", "moonshot": "kimi-", "qwen": "qwen", "minimax": "MiniMax-", "zai": "glm-"} {
		for _, r := range chatModels {
			if m, ok := catalogueRules(provider, r.name); ok && strings.HasPrefix(r.name, prefix) {
				compare(r.name, "need of thinking", r.echo, m.Rules.NeedsThinking)
				for _, effort := range m.Efforts {
					if effort != "none" && r.efforts != "" && !lists(r.efforts, effort) {
						t.Errorf("%s: the catalogue has the effort %q, the strict server refuses it", r.name, effort)
					}
				}
			}
		}
	}
	if len(compared) < 45 {
		t.Errorf("%d models were compared, want at least 45", len(compared))
	}
}
