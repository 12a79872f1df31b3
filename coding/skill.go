package coding

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/native"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/policy/rules"
	"github.com/reins-agent/reins/skill"
	"github.com/reins-agent/reins/tool"
)

// The fields of results that start and end a skill.
const (
	fieldSkill = "skill"
	fieldTools = "allowed_tools"
	fieldDone  = "done"
)

// skillTools are the names for the tool that loads skills.
var skillTools = []string{"skill", "Skill", "activate_skill"}

type skillIn struct {
	Name string `json:"name,omitempty" jsonschema:"name of the skill"`
	Args string `json:"args,omitempty" jsonschema:"arguments for the skill"`
	Done bool   `json:"done,omitempty" jsonschema:"the skill loaded last is finished"`
}

// toolListing is the maximum size for the skill list in the tool description. Some providers limit the description
// to 1,024 characters.
const toolListing = 750

// skillTool returns the tool that loads skills, in the profile's form.
func (b *builder) skillTool(p *Profile) tool.Tool {
	spec := tool.Spec{
		Name: "skill", Version: "1.0.0", Idempotent: true, Limit: tool.Limit{Chars: 300_000, Lines: -1},
		Description: "Load a skill: instructions for a kind of task. While it is active, only the tools that it allows can be used.",
	}
	if b.config.Session.System != "" { // the prompt does not list them
		spec.Description += "\n" + b.config.Skills.Listing(toolListing)
	}
	switch {
	case p.Toolset == Native && p.Family == AnthropicFamily:
		return native.ClaudeSkill(spec, b.useSkill)
	case p.Toolset == Native && p.Family == GeminiFamily:
		return native.GeminiSkill(spec, b.useSkill)
	}
	spec.Description += "\nPass done when its work is finished."
	return tool.New(spec, tool.Nothing, func(_ context.Context, _ *tool.Call, in skillIn) (tool.Result, error) {
		if in.Done {
			res := tool.Success("The skill is no longer active.")
			res.Fields = map[string]any{fieldDone: true}
			return res, nil
		}
		res := b.useSkill(in.Name, in.Args)
		if res.Error == nil {
			res.Fields[fieldDone] = false // it can be ended
		}
		return res, nil
	})
}

// useSkill returns a skill's instructions.
func (b *builder) useSkill(name, args string) tool.Result {
	s, err := b.config.Skills.ForModel(name)
	if err != nil {
		return tool.Failure(tool.ValidationError, "%v.", err)
	}
	res := tool.Result{Output: tool.Text(s.Invoke(args)), Fields: map[string]any{fieldSkill: s.Name}}
	if s.AllowedTools != nil {
		res.Fields[fieldTools] = s.AllowedTools
	}
	return res
}

// skillAliases returns other names for the standard tool.
func skillAliases() []tool.Alias {
	return []tool.Alias{{Name: "Skill", Tool: "skill", Params: map[string]string{"skill": "name"}}, {Name: "activate_skill", Tool: "skill"}}
}

// useSkills applies the configured skills: it adds a policy that allows reading their files and enforces their
// restrictions, and adds agents as types of subagents.
func (b *builder) useSkills(context.Context) error {
	s, r := &b.session, b.config.Skills
	if r == nil {
		s.Policy = b.withSkills(s.Policy)
		return nil
	}
	for _, p := range r.Problems() {
		b.warnOnce([]string{p.Error()})
	}
	s.Policy = b.withSkills(s.Policy)
	if len(r.Agents()) == 0 {
		return nil
	}
	have := s.Tools
	if have == nil {
		p, err := b.profile(s.Provider, s.Model)
		if err != nil {
			return err
		}
		if have, err = b.registry(p); err != nil {
			return err
		}
	}
	types := map[string]agent.AgentType{}
	for _, a := range r.Agents() {
		mode, err := policy.ParseMode(a.Mode)
		if err != nil {
			b.warnOnce([]string{fmt.Sprintf("%s: %v; the agent is not used", a.Path, err)})
			continue
		}
		if a.Mode == "" {
			mode = ""
		}
		types[a.Name] = agent.AgentType{
			Description: strings.TrimSuffix(a.Description, "."), Preface: a.Prompt, Tools: namesIn(have, a.Tools),
			Model: modelFor(s.Catalogue, s.Provider, a.Model), Mode: mode, MaxTurns: a.MaxTurns,
		}
	}
	maps.Copy(types, s.Subagents.Types) // the caller's types take precedence
	s.Subagents.Types = types
	return nil
}

// namesIn returns the tools that correspond to the tool names of another agent. It returns nil for nil. It omits tools
// with a pattern, because agent types cannot have patterns.
func namesIn(have *tool.Registry, names []string) []string {
	if names == nil {
		return nil
	}
	real := []string{}
	for _, name := range names {
		listed := standardName(name)
		for _, tool := range have.Names() {
			if n := standardName(tool); n == listed || slices.Contains(companions[listed], n) {
				real = append(real, tool)
			}
		}
	}
	return real
}

// modelFor returns the model that a skill or an agent requests, for example by "haiku", or "" if the provider does not
// have it.
func modelFor(c *llm.Catalogue, provider, name string) string {
	if name == "" || name == "inherit" {
		return ""
	}
	if m, ok := c.Exact(provider, name); ok {
		return m.ID
	}
	if m, ok := c.Resolve(provider, name); ok {
		return m.ID
	}
	for _, m := range slices.Backward(c.Models()) {
		if m.Provider == provider && !m.Retired && slices.Contains(strings.Split(m.ID, "-"), name) {
			return m.ID
		}
	}
	return ""
}

// withSkills returns a policy that allows reading the files of skills and enforces their restrictions.
func (b *builder) withSkills(p policy.Policy) policy.Policy {
	switch r := b.config.Skills; {
	case r != nil:
		return b.active.policy(readable(p, r), !b.config.Prompt.Trusted)
	case b.config.Resume != "": // a skill may be active
		return b.active.policy(p, false)
	}
	return p
}

// readable returns a policy that allows reading the files of skills.
func readable(p policy.Policy, r *skill.Registry) policy.Policy {
	var rules []string
	for _, s := range r.All() {
		if s.Dir != "" {
			rules = append(rules, "Read(/"+escapePattern(s.Dir)+"/**)")
		}
	}
	if e, ok := p.(policy.Extensible); ok && len(rules) > 0 {
		return e.Allowing(rules...)
	}
	return p
}

// orDefault returns the policy, or the one without rules.
func orDefault(p policy.Policy) policy.Policy {
	if p == nil {
		return rules.Policy{}
	}
	return p
}

var patternEscapes = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`, "{", `\{`, "}", `\}`)

func escapePattern(path string) string { return patternEscapes.Replace(path) }

// offersSkills reports whether the model can use a skill.
func (b *builder) offersSkills() bool {
	return slices.ContainsFunc(b.config.Skills.All(), func(s *skill.Skill) bool { return s.ModelInvoked })
}

// Commands submits user input that may invoke skills.
type Commands struct {
	Skills    *skill.Registry
	Provider  string                 // the session's provider, for skills that name a model
	Catalogue *llm.Catalogue         // default: llm.DefaultCatalogue()
	Exists    func(path string) bool // reports whether "/name" is a file; nil means never
	Warn      func(error)            // called with problems that do not stop the work; may be nil
	// Config is the session configuration. Its tools run the commands and read the files in the text of skills,
	// such as !`git status` and @file, before the text is submitted. If it is nil, the model is told to do this.
	Config *Config
}

// Submit is agent.Session.Submit for input from a user. Input such as "/name args" invokes a skill: the session
// gets the skill's instructions, and uses the skill's model for this input. An unknown name is an error. Other input is
// submitted unchanged.
func (c Commands) Submit(ctx context.Context, s *agent.Session, input string, more ...llm.Part) (agent.Outcome, error) {
	inv, err := c.Skills.Expand(input, c.Exists)
	if err != nil {
		return agent.Outcome{}, llm.Errorf(llm.ErrConfiguration, "", "%v", err)
	}
	if inv == nil {
		return s.Submit(ctx, append([]llm.Part{llm.Text{Text: input}}, more...)...)
	}
	if err := c.inject(ctx, inv); err != nil {
		return agent.Outcome{}, err
	}
	restore, err := c.changeModel(ctx, s, inv.Skill)
	if err != nil {
		return agent.Outcome{}, err
	}
	from := s.From(event.Origin{Kind: event.OriginSkill, ID: inv.Skill.Name, Tools: inv.Skill.AllowedTools})
	out, err := from.Submit(ctx, append([]llm.Part{llm.Text{Text: inv.Text}}, more...)...)
	return out, errors.Join(err, restore())
}

// changeModel changes to a skill's model. The returned function changes back.
func (c Commands) changeModel(ctx context.Context, s *agent.Session, k *skill.Skill) (restore func() error, err error) {
	stay := func() error { return nil }
	if c.Catalogue == nil {
		c.Catalogue = llm.DefaultCatalogue()
	}
	before, model := s.Agents()[0].Model, modelFor(c.Catalogue, c.Provider, k.Model)
	if model == "" && k.Model != "" && k.Model != "inherit" && c.Warn != nil {
		c.Warn(fmt.Errorf("skill %s asks for model %s, which is unknown here; using %s", k.Name, k.Model, before))
	}
	if model == "" || model == before {
		return stay, nil
	}
	if err := s.Reconfigure(ctx, agent.Change{Model: model}); err != nil {
		return stay, fmt.Errorf("skill %s: cannot change to model %s: %w", k.Name, model, err)
	}
	return func() error {
		err := s.Reconfigure(context.WithoutCancel(ctx), agent.Change{Model: before})
		if errors.Is(err, agent.ErrClosed) {
			return nil
		}
		return err
	}, nil
}
