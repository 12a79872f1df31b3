package coding

import (
	"cmp"
	"context"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/tool"
)

// setup is the part of a session's configuration that depends on its model. Without a System, the
// session keeps the one that it has.
type setup struct {
	agent.Setup
	profile *Profile // of the model
}

// adapt returns what a session needs for a model. What the caller of Open set is kept. The recorded
// system prompt of a session that is resumed is kept as long as it is true of the model.
func (b *builder) adapt(ctx context.Context, provider, model, recorded string) (setup, error) {
	given := &b.config.Session
	p, err := b.profile(provider, model)
	if err != nil {
		return setup{}, err
	}
	u := setup{profile: p, Setup: agent.Setup{
		Tools: given.Tools, Options: p.Options, Vision: p.Vision || given.Vision, ContextWindow: cmp.Or(given.ContextWindow, p.ContextWindow),
		Serial: !p.ParallelTools || given.Serial, Unary: !p.Streaming || given.Unary,
	}}
	if given.Options != nil {
		u.Options = given.Options
	}
	if u.Tools == nil {
		if u.Tools, err = b.registry(p); err != nil {
			return setup{}, err
		}
	}
	u.System, err = b.systemPrompt(ctx, p, u.Tools, recorded)
	return u, err
}

func (b *builder) profile(provider, model string) (*Profile, error) {
	c := &b.config
	if c.Family != "" && c.Family.tools() == nil {
		return nil, llm.Errorf(llm.ErrConfiguration, "", "unknown profile %q: use openai, anthropic, gemini or generic", c.Family)
	}
	toolset, err := ParseToolset(string(c.Toolset))
	if err != nil {
		return nil, llm.Errorf(llm.ErrConfiguration, "", "%v", err)
	}
	make := c.Profile
	if make == nil {
		make = NewProfile
	}
	return make(ProfileConfig{Provider: provider, Model: model, Family: c.Family, Toolset: toolset, Tools: c.ToolConfig, Catalogue: b.session.Catalogue}), nil
}

// registry holds the tools of the profile, those that the caller added, and the one that asks the user.
func (b *builder) registry(p *Profile) (*tool.Registry, error) {
	r, err := p.Registry()
	if err != nil {
		return nil, err
	}
	if err := r.Register(agent.AskUserTool()); err != nil {
		return nil, err
	}
	return r, r.Register(b.config.Tools...)
}

// systemPrompt returns the system prompt for a profile, or "" if the recorded one is still right.
func (b *builder) systemPrompt(ctx context.Context, p *Profile, tools *tool.Registry, recorded string) (string, error) {
	e, c := b.session.Env, b.config.Prompt
	if system := b.config.Session.System; system != "" {
		if c.User != "" {
			system += "\n\n" + c.User
		}
		return system, nil
	}
	offer := b.session
	offer.Tools = tools
	c.Tools = agent.Offered(offer)
	if p.describes(recorded, e.Info(), c.Tools) {
		return "", nil
	}
	if c.Git == nil {
		if b.git == nil {
			git := TakeGitSnapshot(ctx, e)
			b.git = &git
		}
		c.Git = b.git
	}
	return p.SystemPrompt(ctx, e, c)
}
