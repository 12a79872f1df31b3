package coding

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding/lang"
	"github.com/reins-agent/reins/coding/native"
	"github.com/reins-agent/reins/coding/patch"
	"github.com/reins-agent/reins/coding/prompt"
	"github.com/reins-agent/reins/coding/tools"
	"github.com/reins-agent/reins/coding/web"
	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/tool"
)

// Profile is how a model is used for coding: its tools, its instructions and its capabilities. It is plain
// data that a host can change before the session starts. Of two tools with the same name the later one is
// used.
//
// The tools of a profile share their background processes, so each session needs its own profile.
type Profile struct {
	Provider string // as in llm.Request
	Model    string
	Family   Family // selects tools and instructions

	DisplayName string // the model's name for people
	Cutoff      string // knowledge cutoff, such as "2026-02"; "" if unknown

	Tools   []tool.Tool
	Aliases []tool.Alias
	// Instructions are the base instructions, the first layer of the system prompt.
	Instructions string
	// DocFiles are the names of project documents to look for in each directory, in order.
	DocFiles []string

	ContextWindow int64 // in tokens
	Reasoning     bool  // supports a reasoning effort
	Streaming     bool  // supports streaming; otherwise set agent.Config.Unary
	ParallelTools bool  // may call several tools at once; otherwise set agent.Config.Serial
	Vision        bool  // accepts images
	Freeform      bool  // accepts tools with text instead of JSON as input

	// Options are sent with every request, by dialect.
	Options map[string]llm.Options

	ToolConfig ToolConfig // of Tools
	Toolset    Toolset    // of Tools
	generated  string     // Instructions as made by NewProfile
}

// ToolConfig configures the coding tools; see package tools.
type ToolConfig = tools.Config

// NewTools makes a set of all standard coding tools. They share their background processes.
func NewTools(c ToolConfig) []tool.Tool { return tools.New(c) }

// NativeAliases returns the names and arguments of the standard tools in the vendors' own agents.
func NativeAliases() []tool.Alias { return tools.Aliases() }

// Toolset is the form of a model's tools.
type Toolset string

// The toolsets.
const (
	Standard Toolset = "standard" // the tools of package tools; the family selects among them
	Native   Toolset = "native"   // the tools of the vendor's own agent: codex, Claude Code or gemini-cli
)

// ParseToolset parses the name of a toolset; "" is Standard.
func ParseToolset(name string) (Toolset, error) {
	switch t := Toolset(name); t {
	case "":
		return Standard, nil
	case Standard, Native:
		return t, nil
	}
	return "", fmt.Errorf("unknown toolset %q: use standard or native", name)
}

// ProfileConfig configures a profile. Only Model is required.
type ProfileConfig struct {
	Provider string
	Model    string
	// Family defaults to that of the model's name, or else of the provider.
	Family Family
	// Toolset defaults to Standard. The generic family has no other.
	Toolset Toolset
	// Tools configures the tools. Zero fields default to those of the family.
	Tools     ToolConfig
	Catalogue *llm.Catalogue // default: llm.DefaultCatalogue()
}

// For returns the default profile of a model.
func For(provider, model string) *Profile {
	return NewProfile(ProfileConfig{Provider: provider, Model: model})
}

// NewProfile makes a profile. It panics if the family or the toolset is unknown.
func NewProfile(c ProfileConfig) *Profile {
	if c.Family == "" {
		c.Family = familyOf(c.Provider, c.Model)
	}
	if !c.Family.Known() {
		panic(fmt.Sprintf("coding: unknown family %q", c.Family))
	}
	var err error
	if c.Toolset, err = ParseToolset(string(c.Toolset)); err != nil {
		panic("coding: " + err.Error())
	}
	if c.Family == GenericFamily {
		c.Toolset = Standard
	}
	if c.Catalogue == nil {
		c.Catalogue = llm.DefaultCatalogue()
	}
	if c.Tools.DefaultTimeout <= 0 {
		c.Tools.DefaultTimeout = c.Family.timeout(c.Toolset)
	}
	p := &Profile{
		Provider: c.Provider, Model: c.Model, Family: c.Family, DocFiles: c.Family.docFiles(),
		Streaming: true, ParallelTools: true, ToolConfig: c.Tools, Toolset: c.Toolset,
	}
	p.describe(c.Catalogue)
	p.Options = p.options(c.Catalogue)
	p.Tools, p.Aliases = p.tools()
	p.generated = p.generate(p.specs())
	p.Instructions = p.generated
	return p
}

// describe fills in the model's capabilities. An unlisted model of one of the three vendors is assumed to
// support reasoning and vision; others are not.
func (p *Profile) describe(catalogue *llm.Catalogue) {
	m, listed := lookup(catalogue, p.Provider, p.Model)
	if !listed {
		vendor := p.Family != GenericFamily && string(p.Family) == p.Provider
		m = llm.Model{Reasoning: vendor, Vision: vendor}
	}
	p.DisplayName, p.Cutoff = cmp.Or(m.Name, p.Model), m.Cutoff
	p.Reasoning, p.Vision = m.Reasoning, m.Vision
	// The server must support freeform tools as well as the model.
	p.Freeform = m.Freeform && m.Provider == p.Provider
	p.ContextWindow = cmp.Or(m.ContextWindow, p.Family.window())
}

// lookup finds a model as served by the provider, or else by another one.
func lookup(c *llm.Catalogue, provider, model string) (llm.Model, bool) {
	if m, ok := c.Lookup(provider, model); ok {
		return m, true
	}
	for _, name := range []string{model, path.Base(model), strings.ToLower(path.Base(model))} {
		if m, ok := c.Lookup("", name); ok {
			return m, true
		}
	}
	return llm.Model{}, false
}

// options returns the provider options. The session sets the effort, and the Anthropic dialect sets its
// cache breakpoints.
func (p *Profile) options(catalogue *llm.Catalogue) map[string]llm.Options {
	body := func(name, value string) map[string]json.RawMessage {
		return map[string]json.RawMessage{name: json.RawMessage(value)}
	}
	m, _ := catalogue.Lookup(p.Provider, p.Model)
	switch {
	case p.Provider == "openai" && m.Freeform && !strings.Contains(m.ID, "codex") && !strings.Contains(m.ID, "-pro"):
		// Models of this generation are verbose by default. The excluded ones do not accept the option.
		return map[string]llm.Options{"openai-responses": {Body: body("text", `{"verbosity":"low"}`)}}
	case p.Provider == "anthropic" && m.Thinking == "budget":
		// Lets the model think between tool calls; adaptive models do so anyway.
		return map[string]llm.Options{"anthropic": {Betas: []string{"interleaved-thinking-2025-05-14"}}}
	case p.Provider == "gemini":
		return map[string]llm.Options{"gemini": {Body: body("safetySettings", safetySettings)}}
	}
	return nil
}

// safetySettings block only content that is harmful with high probability: code and logs about attacks,
// drugs or violence are normal in many projects.
const safetySettings = `[` +
	`{"category":"HARM_CATEGORY_HARASSMENT","threshold":"BLOCK_ONLY_HIGH"},` +
	`{"category":"HARM_CATEGORY_HATE_SPEECH","threshold":"BLOCK_ONLY_HIGH"},` +
	`{"category":"HARM_CATEGORY_SEXUALLY_EXPLICIT","threshold":"BLOCK_ONLY_HIGH"},` +
	`{"category":"HARM_CATEGORY_DANGEROUS_CONTENT","threshold":"BLOCK_ONLY_HIGH"}]`

// tools returns the tools that the model is offered, and their aliases.
func (p *Profile) tools() ([]tool.Tool, []tool.Alias) {
	var freeform *llm.Freeform
	if p.Freeform {
		freeform = &llm.Freeform{Syntax: "lark", Definition: patch.Grammar}
	}
	if p.Toolset == Native {
		t := p.nativeTools(freeform)
		return t.Tools, append(t.Aliases, addedAliases()...)
	}
	all := tools.New(p.ToolConfig)
	var chosen []tool.Tool
	for _, name := range p.Family.tools() {
		t := all[slices.IndexFunc(all, func(t tool.Tool) bool { return t.Spec().Name == name })]
		switch {
		case name == "view_image" && !p.Vision:
			continue
		case name == "apply_patch" && freeform != nil:
			t = freeformPatch(t, freeform)
		}
		chosen = append(chosen, t)
	}
	return chosen, append(tools.Aliases(), addedAliases()...)
}

func (p *Profile) nativeTools(freeform *llm.Freeform) native.Toolset {
	set := tools.NewSet(p.workConfig())
	switch p.Family {
	case OpenAIFamily:
		return native.Codex(set, freeform, p.Vision)
	case AnthropicFamily:
		return native.Claude(set)
	}
	return native.Gemini(set)
}

// addedAliases returns aliases of tools that a session or a host adds.
var addedAliases = sync.OnceValue(func() []tool.Alias {
	claude := map[string]string{
		"prompt": "task", "subagent_type": "agent_type", "description": "", "run_in_background": "",
		"effort": "", "team_name": "", "mode": "",
	}
	own := []tool.Alias{
		{Name: "Agent", Tool: "spawn_agent", Params: claude},
		{Name: "Task", Tool: "spawn_agent", Params: claude},
		{Name: "invoke_agent", Tool: "spawn_agent", Params: map[string]string{"agent_name": "agent_type", "prompt": "task"}},
		{Name: "AskUserQuestion", Tool: agent.AskUser},
		{Name: "request_user_input", Tool: agent.AskUser},
		{Name: "EnterPlanMode", Tool: "enter_plan_mode"},
		{Name: "ExitPlanMode", Tool: "exit_plan_mode"},
		{Name: "TodoWrite", Tool: "todo_write"},
		{Name: "write_todos", Tool: "todo_write"},
		{Name: "Config", Tool: "config", Params: map[string]string{"setting": "key"}},
		{Name: "NotebookEdit", Tool: "notebook_edit"},
		{Name: "EnterWorktree", Tool: "enter_worktree"},
		{Name: "ExitWorktree", Tool: "exit_worktree", Params: map[string]string{"discard_changes": ""}},
		{Name: "CronCreate", Tool: "cron_create", Params: map[string]string{"cron": "schedule", "durable": ""}},
		{Name: "CronList", Tool: "cron_list"},
		{Name: "CronDelete", Tool: "cron_delete"},
		{Name: "RemoteTrigger", Tool: "remote_trigger"},
		{Name: "TaskCreate", Tool: "task_create", Params: map[string]string{"activeForm": ""}},
		{Name: "TaskGet", Tool: "task_get", Params: map[string]string{"taskId": "task_id"}},
		{Name: "TaskList", Tool: "task_list"},
		{Name: "TaskUpdate", Tool: "task_update", Params: map[string]string{"taskId": "task_id", "activeForm": ""}},
		{Name: "TeamCreate", Tool: "team_create", Params: map[string]string{"team_name": "name", "description": ""}},
		{Name: "TeamDelete", Tool: "team_delete", Params: map[string]string{"team_name": "name"}},
		{Name: "SendMessage", Tool: "send_message", Params: map[string]string{"recipient": "to", "content": "message", "summary": ""}},
	}
	return slices.Concat(own, web.Aliases(), lang.Aliases())
})

// freeformPatch offers apply_patch as a freeform tool.
func freeformPatch(t tool.Tool, freeform *llm.Freeform) tool.Tool {
	spec := t.Spec()
	spec.Description += " " + tools.FreeformNote
	spec.Freeform = freeform
	return described{t, spec}
}

// described is a tool with another spec.
type described struct {
	tool.Tool
	spec tool.Spec
}

func (d described) Spec() tool.Spec { return d.spec }

func (d described) Unwrap() tool.Tool { return d.Tool }

// Registry returns a registry with the tools and aliases of the profile.
func (p *Profile) Registry() (*tool.Registry, error) {
	r := &tool.Registry{}
	if err := r.Register(p.Tools...); err != nil {
		return nil, err
	}
	r.Alias(p.Aliases...)
	return r, nil
}

// PromptConfig configures a system prompt; see package prompt.
type PromptConfig = prompt.Config

// SystemPrompt returns the system prompt for the profile; see [prompt.Base.Build].
func (p *Profile) SystemPrompt(ctx context.Context, e env.Environment, c PromptConfig) (string, error) {
	if c.Tools == nil {
		c.Tools = p.specs()
	}
	return p.base(c.Tools).Build(ctx, e, c)
}

// base returns the part of a system prompt that depends on the model.
func (p *Profile) base(offered []tool.Spec) prompt.Base {
	return prompt.Base{Instructions: p.instructions(offered), Model: p.DisplayName, Cutoff: p.Cutoff, DocFiles: p.DocFiles}
}

// instructions returns the base instructions for a model that is offered these tools. Instructions that
// the host changed are kept.
func (p *Profile) instructions(offered []tool.Spec) string {
	if p.generated == "" || p.Instructions != p.generated {
		return strings.TrimSpace(p.Instructions)
	}
	return p.generate(offered)
}

func (p *Profile) generate(offered []tool.Spec) string {
	w := p.Family.wording(p.Toolset)
	w.Freeform, w.Timeout = p.Freeform, inWords(p.ToolConfig.WithDefaults().DefaultTimeout)
	return prompt.Instructions(string(p.Family), w, offered)
}

// specs returns the specs of the tools. A later tool replaces an earlier one with the same name.
func (p *Profile) specs() []tool.Spec {
	var specs []tool.Spec
	for _, t := range p.Tools {
		spec := t.Spec()
		i := slices.IndexFunc(specs, func(s tool.Spec) bool { return s.Name == spec.Name })
		if i < 0 {
			specs = append(specs, spec)
		} else {
			specs[i] = spec
		}
	}
	return specs
}

func inWords(d time.Duration) string {
	if d >= time.Minute && d%time.Minute == 0 {
		return tools.Plural(int(d/time.Minute), "minute")
	}
	return tools.Plural(int(d.Round(time.Second)/time.Second), "second")
}
