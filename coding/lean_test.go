package coding

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// leanSession opens a session in the lean tier whose model plays the turns. The function returns the requests so far.
func leanSession(t *testing.T, c Config, turns ...llmtest.Turn) (*agent.Session, *openRig, func() []*llm.Request) {
	t.Helper()
	g := newOpenRig(t)
	var requests []*llm.Request
	g.model.Reply = func(n int, r *llm.Request) llmtest.Turn {
		requests = append(requests, r)
		if n < len(turns) {
			return turns[n]
		}
		return llmtest.Say("done")
	}
	c.Tier = LeanTier
	return g.open(c), g, func() []*llm.Request { return requests }
}

func offeredNames(r *llm.Request) (names []string) {
	for _, d := range r.Tools {
		names = append(names, d.Name)
	}
	return names
}

func TestLean_OffersFourToolsToEveryFamily(t *testing.T) {
	want := "read_file edit_file write_file shell"
	for _, model := range []string{"gpt-5.5", "claude-opus-5-5", "gemini-3.8-flash", "qwen3-coder"} {
		s, _, requests := leanSession(t, Config{Model: model, Session: agent.Config{Subagents: agent.Subagents{Teams: true}}})
		if _, err := s.Submit(t.Context(), llm.Text{Text: "hi"}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(offeredNames(requests()[0]), " "); got != want {
			t.Errorf("%s: got %s, want %s", model, got, want)
		}
		for _, d := range requests()[0].Tools {
			if d.Freeform != nil {
				t.Errorf("%s: %s is freeform", model, d.Name)
			}
		}
	}
}

// A token has about four bytes.
func TestLean_PromptHasAtMost1000Tokens(t *testing.T) {
	for _, family := range []Family{OpenAIFamily, AnthropicFamily, GeminiFamily, GenericFamily} {
		p := NewProfile(ProfileConfig{Model: "m", Family: family, Tier: LeanTier, Toolset: Native})
		g := newOpenRig(t)
		for _, args := range [][]string{{"init", "-q"}, {"checkout", "-q", "-b", "topic"}} {
			if out, err := exec.Command("git", append([]string{"-C", g.dir}, args...)...).CombinedOutput(); err != nil {
				t.Fatalf("git %v: %v\n%s", args, err, out)
			}
		}
		for i := range 50 {
			if err := os.WriteFile(filepath.Join(g.dir, strings.Repeat("n", i+1)+".go"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		e, err := local.New(local.Config{Dir: g.dir})
		if err != nil {
			t.Fatal(err)
		}
		system, err := p.SystemPrompt(t.Context(), e, PromptConfig{})
		if err != nil {
			t.Fatal(err)
		}
		_ = e.Close()
		if tokens := len(system) / 4; tokens > 1000 {
			t.Errorf("%s: the prompt has about %d tokens, want at most 1000", family, tokens)
		}
		for _, want := range []string{"Git branch: topic", "edit_file", "AGENTS.md", "uncommitted", "is data"} {
			if !strings.Contains(system, want) {
				t.Errorf("%s: the prompt does not mention %q", family, want)
			}
		}
		if strings.Contains(system, "<git_snapshot") || strings.Contains(system, "# Available tools") {
			t.Errorf("%s: the prompt is not brief:\n%s", family, system)
		}
	}
}

// The schemas of the lean tools are parts of those of the standard tools, so that the tools accept what they promise.
func TestLean_SchemasArePartsOfTheStandardSchemas(t *testing.T) {
	type schema struct {
		Properties           map[string]struct{ Type any }
		Required             []string
		AdditionalProperties *bool
	}
	parse := func(raw json.RawMessage) (s schema) {
		if err := json.Unmarshal(raw, &s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	full := tools.New(ToolConfig{})
	for _, short := range leanProfileTools(ToolConfig{}) {
		spec := short.Spec()
		i := slices.IndexFunc(full, func(f tool.Tool) bool { return f.Spec().Name == spec.Name })
		got, want := parse(spec.Input), parse(full[i].Spec().Input)
		for name, p := range got.Properties {
			if w, ok := want.Properties[name]; !ok || w.Type != p.Type {
				t.Errorf("%s: %s has the type %v, want %v", spec.Name, name, p.Type, w.Type)
			}
		}
		if !slices.Equal(got.Required, want.Required) || got.AdditionalProperties == nil || *got.AdditionalProperties {
			t.Errorf("%s: %s", spec.Name, spec.Input)
		}
		standard := full[i].Spec()
		if standard.Limit != spec.Limit || standard.ReadOnly != spec.ReadOnly || standard.Destructive != spec.Destructive ||
			!slices.Equal(standard.Permissions, spec.Permissions) {
			t.Errorf("%s behaves differently", spec.Name)
		}
	}
}

// A session reads, edits, runs and checks like in the other tiers, and can be undone.
func TestLean_SessionEditsRunsAndVerifies(t *testing.T) {
	careful := Config{Model: "qwen3-coder", ToolConfig: ToolConfig{ReadBeforeWrite: true}, Session: agent.Config{Mode: policy.ModeBypass}}
	s, g, requests := leanSession(t, careful,
		llmtest.Call("shell", `{"command":"sh sum.sh"}`),
		llmtest.Call("edit_file", `{"file_path":"sum.sh","old_string":"1 + 1","new_string":"1 + 2"}`),
		llmtest.Call("read_file", `{"file_path":"sum.sh"}`),
		llmtest.Call("edit_file", `{"file_path":"sum.sh","old_string":"1 + 1","new_string":"1 + 2","background":true}`),
		llmtest.Call("edit_file", `{"file_path":"sum.sh","old_string":"1 + 1","new_string":"1 + 2"}`),
		llmtest.Call("Write", `{"file_path":"new.txt","content":"new\n"}`),
		llmtest.Call("shell", `{"command":"sh sum.sh; seq 100000"}`),
		llmtest.Say("3"))
	file := filepath.Join(g.dir, "sum.sh")
	if err := os.WriteFile(file, []byte("echo $((1 + 1))\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Submit(t.Context(), llm.Text{Text: "sum.sh must print 3"}); err != nil {
		t.Fatal(err)
	}
	all := requests()
	var results []llm.ToolResult
	for _, m := range all[len(all)-1].Messages {
		for _, p := range m.Parts {
			if r, ok := p.(llm.ToolResult); ok {
				results = append(results, r)
			}
		}
	}
	for i, want := range []struct {
		text   string
		failed bool
	}{
		{"[exit code 0, under 1 s]\n2", false},
		{"read", true},
		{"1 | echo $((1 + 1))", false},
		{"background", true},
		{"sum.sh", false},
		{"new.txt", false},
		{"\n3\n", false},
	} {
		if i >= len(results) || results[i].IsError != want.failed || !strings.Contains(results[i].Text(), want.text) {
			t.Fatalf("result %d of %d: %+v, want %+v", i, len(results), results[min(i, len(results)-1)], want)
		}
	}
	if long := results[6].Text(); len(long) > 31_000 {
		t.Errorf("the output of a command has %d bytes", len(long))
	}
	if got, _ := os.ReadFile(file); string(got) != "echo $((1 + 2))\n" {
		t.Errorf("sum.sh is %q", got)
	}
	if _, err := s.Undo(t.Context(), agent.Parts{Chat: true, Files: true}); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(file); string(got) != "echo $((1 + 1))\n" {
		t.Errorf("sum.sh is %q after an undo", got)
	}
	if _, err := os.Stat(filepath.Join(g.dir, "new.txt")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("new.txt after an undo: %v", err)
	}
}

func TestLean_PlanModeStillRestricts(t *testing.T) {
	s, g, requests := leanSession(t, Config{Model: "qwen3-coder", Session: agent.Config{Mode: policy.ModePlan}},
		llmtest.Call("write_file", `{"file_path":"a.txt","content":"x"}`))
	if _, err := s.Submit(t.Context(), llm.Text{Text: "hi"}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(g.dir, "a.txt")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file was written in plan mode: %v", err)
	}
	if got := strings.Join(offeredNames(requests()[0]), " "); got != "read_file edit_file write_file shell exit_plan_mode" {
		t.Errorf("the tools are %s", got)
	}
}

// Tools that the user configured are found by searching.
func TestLean_HostToolsAreDeferred(t *testing.T) {
	type in struct{}
	ping := tool.Spec{Name: "mcp__x__ping", Version: "1.0.0", Description: "Ping."}
	own := tool.New(ping, nil, func(context.Context, *tool.Call, in) (tool.Result, error) { return tool.Success("pong"), nil })
	s, _, requests := leanSession(t, Config{Model: "qwen3-coder", Tools: []tool.Tool{own}, Session: agent.Config{Mode: policy.ModeBypass}},
		llmtest.Call("call_tool", `{"name":"mcp__x__ping"}`))
	if _, err := s.Submit(t.Context(), llm.Text{Text: "hi"}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(offeredNames(requests()[0]), " "); got != "read_file edit_file write_file shell tool_search call_tool" {
		t.Errorf("the tools are %s", got)
	}
	last := requests()[1].Messages
	if r, ok := last[len(last)-1].Parts[0].(llm.ToolResult); !ok || r.Text() != "pong" {
		t.Errorf("the result is %+v", last[len(last)-1])
	}
}

func TestLean_HasNoNativeTools(t *testing.T) {
	g := newOpenRig(t)
	_, err := Open(t.Context(), Config{
		Model: "gpt-5.5", Tier: LeanTier, Toolset: Native, Dir: g.dir, State: g.state, Session: agent.Config{Client: g.model},
	})
	if err == nil || !strings.Contains(err.Error(), "the lean tier has only the standard toolset; use the core tier for native tools") {
		t.Errorf("%v", err)
	}
}
