package coding

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/agent"
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
		for _, toolset := range []Toolset{Standard, Native} {
			if toolset == Native && p.provider == "chat" {
				continue
			}
			var sizes []int
			for _, tier := range tierOrder[1:] {
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
func firstRequest(t *testing.T, provider, model string, toolset Toolset, tier Tier) []byte {
	t.Helper()
	server := llmtest.NewServer(llmtest.Play(llmtest.Say("done")))
	defer server.Close()
	vars := map[string]string{
		"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": server.BaseURL("openai"), "ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": server.BaseURL("anthropic"),
		"GEMINI_API_KEY": "k", "GEMINI_BASE_URL": server.BaseURL("gemini"), "REINS_CHAT_API_KEY": "k", "REINS_CHAT_BASE_URL": server.BaseURL("chat"),
	}
	dir := t.TempDir()
	s, err := Open(t.Context(), Config{
		Provider: provider, Model: model, Toolset: toolset, Tier: tier, Dir: dir, State: t.TempDir(), ToolConfig: ToolConfig{ReadBeforeWrite: true},
		Skills: skill.Discover(skill.Options{Dir: dir}), LSP: LSPConfig{Enabled: true}, Sandbox: sandbox.Config{Mode: sandbox.WorkspaceWrite},
		Connect: connect.Config{Getenv: func(name string) string { return vars[name] }},
		Session: agent.Config{Subagents: agent.Subagents{Teams: tier != CoreTier}},
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

// A tool outside of the tier is not in the request, but tool_search names it.
func TestTiers_OtherToolsAreFoundBySearching(t *testing.T) {
	core := firstRequest(t, "anthropic", "claude-opus-4-5", Standard, CoreTier)
	all := firstRequest(t, "anthropic", "claude-opus-4-5", Standard, AllTiers)
	defines := func(body []byte, name string) bool { return bytes.Contains(body, []byte(`"name":"`+name+`"`)) }
	for _, name := range []string{"codebase_search", "delete_file", "list_agents", "lsp", "enter_plan_mode"} {
		if TierOf(name) == CoreTier || defines(core, name) || !defines(all, name) || !strings.Contains(string(core), name) {
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

func TestTiers_HaveEachOther(t *testing.T) {
	for _, name := range append(slices.Collect(maps.Keys(tierOf)), "shell", "grep") {
		first := slices.IndexFunc(tierOrder, func(t Tier) bool { return t.has(name) })
		for i, tier := range tierOrder {
			if tier.has(name) != (i >= first) || (i >= first) != (slices.Index(tierOrder, TierOf(name)) <= i) {
				t.Errorf("%s has %s: %v", tier, name, tier.has(name))
			}
		}
	}
	if _, err := ParseTier("most"); err == nil {
		t.Error("an unknown tier was accepted")
	}
	if _, err := Open(t.Context(), Config{Model: "m", Tier: "most"}); err == nil || !strings.Contains(err.Error(), "lean, core, advanced or all") {
		t.Errorf("Open with an unknown tier: %v", err)
	}
}

// The table of docs/tools.md names the tier of each tool and a test that exists.
func TestTiers_AreDocumented(t *testing.T) {
	doc, err := os.ReadFile("../docs/tools.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := testNames(t, "..")
	rows := regexp.MustCompile("(?m)^\\| .* \\| `(\\w+)` \\| (\\w+) \\| (Test\\w+) \\|$").FindAllStringSubmatch(string(doc), -1)
	documented := map[string]bool{}
	for _, r := range rows {
		documented[r[1]] = true
		if string(TierOf(r[1])) != r[2] {
			t.Errorf("%s is documented as %s, but is %s", r[1], r[2], TierOf(r[1]))
		}
		if _, ok := tests[r[3]]; !ok {
			t.Errorf("%s: there is no test %s", r[1], r[3])
		}
	}
	for _, name := range []string{"lsp", "task_stop", "cron_list", "update_memory", "shell"} {
		if !documented[name] {
			t.Errorf("%s is not in the table", name)
		}
	}
}

// testNames maps the tests below a directory to the comment line before each.
func testNames(t *testing.T, dir string) map[string]string {
	t.Helper()
	names := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		for _, m := range regexp.MustCompile(`(?m)^(// .*\n)?func (Test\w+)\(`).FindAllSubmatch(b, -1) {
			if name := string(m[2]); names[name] == "" {
				names[name] = string(m[1])
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestTiers_SubagentToolsComeTogether(t *testing.T) {
	for _, tier := range []Tier{CoreTier, AdvancedTier, AllTiers} {
		body := string(firstRequest(t, "anthropic", "claude-opus-4-5", Standard, tier))
		for _, name := range []string{"spawn_agent", "send_input", "wait", "close_agent"} {
			if !strings.Contains(body, `"name":"`+name+`"`) {
				t.Errorf("%s: %s is not offered", tier, name)
			}
		}
	}
}

func TestSpecNotes_NameTestsThatExist(t *testing.T) {
	doc, err := os.ReadFile("../docs/spec-notes.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := testNames(t, "..")
	named := regexp.MustCompile(`\bTest[A-Z]\w+`).FindAllString(string(doc), -1)
	if len(named) < 40 {
		t.Errorf("only %d tests are named", len(named))
	}
	for _, name := range named {
		if _, ok := tests[name]; !ok {
			t.Errorf("there is no test %s", name)
		}
	}
	done := 0
	for name, text := range tests {
		if !strings.HasPrefix(text, "// Definition of done, ") {
			continue
		}
		done++
		if !slices.Contains(named, name) {
			t.Errorf("%s is not in a table", name)
		}
	}
	if done < 63 {
		t.Errorf("found %d tests with a number from the definition of done, want 63", done)
	}
	tables := string(doc)[:strings.Index(string(doc), "## Where the specification contradicts itself")]
	rows := 0
	for row := range strings.Lines(tables) {
		if !strings.HasPrefix(row, "| ") || strings.HasPrefix(row, "| requirement") {
			continue
		}
		rows++
		if cells := strings.Split(row, "|"); len(cells) != 5 || !strings.Contains(cells[3], "Test") || strings.TrimSpace(cells[2]) == "" {
			t.Errorf("no place or no test in %q", row)
		}
	}
	if rows < 90 {
		t.Errorf("only %d rows", rows)
	}
}
