package feature

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/env/sandbox"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/connect"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/skill"
)

// TestTiers_FirstRequestIsSmall measures the first request of each profile in each tier from core on, with the built-in
// skills.
func TestTiers_FirstRequestIsSmall(t *testing.T) {
	for _, p := range []struct{ provider, model string }{
		{"openai", "gpt-5.5"}, {"anthropic", "claude-opus-4-5"}, {"gemini", "gemini-2.5-pro"}, {"chat", "qwen3-coder"},
	} {
		for _, toolset := range []coding.Toolset{coding.Standard, coding.Native} {
			if toolset == coding.Native && p.provider == "chat" {
				continue
			}
			var sizes []int
			for _, tier := range []coding.Tier{coding.CoreTier, coding.AdvancedTier, coding.AllTiers} {
				sizes = append(sizes, len(firstRequest(t, p.provider, p.model, toolset, tier)))
			}
			t.Logf("%s %s: %.1f kB core, %.1f advanced, %.1f all", p.provider, toolset, float64(sizes[0])/1e3, float64(sizes[1])/1e3, float64(sizes[2])/1e3)
			if sizes[0] >= 21_000 || !slices.IsSorted(sizes) {
				t.Errorf("%s %s: the requests have %d bytes, want less than 21,000 in the core tier and more in the others", p.provider, toolset, sizes)
			}
		}
	}
}

// firstRequest returns the body of the first request of a session.
func firstRequest(t *testing.T, provider, model string, toolset coding.Toolset, tier coding.Tier) []byte {
	t.Helper()
	server := llmtest.NewServer(llmtest.Play(llmtest.Say("done")))
	defer server.Close()
	vars := map[string]string{
		"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": server.BaseURL("openai"), "ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": server.BaseURL("anthropic"),
		"GEMINI_API_KEY": "k", "GEMINI_BASE_URL": server.BaseURL("gemini"), "REINS_CHAT_API_KEY": "k", "REINS_CHAT_BASE_URL": server.BaseURL("chat"),
	}
	dir := t.TempDir()
	s, err := coding.Open(t.Context(), coding.Config{
		Provider: provider, Model: model, Toolset: toolset, Tier: tier, Dir: dir, State: t.TempDir(), ToolConfig: coding.ToolConfig{ReadBeforeWrite: true},
		Extensions: everything(dir), Sandbox: sandbox.Config{Mode: sandbox.WorkspaceWrite},
		Connect: connect.Config{Getenv: func(name string) string { return vars[name] }},
		Session: agent.Config{Subagents: agent.Subagents{Teams: tier != coding.CoreTier}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Submit(t.Context(), llm.Text{Text: "hi"}); err != nil {
		t.Fatal(err)
	}
	return server.Bodies()[0]
}

// everything returns the extensions of `reins run`, in its order.
func everything(dir string) []coding.Extension {
	return with(Worktrees(), LanguageServers(LSPConfig{Enabled: true}), Memory(0), Skills(skill.Discover(skill.Options{Dir: dir})))
}

// A tool outside of the tier is not in the request, but tool_search names it.
func TestTiers_OtherToolsAreFoundBySearching(t *testing.T) {
	core := firstRequest(t, "anthropic", "claude-opus-4-5", coding.Standard, coding.CoreTier)
	all := firstRequest(t, "anthropic", "claude-opus-4-5", coding.Standard, coding.AllTiers)
	defines := func(body []byte, name string) bool { return bytes.Contains(body, []byte(`"name":"`+name+`"`)) }
	for _, name := range []string{"codebase_search", "delete_file", "list_agents", "lsp", "enter_plan_mode"} {
		if coding.TierOf(name) == coding.CoreTier || defines(core, name) || !defines(all, name) || !strings.Contains(string(core), name) {
			t.Errorf("%s: in the core request %v, in the one of all tiers %v", name, defines(core, name), defines(all, name))
		}
	}
	if !defines(core, "tool_search") || !defines(core, "shell") || !defines(core, "spawn_agent") {
		t.Error("the core tier lacks tools")
	}
	if defines(all, "tool_search") {
		t.Error("all tools are offered, and tool_search too")
	}
}

func TestTiers_SubagentToolsComeTogether(t *testing.T) {
	for _, tier := range []coding.Tier{coding.CoreTier, coding.AdvancedTier, coding.AllTiers} {
		body := string(firstRequest(t, "anthropic", "claude-opus-4-5", coding.Standard, tier))
		for _, name := range []string{"spawn_agent", "send_input", "wait", "close_agent"} {
			if !strings.Contains(body, `"name":"`+name+`"`) {
				t.Errorf("%s: %s is not offered", tier, name)
			}
		}
	}
}

// TestLean_FirstRequestIsSmall measures the first request of each family, in bytes.
func TestLean_FirstRequestIsSmall(t *testing.T) {
	for _, c := range []struct {
		provider, model string
		most            int // of the measured size, which depends a little on the machine; never more than 6,000
	}{
		{"openai", "gpt-5.5", 4700},
		{"anthropic", "claude-opus-5-5", 4700},
		{"gemini", "gemini-3.8-flash", 4700},
		{"chat", "qwen3-coder", 4500},
	} {
		body := firstRequest(t, c.provider, c.model, coding.Standard, coding.LeanTier)
		t.Logf("%s: %.1f kB", c.provider, float64(len(body))/1e3)
		if len(body) > c.most {
			t.Errorf("%s: the request has %d bytes, want at most %d", c.provider, len(body), c.most)
		}
	}
}
