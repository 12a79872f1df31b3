package feature

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/native"
	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy"
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

// Skills offers skills to the model by name and description, and enforces the restrictions of active skills. The agents
// of the registry become agent types. See [Commands] for skills that the user invokes. With a nil registry, only the
// restrictions by a skill that is active in a resumed session are enforced: attach Skills to every session that may be
// resumed with one.
func Skills(r *skill.Registry) coding.Extension {
	return func(_ context.Context, h *coding.Host) (coding.Feature, error) {
		k := &skills{registry: r, host: h}
		f := coding.Feature{Policy: k.govern, Follow: k.active.follow}
		if r == nil {
			return f, nil
		}
		for _, p := range r.Problems() {
			h.Warn(p)
		}
		f.Prompt = func(c *coding.PromptConfig) { c.Skills = r.Listing(skill.DefaultBudget) }
		if slices.ContainsFunc(r.All(), func(s *skill.Skill) bool { return s.ModelInvoked }) {
			f.ToolsFor = k.tools
		}
		if len(r.Agents()) > 0 {
			f.Subagents = k.agents
		}
		return f, nil
	}
}

// skills holds a session's skills.
type skills struct {
	registry *skill.Registry // nil if there are none
	host     *coding.Host
	active   activeSkills
}

// tools returns the tool that loads skills.
func (k *skills) tools(_ context.Context, p *coding.Profile) ([]tool.Tool, []tool.Alias) {
	return []tool.Tool{k.tool(p)}, tools.SkillAliases()
}

// tool returns the tool that loads skills, in the profile's form.
func (k *skills) tool(p *coding.Profile) tool.Tool {
	spec := tool.Spec{
		Name:       "skill",
		Version:    "1.0.0",
		Idempotent: true,
		Limit:      tool.Limit{Chars: 300_000, Lines: -1},
		Description: "Load a skill: instructions for a kind of task. " +
			"While it is active, only the tools that it allows can be used.",
	}
	if k.host.Prompted { // the prompt does not list them
		spec.Description += "\n" + k.registry.Listing(toolListing)
	}
	switch {
	case p.Toolset == coding.Native && p.Family == coding.AnthropicFamily:
		return native.ClaudeSkill(spec, k.use)
	case p.Toolset == coding.Native && p.Family == coding.GeminiFamily:
		return native.GeminiSkill(spec, k.use)
	}
	spec.Description += "\nPass done when its work is finished."
	return tool.New(spec, tool.Nothing, func(_ context.Context, _ *tool.Call, in skillIn) (tool.Result, error) {
		if in.Done {
			res := tool.Success("The skill is no longer active.")
			res.Fields = map[string]any{fieldDone: true}
			return res, nil
		}
		res := k.use(in.Name, in.Args)
		if res.Error == nil {
			res.Fields[fieldDone] = false // it can be ended
		}
		return res, nil
	})
}

// use returns a skill's instructions.
func (k *skills) use(name, args string) tool.Result {
	s, err := k.registry.ForModel(name)
	if err != nil {
		return tool.Failure(tool.ValidationError, "%v.", err)
	}
	res := tool.Result{Output: tool.Text(s.Invoke(args)), Fields: map[string]any{fieldSkill: s.Name}}
	if s.AllowedTools != nil {
		res.Fields[fieldTools] = s.AllowedTools
	}
	return res
}

// agents adds the registry's agents as subagent types.
func (k *skills) agents(s *agent.Subagents, have *tool.Registry) {
	types := map[string]agent.AgentType{}
	for _, a := range k.registry.Agents() {
		mode, err := policy.ParseMode(a.Mode)
		if err != nil {
			k.host.Warn(fmt.Errorf("%s: %w; the agent is not used", a.Path, err))
			continue
		}
		if a.Mode == "" {
			mode = ""
		}
		types[a.Name] = agent.AgentType{
			Description: strings.TrimSuffix(a.Description, "."),
			Preface:     a.Prompt,
			Tools:       namesIn(have, a.Tools),
			Model:       modelFor(k.host.Catalogue, k.host.Provider, a.Model),
			Mode:        mode,
			MaxTurns:    a.MaxTurns,
		}
	}
	maps.Copy(types, s.Types) // the caller's types take precedence
	s.Types = types
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
	for _, m := range slices.Backward(c.ModelsOf(provider)) {
		if m.Provider == provider && !m.Retired && slices.Contains(strings.Split(m.ID, "-"), name) {
			return m.ID
		}
	}
	return ""
}

// govern returns a policy that allows reading the files of skills and enforces their restrictions.
func (k *skills) govern(_ context.Context, p policy.Policy) (policy.Policy, []string) {
	switch {
	case k.registry != nil:
		return k.active.policy(readable(p, k.registry), !k.host.Trusted), nil
	case k.host.Resumed.ID != "": // a skill may be active
		return k.active.policy(p, false), nil
	}
	return p, nil
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

var patternEscapes = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`, "{", `\{`, "}", `\}`)

func escapePattern(path string) string { return patternEscapes.Replace(path) }

// Commands submits user input that may invoke skills.
type Commands struct {
	Skills    *skill.Registry
	Provider  string                 // the session's provider, for skills that name a model
	Catalogue *llm.Catalogue         // default: llm.DefaultCatalogue()
	Exists    func(path string) bool // reports whether "/name" is a file; nil means never
	Warn      func(error)            // called with problems that do not stop the work; may be nil
	// Config is the session configuration. Its tools run the commands and read the files in the text of skills,
	// such as !`git status` and @file, before the text is submitted. If it is nil, the model is told to do this.
	Config *coding.Config
	// Format requests a structured result; see [agent.Session.SubmitFormat].
	Format *llm.OutputFormat
}

// submitter is a session, or a sender of one.
type submitter interface {
	Submit(ctx context.Context, input ...llm.Part) (agent.Outcome, error)
	SubmitFormat(ctx context.Context, format llm.OutputFormat, input ...llm.Part) (agent.Outcome, error)
}

// send submits input and requests the structured result, if there is one.
func (c Commands) send(ctx context.Context, to submitter, text string, more []llm.Part) (agent.Outcome, error) {
	input := append([]llm.Part{llm.Text{Text: text}}, more...)
	if c.Format != nil {
		return to.SubmitFormat(ctx, *c.Format, input...)
	}
	return to.Submit(ctx, input...)
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
		return c.send(ctx, s, input, more)
	}
	if err := c.inject(ctx, inv); err != nil {
		return agent.Outcome{}, err
	}
	restore, err := c.changeModel(ctx, s, inv.Skill)
	if err != nil {
		return agent.Outcome{}, err
	}
	from := s.From(event.Origin{Kind: event.OriginSkill, ID: inv.Skill.Name, Tools: inv.Skill.AllowedTools})
	out, err := c.send(ctx, from, inv.Text, more)
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
