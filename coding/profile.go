package coding

import (
	_ "embed"
	"fmt"
	"slices"
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
	Streaming     bool
	ParallelTools bool // may call several tools in one answer
	Vision        bool // can look at images
	Freeform      bool // takes tools whose input is text instead of JSON

	// Options go with every request, by dialect.
	Options map[string]llm.Options

	ToolConfig ToolConfig // what the tools were made with
	native     bool
	all        []tool.Tool // the whole set that Tools was chosen from
}

// ProfileConfig says what profile to make. Only Model is needed.
type ProfileConfig struct {
	Provider string
	Model    string
	// Family is found from the model's name and the provider when it is "".
	Family Family
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

// NewProfile makes a profile. It panics if the family is none of the constants, which is a mistake
// in the program.
func NewProfile(c ProfileConfig) *Profile {
	if c.Family == "" {
		c.Family = FamilyOf(c.Provider, c.Model)
	}
	if c.Family.tools() == nil {
		panic(fmt.Sprintf("coding: there is no family %q of models", c.Family))
	}
	if c.Catalogue == nil {
		c.Catalogue = llm.DefaultCatalogue()
	}
	if c.Tools.DefaultTimeout <= 0 {
		c.Tools.DefaultTimeout = c.Family.timeout()
	}
	p := &Profile{
		Provider: c.Provider, Model: c.Model, Family: c.Family,
		Aliases: standardAliases(), DocFiles: c.Family.docFiles(),
		Streaming: true, ParallelTools: true,
		ToolConfig: c.Tools, all: NewTools(c.Tools),
	}
	p.describe(c.Catalogue)
	p.Options = p.options(c.Catalogue)
	for _, name := range c.Family.tools() {
		p.Tools = append(p.Tools, p.standard(name))
	}
	p.Instructions = p.instructions()
	return p
}

// set is the whole set of tools. A profile that was written out by hand gets one when it needs it.
func (p *Profile) set() []tool.Tool {
	if p.all == nil {
		p.all = NewTools(p.ToolConfig)
	}
	return p.all
}

// standard is a tool of the set, in the form that the model takes best.
func (p *Profile) standard(name string) tool.Tool {
	all := p.set()
	t := all[slices.IndexFunc(all, func(t tool.Tool) bool { return t.Spec().Name == name })]
	if name == "apply_patch" && p.Freeform {
		return freeformPatch(t)
	}
	return t
}

//go:embed instructions/apply_patch.lark
var patchGrammar string

// freeformPatch offers apply_patch as a tool that takes the patch itself, not JSON around it.
func freeformPatch(t tool.Tool) tool.Tool {
	spec := t.Spec()
	spec.Description += " The input is the patch itself, as plain text; do not wrap it in JSON."
	spec.Freeform = &llm.Freeform{Syntax: "lark", Definition: patchGrammar}
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

// ProfileTools lists the tools that the models of a family ("openai", "anthropic", "gemini" or
// "generic") are offered: those of the vendor's own agent, and the tools for background processes.
func ProfileTools(family string) ([]string, bool) {
	f := Family(family)
	names := f.tools()
	return names, names != nil
}

// tools are the names of the family's tools, in their order.
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
	return append(names, "shell_output", "shell_input", "shell_stop")
}

// timeout is how long a command may run that asks for no time of its own.
func (f Family) timeout() time.Duration {
	switch f {
	case OpenAIFamily, GeminiFamily:
		return 10 * time.Second
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
