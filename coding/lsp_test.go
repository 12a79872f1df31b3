package coding_test

import (
	"slices"
	"testing"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/llm/llmtest"
)

func TestOpen_OffersLanguageServersIfEnabled(t *testing.T) {
	for _, enabled := range []bool{false, true} {
		s, err := coding.Open(t.Context(), coding.Config{
			Dir: t.TempDir(), NoSave: true, Model: "scripted", LSP: coding.LSPConfig{Enabled: enabled},
			Session: agent.Config{Client: llmtest.NewScript()},
		})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, spec := range s.Tools() {
			names = append(names, spec.Name)
		}
		for _, name := range []string{"lsp", "read_lints"} {
			if got := slices.Contains(names, name); got != enabled {
				t.Errorf("enabled %v: %s is offered: %v", enabled, name, got)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
