package cli

import (
	"context"
	"os"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// session sets the agent up as the flags say.
func (r *runner) session(ctx context.Context, client *llm.Client, model string, e *local.Env, place saved) (*agent.Session, error) {
	o := r.flags
	p, catalogue, err := o.newProfile(client.Providers()[0], model)
	if err != nil {
		return nil, err
	}
	if err := o.checkModels(r.host, catalogue, p.Provider, model); err != nil {
		return nil, err
	}
	tools, err := p.Registry()
	if err != nil {
		return nil, err
	}
	if err := tools.Register(agent.AskUserTool()); err != nil {
		return nil, err
	}
	var system string
	if !place.resumes() || place.meta.Provider != p.Provider || o.system != "" || o.appendSystem != "" {
		if system, err = o.systemPrompt(ctx, p, e, tools); err != nil {
			return nil, err
		}
	}
	c := agent.Config{
		Client: client, Provider: p.Provider, Model: model, Effort: o.effort, System: system,
		Tools: tools, Allow: o.allow, Deny: o.deny, Env: e, Options: p.Options, Vision: p.Vision,
		ContextWindow: p.ContextWindow, Catalogue: catalogue, Limits: o.limits(),
		Approve: r.asker.approve, Middleware: []tool.Middleware{recordDiffs},
	}
	if o.yes {
		c.Policy = policy.AllowAll{}
	}
	for _, name := range o.fallback {
		c.Fallback = append(c.Fallback, agent.Model{Name: name})
	}
	c.ID, c.SkipDamaged = o.id, o.skipDamaged
	c.Compaction = agent.Compaction{At: o.compactAt, NoModel: o.noModel}
	if place.store != nil {
		c.Meta.Branch = coding.GitBranch(ctx, e)
		c.Meta.Prompt = firstLine(r.given) // which lists it, should it be cut off before it is described
		c.Checkpoints = checkpoints(ctx, r.host, e.Info().Dir)
	}
	return place.open(ctx, c)
}

// follow takes over what the session had, where the flags do not say otherwise.
func (o *run) follow(m event.Meta) {
	if o.provider == "" && o.model == "" {
		o.provider, o.model = m.Provider, m.Model
	}
}

func (o run) newProfile(provider, model string) (*coding.Profile, *llm.Catalogue, error) {
	if _, ok := coding.ProfileTools(o.profile); o.profile != "" && !ok {
		return nil, nil, usagef("there is no profile %q; there are openai, anthropic, gemini and generic", o.profile)
	}
	catalogue, err := loadCatalogue(o.catalogue)
	if err != nil {
		return nil, nil, err
	}
	p, err := toolsetProfile(coding.ProfileConfig{
		Provider: provider, Model: model, Family: coding.Family(o.profile), Catalogue: catalogue,
		Tools: coding.ToolConfig{DefaultTimeout: o.timeout},
	}, o.toolset)
	return p, catalogue, err
}

// toolsetProfile makes a profile with the toolset of that name. It refuses a native one for a model whose
// vendor has none.
func toolsetProfile(c coding.ProfileConfig, toolset string) (*coding.Profile, error) {
	var err error
	if c.Toolset, err = coding.ParseToolset(toolset); err != nil {
		return nil, usagef("--toolset: %w", err)
	}
	p := coding.NewProfile(c)
	if p.Toolset != c.Toolset {
		return nil, usagef("--toolset %s: the %s profile has only the standard toolset; choose another with --profile openai, anthropic or gemini", toolset, p.Family)
	}
	return p, nil
}

// systemPrompt is the one of the file that was given, or else the profile's.
func (o run) systemPrompt(ctx context.Context, p *coding.Profile, e *local.Env, tools *tool.Registry) (string, error) {
	if o.system == "" {
		return p.SystemPrompt(ctx, e, coding.PromptConfig{User: o.appendSystem, Tools: tools.Specs()})
	}
	b, err := os.ReadFile(o.system)
	if err != nil {
		return "", usagef("--system: %w", err)
	}
	if o.appendSystem != "" {
		b = append(append(b, "\n\n"...), o.appendSystem...)
	}
	return string(b), nil
}
