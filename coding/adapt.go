package coding

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/prompt"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/tool"
)

// setup is the part of a session's configuration that depends on the model. Without a System, the session
// keeps its system prompt.
type setup struct {
	agent.Setup
	profile *Profile
}

// adapt returns the setup for a model. It keeps what the caller of Open set, and the recorded system prompt of a
// resumed session if it is still correct for the model.
func (b *builder) adapt(ctx context.Context, provider, model, recorded string) (setup, error) {
	given := &b.config.Session
	p, err := b.profile(provider, model)
	if err != nil {
		return setup{}, err
	}
	u := setup{profile: p, Setup: agent.Setup{
		Tools:         given.Tools,
		Vision:        p.Vision || given.Vision,
		ContextWindow: cmp.Or(given.ContextWindow, p.ContextWindow),
		Serial:        !p.ParallelTools || given.Serial,
		Unary:         !p.Streaming || given.Unary,
	}}
	if given.Options != nil {
		p.Options = given.Options
	}
	if u.Tools == nil {
		u.Tools, err = b.registry(ctx, p)
	} else {
		b.extendSubagents(u.Tools)
	}
	if err != nil {
		return setup{}, err
	}
	u.Options = p.Options
	u.System, err = b.systemPrompt(ctx, p, u.Tools, recorded)
	u.System = b.session.Secrets.Text(u.System)
	return u, err
}

func (b *builder) profile(provider, model string) (*Profile, error) {
	c := &b.config
	if c.Family != "" && !c.Family.Known() {
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
	return make(ProfileConfig{
		Provider:  provider,
		Model:     model,
		Family:    c.Family,
		Toolset:   toolset,
		Tier:      c.Tier,
		Tools:     c.ToolConfig,
		Catalogue: b.session.Catalogue,
	}), nil
}

// registry returns all tools for a profile: its own tools, session and feature tools, and the caller's.
func (b *builder) registry(ctx context.Context, p *Profile) (*tool.Registry, error) {
	core, others, hosted, aliases := b.toolsFor(ctx, p)
	r, err := b.localTools(p, core, others, aliases)
	if err != nil {
		return nil, err
	}
	b.extendSubagents(r)
	return r, r.Register(hosted...)
}

// localTools returns the tools that this program runs.
func (b *builder) localTools(p *Profile, core, others []tool.Tool, aliases []tool.Alias) (*tool.Registry, error) {
	if b.config.Tier == LeanTier {
		return b.leanRegistry(p)
	}
	r, tier := &tool.Registry{}, b.config.Tier
	own := p.Tools
	if p.Toolset != Native {
		own = tier.tiered(own)
	}
	if err := registerEach(r, own); err != nil {
		return nil, err
	}
	r.Alias(slices.Concat(p.Aliases, aliases)...)
	if err := registerEach(r, append([]tool.Tool{agent.AskUserTool()}, core...)); err != nil {
		return nil, err
	}
	further := append(b.moreTools(p), others...)
	if err := r.Register(append(p.otherTools(), tier.tiered(further)...)...); err != nil {
		return nil, err
	}
	return r, r.Register(tier.tiered(b.config.Tools)...)
}

// systemPrompt returns the system prompt for a profile, or "" if the recorded one is still correct.
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
	for _, f := range b.features {
		if f.Prompt != nil {
			f.Prompt(&c)
		}
	}
	if p.base(c.Tools).Describes(recorded, e.Info(), c) {
		return "", nil
	}
	if c.Git == nil {
		if b.git == nil {
			git := prompt.TakeGit(ctx, e)
			b.git = &git
		}
		c.Git = b.git
	}
	if c.Docs == nil {
		docs := b.finder(ctx, p).Find(ctx, e)
		b.warnEach(docs.Warnings())
		c.Docs = &docs
	}
	return p.SystemPrompt(ctx, e, c)
}

// recorded returns the resumed session's generated system prompt, unless the caller set another one or the session
// comes from an archive. The user's instructions in it are kept for every model. It also restores which files the model
// has seen.
func (b *builder) recorded(ctx context.Context) (string, error) {
	c := &b.config
	if c.Resume == "" || b.meta.Foreign() {
		return "", nil
	}
	facts, err := recordedFacts(ctx, b.session.Store, c.Resume)
	if err != nil {
		return "", err
	}
	c.ToolConfig.State.Remember(facts.seen)
	c.ToolConfig.State.Skip(facts.background)
	if c.Session.System != "" || c.Prompt.User != "" {
		return "", nil
	}
	if facts.system != "" && !prompt.Generated(facts.system) {
		c.Session.System = facts.system
		return "", nil
	}
	c.Prompt.User = prompt.UserInstructions(facts.system)
	return facts.system, nil
}

// recordSeen is middleware that adds the hashes of files that the model has seen to a call's result.
func (b *builder) recordSeen(ctx context.Context, _ tool.Call, next func(context.Context) (tool.Result, error)) (tool.Result, error) {
	res, err := next(ctx)
	res.Artifacts.FilesSeen = b.config.ToolConfig.State.Seen()
	return res, err
}

// facts are what a resumed session continues with.
type facts struct {
	system     string            // the last system prompt
	seen       map[string]string // the files that its tools have read and written
	background int               // the highest ID of a background command
}

// recordedFacts returns a saved session's facts. Damaged records are skipped; resuming the session decides whether
// that is acceptable.
func recordedFacts(ctx context.Context, store event.Store, id string) (facts, error) {
	f := facts{seen: make(map[string]string)}
	for r, err := range store.Load(ctx, id, 0) {
		var damage *event.CorruptError
		switch {
		case errors.As(err, &damage):
			continue
		case err != nil:
			return facts{}, err
		}
		if d, ok := r.Data.(event.ToolCallEnd); ok {
			maps.Copy(f.seen, d.Artifacts.FilesSeen)
			n, _ := strconv.Atoi(d.Artifacts.Background)
			f.background = max(f.background, n)
		}
		if r.Agent != "" {
			continue
		}
		switch d := r.Data.(type) {
		case event.SessionStart:
			f.system = d.System
		case event.SessionResume:
			if d.Imported {
				f.system = ""
				clear(f.seen)
			}
			f.system = cmp.Or(d.System, f.system)
		case event.Settings:
			f.system = cmp.Or(d.System, f.system)
		}
	}
	return f, nil
}
