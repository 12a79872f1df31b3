//go:build unix

package coding_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

func toolNames(t *testing.T, p *coding.Profile) []string {
	t.Helper()
	r, err := p.Registry()
	if err != nil {
		t.Fatal(err)
	}
	return r.Names()
}

func specOf(t *testing.T, p *coding.Profile, name string) tool.Spec {
	t.Helper()
	r, err := p.Registry()
	if err != nil {
		t.Fatal(err)
	}
	spec, ok := r.Spec(name)
	if !ok {
		t.Fatalf("no tool %s in %v", name, r.Names())
	}
	return spec
}

// profiles returns a profile for each family, with a real model.
func profiles() map[string]*coding.Profile {
	return map[string]*coding.Profile{
		"openai":    model("gpt-5.5"),
		"anthropic": model("claude-opus-4-6"),
		"gemini":    model("gemini-3-flash-preview"),
		"generic":   coding.For("ollama", "qwen3-coder:30b"),
	}
}

// everyTool lists the tools at the end of every profile.
var everyTool = []string{"delete_file", "view_image", "shell_output", "shell_input", "shell_stop", "update_plan"}

// nativeForm returns the profile with native tools.
func nativeForm(p *coding.Profile) *coding.Profile {
	return coding.NewProfile(coding.ProfileConfig{Provider: p.Provider, Model: p.Model, Family: p.Family, Toolset: coding.Native})
}

// Definition of done, 9.2.
func TestProfile_OpenAIHasCodexToolsIncludingApplyPatch(t *testing.T) {
	p := model("gpt-5.5")
	want := append([]string{"read_file", "apply_patch", "write_file", "shell", "grep", "glob"}, everyTool...)
	if got := toolNames(t, p); !slices.Equal(got, want) {
		t.Errorf("got tools %v, want %v", got, want)
	}
	if p.ToolConfig.DefaultTimeout != 10*time.Second {
		t.Errorf("got command timeout %v, want 10s", p.ToolConfig.DefaultTimeout)
	}
	r := newRig(t, p)
	r.write("main.py", "def main():\n    return 0\n")
	r.ok("apply_patch", args{"patch": "*** Begin Patch\n*** Update File: main.py\n@@ def main():\n-    return 0\n+    return 1\n*** Add File: new.py\n+x = 1\n*** End Patch\n"})
	if got := r.read("main.py") + r.read("new.py"); got != "def main():\n    return 1\nx = 1\n" {
		t.Errorf("the patch made %q", got)
	}
}

// Definition of done, 9.2.
func TestProfile_AnthropicHasClaudeCodeToolsIncludingEditFile(t *testing.T) {
	p := model("claude-opus-4-6")
	want := append([]string{"read_file", "write_file", "edit_file", "shell", "grep", "glob"}, everyTool...)
	if got := toolNames(t, p); !slices.Equal(got, want) {
		t.Errorf("got tools %v, want %v", got, want)
	}
	if p.ToolConfig.DefaultTimeout != 120*time.Second {
		t.Errorf("got command timeout %v, want 120s", p.ToolConfig.DefaultTimeout)
	}
	r := newRig(t, p)
	r.write("a.txt", "one two one\n")
	if out := r.run("edit_file", args{"file_path": "a.txt", "old_string": "one", "new_string": "1"}); out.OK() || out.Result.Error.Code != tool.EditConflict {
		t.Errorf("an ambiguous edit gave %+v, want EditConflict", out.Result)
	}
	r.ok("edit_file", args{"file_path": "a.txt", "old_string": "two", "new_string": "2"})
	if got := r.read("a.txt"); got != "one 2 one\n" {
		t.Errorf("the edit made %q", got)
	}
}

// Definition of done, 9.2.
func TestProfile_GeminiHasGeminiCLITools(t *testing.T) {
	p := model("gemini-3-flash-preview")
	want := append([]string{"read_file", "read_many_files", "write_file", "edit_file", "shell", "grep", "glob", "list_dir"}, everyTool...)
	if got := toolNames(t, p); !slices.Equal(got, want) {
		t.Errorf("got tools %v, want %v", got, want)
	}
	if p.ToolConfig.DefaultTimeout != 10*time.Second {
		t.Errorf("got command timeout %v, want 10s", p.ToolConfig.DefaultTimeout)
	}
}

// Definition of done, 9.2.
func TestProfile_SystemPromptIsProviderSpecific(t *testing.T) {
	identity := []string{"You are a coding agent"}
	guidance := []string{"is data|whoever wrote them", "test", "git reset --hard", "file:|:42|line_number", "Commit|commit"}
	for family, says := range map[string][]string{
		"openai":    {"*** Begin Patch", "*** Update File:", "apply_patch", "@@", "AGENTS.md"},
		"anthropic": {"old_string", "only once", "edit_file", "CLAUDE.md", "replace_all", "Prefer editing existing files"},
		"gemini":    {"GEMINI.md", "edit_file", "old_string", "read_many_files", "list_dir"},
		"generic":   {"old_string", "exactly once", "edit_file"},
	} {
		text := profiles()[family].Instructions
		if len(text) < 4_000 || len(text) > 9_500 {
			t.Errorf("%s: the instructions have %d bytes", family, len(text))
		}
		for _, want := range slices.Concat(identity, guidance, says) {
			if !slices.ContainsFunc(strings.Split(want, "|"), func(w string) bool { return strings.Contains(text, w) }) {
				t.Errorf("%s: the instructions do not speak of %q", family, want)
			}
		}
		if strings.Contains(text, "{{") || strings.Contains(text, "no value") || strings.Contains(text, "  - ") && strings.Contains(text, "- ,") {
			t.Errorf("%s: the instructions are not filled in:\n%s", family, text)
		}
	}
}

// Definition of done, 9.2.
func TestProfile_CustomToolsCanBeAddedToAny(t *testing.T) {
	type in struct {
		Filter string `json:"filter,omitempty"`
	}
	custom := tool.New(tool.Spec{Name: "run_tests", Description: "Run the project's test suite."}, nil,
		func(context.Context, *tool.Call, in) (tool.Result, error) { return tool.Success("3 passed"), nil })
	for family, p := range profiles() {
		for form, p := range map[string]*coding.Profile{"": p, "native ": nativeForm(p)} {
			p.Tools = append(p.Tools, custom)
			r := newRig(t, p)
			if got := r.ok("run_tests", args{"filter": "x"}); got != "3 passed" {
				t.Errorf("%s%s: the custom tool gives %q", form, family, got)
			}
		}
	}
}

// Definition of done, 9.2.
func TestProfile_CustomToolWinsNameCollisions(t *testing.T) {
	custom := tool.New(tool.Spec{Name: "shell", Description: "Runs nothing."}, nil,
		func(context.Context, *tool.Call, struct{}) (tool.Result, error) { return tool.Success("mine"), nil })
	for family, p := range profiles() {
		before := toolNames(t, p)
		p.Tools = append(p.Tools, custom)
		if got := toolNames(t, p); !slices.Equal(got, before) {
			t.Errorf("%s: overriding a tool changed the list to %v", family, got)
		}
		if got := specOf(t, p, "shell").Description; got != "Runs nothing." {
			t.Errorf("%s: got description %q, want that of the custom tool", family, got)
		}
	}
}

func TestProfile_FreeformModelsGetApplyPatchAsAFreeformTool(t *testing.T) {
	for _, c := range []struct {
		provider, model string
		freeform        bool
	}{
		{"openai", "gpt-5.5", true},
		{"openai", "gpt-6.1-sol", true},
		{"openai", "gpt-4.1", false},
		{"openai", "o3", false},
		{"openai", "gpt-99-unheard-of", false},
		{"openrouter", "openai/gpt-5.6-sol", false},
		{"groq", "openai/gpt-oss-120b", false},
	} {
		p := coding.For(c.provider, c.model)
		r, err := p.Registry()
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(r.Definitions(), func(d llm.ToolDef) bool { return d.Name == "apply_patch" })
		if i < 0 {
			t.Errorf("%s/%s has no apply_patch", c.provider, c.model)
			continue
		}
		def := r.Definitions()[i]
		if got := def.Freeform != nil; got != c.freeform || p.Freeform != c.freeform {
			t.Errorf("%s/%s: freeform is %v", c.provider, c.model, got)
		}
		if c.freeform {
			if def.Freeform.Syntax != "lark" || !strings.Contains(def.Freeform.Definition, "start:") {
				t.Errorf("%s/%s: the grammar is %+v", c.provider, c.model, def.Freeform)
			}
			got := string(r.Arguments(llm.ToolCall{Name: "apply_patch", Arguments: "*** Begin Patch", Custom: true}))
			if got != `{"patch":"*** Begin Patch"}` {
				t.Errorf("the text arrives as %s", got)
			}
		}
	}
}

func TestFor_FindsTheFamilyByModelThenByProvider(t *testing.T) {
	for _, c := range []struct {
		provider, model string
		want            coding.Family
	}{
		{"openai", "gpt-5.5", coding.OpenAIFamily},
		{"openai", "o4-mini", coding.OpenAIFamily},
		{"openai", "ft:gpt-4.1:acme::1", coding.OpenAIFamily},
		{"openai", "brand-new-name", coding.OpenAIFamily},
		{"openai", "qwen3-coder", coding.GenericFamily},
		{"anthropic", "claude-sonnet-5-5", coding.AnthropicFamily},
		{"bedrock", "us.anthropic.claude-opus-4-6-v1:0", coding.AnthropicFamily},
		{"openrouter", "anthropic/claude-opus-5.5", coding.AnthropicFamily},
		{"openrouter", "google/gemini-3.8-flash", coding.GeminiFamily},
		{"gemini", "gemma-4-31b-it", coding.GeminiFamily},
		{"openrouter", "openai/gpt-oss-20b", coding.OpenAIFamily},
		{"ollama", "gpt-oss:20b", coding.OpenAIFamily},
		{"deepseek", "deepseek-v4-pro", coding.GenericFamily},
		{"zai", "glm-5.3", coding.GenericFamily},
		{"moonshot", "kimi-k3", coding.GenericFamily},
		{"mistral", "devstral-2512", coding.GenericFamily},
		{"mistral", "pixtral-12b", coding.GenericFamily},
		{"groq", "llama-3.3-70b-versatile", coding.GenericFamily},
		{"xai", "grok-4.7", coding.GenericFamily},
		{"minimax", "MiniMax-M3", coding.GenericFamily},
		{"local", "", coding.GenericFamily},
	} {
		if p := coding.For(c.provider, c.model); p.Family != c.want || p.Provider != c.provider || p.Model != c.model {
			t.Errorf("the profile of %s %q is of %s %q, family %s", c.provider, c.model, p.Provider, p.Model, p.Family)
		}
	}
}

func TestProfile_EveryListedModelHasAUsableProfile(t *testing.T) {
	for _, m := range llm.DefaultCatalogue().Models() {
		p := coding.For(m.Provider, m.ID)
		if p.ContextWindow <= 0 || p.DisplayName == "" || len(p.Tools) == 0 || p.Instructions == "" {
			t.Errorf("%s %s: %d tokens, %q, %d tools", m.Provider, m.ID, p.ContextWindow, p.DisplayName, len(p.Tools))
		}
		if p.Reasoning != m.Reasoning || p.Vision != m.Vision || p.Freeform != m.Freeform {
			t.Errorf("%s %s: its flags differ from the catalogue's", m.Provider, m.ID)
		}
	}
}

func TestProfile_UnknownModelsGetTheUsualOfTheirFamily(t *testing.T) {
	for _, c := range []struct {
		p         *coding.Profile
		window    int64
		reasoning bool
	}{
		{model("claude-of-tomorrow"), 200_000, true},
		{model("gemini-of-tomorrow"), 1_048_576, true},
		{model("gpt-of-tomorrow"), 131_072, true},
		{coding.For("ollama", "someones-model"), 131_072, false},
	} {
		if c.p.ContextWindow != c.window || c.p.Reasoning != c.reasoning || !c.p.Streaming || !c.p.ParallelTools {
			t.Errorf("%s: %+v", c.p.Model, c.p)
		}
	}
}

func TestProfile_ProviderOptions(t *testing.T) {
	if o := model("gpt-5.5").Options["openai-responses"]; string(o.Body["text"]) != `{"verbosity":"low"}` {
		t.Errorf("openai: %s", o.Body["text"])
	}
	if o := model("gpt-5.2-codex").Options; o != nil {
		t.Errorf("a codex model takes no verbosity, and gets %v", o)
	}
	if o := model("claude-sonnet-4-5").Options["anthropic"]; len(o.Betas) != 1 {
		t.Errorf("anthropic: %v", o.Betas)
	}
	if o := model("claude-opus-5").Options; o != nil {
		t.Errorf("an adaptive model needs no beta, and gets %v", o)
	}
	var settings []struct{ Category, Threshold string }
	if err := json.Unmarshal(model("gemini-3.8-flash").Options["gemini"].Body["safetySettings"], &settings); err != nil || len(settings) != 4 {
		t.Errorf("gemini: %v, %v", settings, err)
	}
}

func TestProfile_HostsTimeoutWinsOverTheFamilys(t *testing.T) {
	p := coding.NewProfile(coding.ProfileConfig{Provider: "anthropic", Model: "claude-opus-5", Tools: coding.ToolConfig{DefaultTimeout: 7 * time.Second}})
	if got := specOf(t, p, "shell").Description; !strings.Contains(got, "7000") {
		t.Errorf("the shell says %q", got)
	}
	if !strings.Contains(p.Instructions, "7 seconds") {
		t.Error("the instructions do not say how long commands run")
	}
}

func TestNewProfile_UnknownFamilyIsAMistakeInTheProgram(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("it did not panic")
		}
	}()
	coding.NewProfile(coding.ProfileConfig{Model: "m", Family: "none"})
}

func TestProfile_FreeformPatchHasAPreview(t *testing.T) {
	r := newRig(t, model("gpt-5.2"))
	r.pipe.Policy = policy.Func(func(context.Context, policy.Query) policy.Decision {
		return policy.Decision{Verdict: policy.Ask, Rule: "test"}
	})
	var p tool.Preview
	r.pipe.Approve = func(ctx context.Context, req tool.Request) (tool.Approval, error) {
		var err error
		if req.Spec.Freeform == nil {
			t.Error("apply_patch is not freeform")
		}
		p, _, err = req.Preview(ctx)
		return tool.Approval{}, err
	}
	r.run("apply_patch", args{"patch": "*** Begin Patch\n*** Add File: new\n+x\n*** End Patch"})
	if len(p.Changes) != 1 || string(p.Changes[0].After) != "x\n" {
		t.Errorf("got preview %+v, want the new file", p)
	}
}

// A model may take less input than fits into its window, because the answer needs a part of it.
func TestProfile_WindowIsWhatTheModelTakes(t *testing.T) {
	for _, c := range []struct{ window, input, want int64 }{
		{400_000, 272_000, 272_000}, {400_000, 0, 400_000}, {100_000, 272_000, 100_000}, {0, 272_000, 272_000}, {0, 0, 131_072},
	} {
		catalogue, err := llm.NewCatalogue([]llm.Model{{ID: "m", Provider: "chat", ContextWindow: c.window, Rules: llm.Rules{MaxInput: c.input}}})
		if err != nil {
			t.Fatal(err)
		}
		if p := coding.NewProfile(coding.ProfileConfig{Provider: "chat", Model: "m", Catalogue: catalogue}); p.ContextWindow != c.want {
			t.Errorf("%+v: the window is %d", c, p.ContextWindow)
		}
	}
}
