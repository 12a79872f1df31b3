package coding

import (
	_ "embed"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/tool"
)

// Profile is how a model is best put to work on code: the tools that it was trained with, the
// instructions that go with them, and what it can do. It is plain data. A host changes what it
// likes before the session begins; tools that it appends win over those of the same name.
//
// The tools of a profile share their background processes, so each session has a profile of its
// own.
type Profile struct {
	Provider string // who serves the model, as in llm.Request
	Model    string
	Family   Family // whose agent the tools and instructions are made after

	DisplayName string // the model's name for people
	Cutoff      string // its knowledge cutoff, such as "2026-02"; "" is not known

	Tools   []tool.Tool
	Aliases []tool.Alias
	// Instructions are the base instructions, the first layer of the system prompt.
	Instructions string
	// DocFiles are the project documents that are looked for in each directory, in this order.
	DocFiles []string

	ContextWindow int64 // in tokens
	Reasoning     bool  // its effort can be set
	Streaming     bool  // answers can be streamed; if not, agent.Config.Unary must be set
	ParallelTools bool  // may call several tools in one answer; if not, agent.Config.Serial must be set
	Vision        bool  // can look at images
	Freeform      bool  // takes tools whose input is text instead of JSON

	// Options go with every request, by dialect.
	Options map[string]llm.Options

	ToolConfig ToolConfig // what the tools were made with
	Toolset    Toolset    // of Tools
	generated  string     // Instructions as NewProfile wrote them
}

// Toolset says in which form a model gets its tools.
type Toolset string

// The toolsets. A native one has the names, parameters, forms of output and limits of the vendor's own
// agent: codex, Claude Code or gemini-cli.
const (
	Standard Toolset = "standard" // the same tools for every model, with those that suit its family
	Native   Toolset = "native"
)

// ParseToolset reads the name of a toolset; "" is Standard.
func ParseToolset(name string) (Toolset, error) {
	switch t := Toolset(name); t {
	case "":
		return Standard, nil
	case Standard, Native:
		return t, nil
	}
	return "", fmt.Errorf("unknown toolset %q: use standard or native", name)
}

// ProfileConfig says what profile to make. Only Model is needed.
type ProfileConfig struct {
	Provider string
	Model    string
	// Family is found from the model's name and the provider when it is "".
	Family Family
	// Toolset is Standard if it is "". The generic family has no agent of its own, and so no other.
	Toolset Toolset
	// Tools sets up the tools. Its zero fields are the family's defaults.
	Tools     ToolConfig
	Catalogue *llm.Catalogue // nil is llm.DefaultCatalogue()
}

// OpenAI is the profile of an OpenAI model.
func OpenAI(model string) *Profile {
	return NewProfile(ProfileConfig{Provider: "openai", Model: model, Family: OpenAIFamily})
}

// Anthropic is the profile of an Anthropic model.
func Anthropic(model string) *Profile {
	return NewProfile(ProfileConfig{Provider: "anthropic", Model: model, Family: AnthropicFamily})
}

// Gemini is the profile of a Google model.
func Gemini(model string) *Profile {
	return NewProfile(ProfileConfig{Provider: "gemini", Model: model, Family: GeminiFamily})
}

// For is the profile of any model, whoever serves it. [FamilyOf] chooses its family.
func For(provider, model string) *Profile {
	return NewProfile(ProfileConfig{Provider: provider, Model: model})
}

// NewProfile makes a profile. It panics if the family or the toolset is none of the constants, which is a
// mistake in the program.
func NewProfile(c ProfileConfig) *Profile {
	if c.Family == "" {
		c.Family = FamilyOf(c.Provider, c.Model)
	}
	if c.Family.tools() == nil {
		panic(fmt.Sprintf("coding: there is no family %q of models", c.Family))
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
	p.generated = p.instructions(p.specs())
	p.Instructions = p.generated
	return p
}

// tools are those that the model is offered, and other names of them.
func (p *Profile) tools() ([]tool.Tool, []tool.Alias) {
	var freeform *llm.Freeform
	if p.Freeform {
		freeform = &llm.Freeform{Syntax: "lark", Definition: patchGrammar}
	}
	if p.Toolset == Native {
		t := nativeTools(p.ToolConfig, p.Family, freeform, p.Vision)
		return t.Tools, append(t.Aliases, subagentAliases()...)
	}
	all := NewTools(p.ToolConfig)
	var tools []tool.Tool
	for _, name := range p.Family.tools() {
		t := all[slices.IndexFunc(all, func(t tool.Tool) bool { return t.Spec().Name == name })]
		switch {
		case name == "view_image" && !p.Vision:
			continue
		case name == "apply_patch" && freeform != nil:
			t = freeformPatch(t, freeform)
		}
		tools = append(tools, t)
	}
	return tools, append(NativeAliases(), subagentAliases()...)
}

// subagentAliases lead to the tools for subagents, which a session adds.
var subagentAliases = sync.OnceValue(func() []tool.Alias {
	claude := map[string]string{
		"prompt": "task", "subagent_type": "agent_type", "description": "", "run_in_background": "",
		"effort": "", "name": "", "isolation": "", "team_name": "", "mode": "",
	}
	return []tool.Alias{
		{Name: "Agent", Tool: "spawn_agent", Params: claude},
		{Name: "Task", Tool: "spawn_agent", Params: claude},
		{Name: "invoke_agent", Tool: "spawn_agent", Params: map[string]string{"agent_name": "agent_type", "prompt": "task"}},
	}
})

//go:embed instructions/apply_patch.lark
var patchGrammar string

// freeformPatch offers apply_patch as a tool that takes the patch itself, not JSON around it.
func freeformPatch(t tool.Tool, freeform *llm.Freeform) tool.Tool {
	spec := t.Spec()
	spec.Description += " The input is the patch itself, as plain text; do not wrap it in JSON."
	spec.Freeform = freeform
	return described{t, spec}
}

// described is a tool under another description.
type described struct {
	tool.Tool
	spec tool.Spec
}

func (d described) Spec() tool.Spec { return d.spec }

func (d described) Unwrap() tool.Tool { return d.Tool }

// Registry holds the tools of the profile. Of two tools with one name the later wins.
func (p *Profile) Registry() (*tool.Registry, error) {
	r := &tool.Registry{}
	if err := r.Register(p.Tools...); err != nil {
		return nil, err
	}
	r.Alias(p.Aliases...)
	return r, nil
}

// ProfileTools lists the standard tools that the models of a family ("openai", "anthropic", "gemini" or
// "generic") are offered; view_image only those that can look at images.
func ProfileTools(family string) ([]string, bool) {
	f := Family(family)
	names := f.tools()
	return names, names != nil
}

// tools are the names of the family's standard tools, in their order.
func (f Family) tools() []string {
	var names []string
	switch f {
	case OpenAIFamily:
		names = []string{"read_file", "apply_patch", "write_file", "shell", "grep", "glob"}
	case AnthropicFamily:
		names = []string{"read_file", "write_file", "edit_file", "shell", "grep", "glob"}
	case GeminiFamily:
		names = []string{"read_file", "read_many_files", "write_file", "edit_file", "shell", "grep", "glob", "list_dir"}
	case GenericFamily:
		names = []string{"read_file", "write_file", "edit_file", "shell", "grep", "glob", "list_dir"}
	default:
		return nil
	}
	return append(names, "delete_file", "view_image", "shell_output", "shell_input", "shell_stop", "update_plan")
}

// timeout is the default command timeout. The native one of gemini-cli counts from the last output.
func (f Family) timeout(t Toolset) time.Duration {
	switch {
	case f == GeminiFamily && t == Native:
		return 5 * time.Minute
	case f == OpenAIFamily, f == GeminiFamily:
		return DefaultTimeout
	}
	return 2 * time.Minute
}

// docFiles are the project documents of the family. AGENTS.md is everybody's.
func (f Family) docFiles() []string {
	switch f {
	case OpenAIFamily:
		return []string{"AGENTS.md", ".codex/instructions.md"}
	case AnthropicFamily:
		return []string{"AGENTS.md", "CLAUDE.md"}
	case GeminiFamily:
		return []string{"AGENTS.md", "GEMINI.md"}
	}
	return []string{"AGENTS.md"}
}
