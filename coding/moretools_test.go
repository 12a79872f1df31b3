package coding

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

func TestMoreTools_EveryProfileHasTheToolsThatItCanUse(t *testing.T) {
	every := "notebook_edit sleep monitor codebase_search"
	for _, c := range []struct {
		model   string
		toolset Toolset
		want    string
	}{
		{"gpt-5.2", Standard, every}, {"claude-opus-5", Standard, every}, {"gemini-3.8-flash", Standard, every},
		{"unheard-of", Standard, every}, // without vision
		{"gpt-5.2", Native, "delete_file " + every}, {"claude-opus-5", Native, "delete_file view_image " + every},
		{"gemini-3.8-flash", Native, "delete_file view_image " + every},
	} {
		p := NewProfile(ProfileConfig{Model: c.model, Toolset: c.toolset})
		var got []string
		for _, tl := range (&builder{}).moreTools(p) {
			s := tl.Spec()
			got = append(got, s.Name)
			if TierOf(s.Name) == CoreTier {
				t.Errorf("%s is a core tool", s.Name)
			}
			if size := tool.DefinitionSize([]tool.Tool{tl}); size > 900 {
				t.Errorf("the definition of %s has %d bytes", s.Name, size)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s %s: got %v, want %s", c.model, c.toolset, got, c.want)
		}
	}
}

// codex reads files with commands, so its files need not be read with a tool before they are deleted.
func TestMoreTools_WorkInTheNativeToolsets(t *testing.T) {
	for model, read := range map[string]string{"gpt-5.2": "", "claude-opus-5": "Read"} {
		g := newOpenRig(t)
		for _, name := range []string{"a.txt", "b.txt"} {
			if err := os.WriteFile(filepath.Join(g.dir, name), []byte("x"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		turns := []llmtest.Turn{llmtest.Call("call_tool", `{"name":"delete_file","arguments":{"path":"a.txt"}}`), llmtest.Say("ok")}
		if read != "" {
			turns = append([]llmtest.Turn{llmtest.Call(read, `{"file_path":"a.txt"}`)}, turns...)
		}
		g.model = llmtest.Play(turns...)
		s := g.open(Config{Model: model, Toolset: Native, ToolConfig: ToolConfig{ReadBeforeWrite: true}, Session: agent.Config{Policy: policy.AllowAll{}}})
		g.ask(s)
		if _, err := os.Stat(filepath.Join(g.dir, "a.txt")); !os.IsNotExist(err) {
			t.Errorf("%s: the file is still there: %v", model, s.Messages())
		}
	}
}
