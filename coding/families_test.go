package coding

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// One session changes from family to family and back. Each model gets the tools and the prompt of its
// family, and every request is valid for the strict server of its provider.
func TestOpen_SessionChangesFamilyWithToolsAndPromptAndBack(t *testing.T) {
	families := []struct {
		provider, model string
		edits           map[Toolset]string // the tool by which the family edits
	}{
		{"openai", "gpt-5.2", map[Toolset]string{Standard: "apply_patch", Native: "apply_patch"}},
		{"anthropic", "claude-opus-4-6", map[Toolset]string{Standard: "edit_file", Native: "Edit"}},
		{"gemini", "gemini-3-pro-preview", map[Toolset]string{Standard: "edit_file", Native: "replace"}},
	}
	for _, set := range []Toolset{Standard, Native} {
		t.Run(string(set), func(t *testing.T) {
			var requests []*llm.Request
			server := llmtest.NewServer(&llmtest.Script{Reply: func(n int, r *llm.Request) llmtest.Turn {
				requests = append(requests, r)
				if last := r.Messages[len(r.Messages)-1]; last.Role == llm.RoleTool {
					return llmtest.Say("Done.")
				}
				return llmtest.Call("extra", fmt.Sprintf(`{"text":"%d"}`, n))
			}})
			defer server.Close()
			vars := map[string]string{"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k", "GEMINI_API_KEY": "k", "REINS_HOME": t.TempDir()}
			for _, f := range families {
				vars[strings.ToUpper(f.provider)+"_BASE_URL"] = server.BaseURL(f.provider)
			}
			c := Config{Provider: "openai", Model: "gpt-5.2", Dir: t.TempDir(), Toolset: set, Session: agent.Config{Policy: policy.AllowAll{}}}
			c.Connect.Getenv = func(name string) string { return vars[name] }
			s, err := Open(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			extra := tool.New(tool.Spec{Name: "extra", Description: "More."}, tool.Nothing, func(_ context.Context, _ *tool.Call, in struct {
				Text string `json:"text"`
			}) (tool.Result, error) {
				return tool.Success("%s", in.Text), nil
			})
			if err := s.Reconfigure(t.Context(), agent.Change{Add: []tool.Tool{extra}}); err != nil {
				t.Fatal(err)
			}
			prompts := map[string]string{}
			for _, i := range []int{0, 1, 2, 1, 0} {
				f := families[i]
				if err := s.SetModel(f.provider, f.model); err != nil {
					t.Fatal(err)
				}
				if out, err := s.Submit(t.Context(), llm.Text{Text: "go"}); err != nil || out.Text != "Done." {
					t.Fatalf("%s: %+v, %v", f.provider, out, err)
				}
				r := requests[len(requests)-1]
				names := toolNames(r)
				for j, g := range families {
					if edits := g.edits[set]; slices.Contains(names, edits) != (edits == f.edits[set]) {
						t.Errorf("%s after %d: %s of %s in %v", f.provider, i, edits, families[j].provider, names)
					}
				}
				if !slices.Contains(names, "extra") {
					t.Errorf("%s: the tool that was added is gone: %v", f.provider, names)
				}
				instructions, _, _ := strings.Cut(r.Messages[0].Text(), "\n")
				if was, seen := prompts[f.provider]; seen && was != instructions {
					t.Errorf("%s: the prompt is another one's: %.200s", f.provider, instructions)
				}
				prompts[f.provider] = instructions
			}
			if prompts["openai"] == prompts["anthropic"] || prompts["anthropic"] == prompts["gemini"] || prompts["openai"] == prompts["gemini"] {
				t.Errorf("families share their instructions: %q", prompts)
			}
			if err := s.Reconfigure(t.Context(), agent.Change{Remove: []string{"extra"}}); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Submit(t.Context(), llm.Text{Text: "again"}); err != nil {
				t.Fatal(err)
			}
			if names := toolNames(requests[len(requests)-1]); slices.Contains(names, "extra") {
				t.Errorf("the tool that was removed is there: %v", names)
			}
			for _, v := range server.Violations() {
				t.Errorf("the API would refuse: %v", v)
			}
			changes := 0
			for r := range s.Events(t.Context(), 0) {
				if _, ok := r.Data.(event.Settings); ok {
					changes++
				}
				if r.Seq == s.Last() {
					break
				}
			}
			if changes != 6 { // one for each change: two of tools, four of the model
				t.Errorf("%d changes are recorded", changes)
			}
		})
	}
}
