package feature

import (
	"slices"
	"testing"

	"github.com/reins-agent/reins/coding"
)

func TestOpen_OffersLanguageServersIfEnabled(t *testing.T) {
	for _, enabled := range []bool{false, true} {
		g := newOpenRig(t)
		offered := toolNames(g.ask(g.open(coding.Config{Model: "claude-opus-4-6", Tier: coding.AllTiers, Extensions: with(LanguageServers(LSPConfig{Enabled: enabled}))})))
		for _, name := range []string{"lsp", "read_lints"} {
			if got := slices.Contains(offered, name); got != enabled {
				t.Errorf("enabled %v: %s is offered: %v", enabled, name, got)
			}
		}
	}
}
