package cli

import (
	"context"
	"os"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// session sets the agent up as the flags say.
func (r *runner) session(ctx context.Context, client *llm.Client, model string, e *local.Env) (*agent.Session, error) {
	o := r.flags
	p, catalogue, err := o.newProfile(client.Providers()[0], model)
	if err != nil {
		return nil, err
	}
	tools, err := p.Registry()
	if err != nil {
		return nil, err
	}
	if err := tools.Register(agent.AskUserTool()); err != nil {
		return nil, err
	}
	system, err := o.systemPrompt(ctx, p, e, tools)
	if err != nil {
		return nil, err
	}
	r.asker.tools = tools
	c := agent.Config{
		Client: client, Provider: p.Provider, Model: model, Effort: o.effort, System: system,
		Tools: tools, Allow: o.allow, Deny: o.deny, Env: e, Options: p.Options, Vision: p.Vision,
		ContextWindow: p.ContextWindow, Catalogue: catalogue, Limits: o.limits(),
		Approve: r.asker.approve, Middleware: []tool.Middleware{recordDiffs},
	}
	if o.yes {
		c.Policy = policy.AllowAll{}
	}
	s, err := agent.New(c)
	if err != nil {
		return nil, usageError{err}
	}
	return s, nil
}

func (o run) newProfile(provider, model string) (*coding.Profile, *llm.Catalogue, error) {
	if _, ok := coding.ProfileTools(o.profile); o.profile != "" && !ok {
		return nil, nil, usagef("there is no profile %q; there are openai, anthropic, gemini and generic", o.profile)
	}
	catalogue, err := loadCatalogue(o.catalogue)
	if err != nil {
		return nil, nil, err
	}
	return coding.NewProfile(coding.ProfileConfig{
		Provider: provider, Model: model, Family: coding.Family(o.profile), Catalogue: catalogue,
		Tools: coding.ToolConfig{DefaultTimeout: o.timeout},
	}), catalogue, nil
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
