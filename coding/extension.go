package coding

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/env/sandbox"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/home"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/secret"
	"github.com/reins-agent/reins/tool"
)

// Extension attaches a feature to a session. Open calls the configured extensions once, in order, when the
// environment and the model are known and before tools and prompt are. An error makes Open fail. Package feature has the
// extensions of `reins run`.
type Extension func(ctx context.Context, h *Host) (Feature, error)

// Host describes the session that a feature attaches to. Features must not modify it.
type Host struct {
	Env env.Environment
	// EnvKey is equal for sessions whose environments can share processes, such as language servers.
	EnvKey any
	// Elsewhere creates an environment like the session's in another directory. Its commands cannot write to the
	// session directory. It is nil unless Open created the environment, and has a state directory.
	Elsewhere func(dir string) (env.Environment, error)
	// State is the state directory, or "" if the session has none.
	State home.Dir
	// Resumed describes the session to resume. Its ID is empty for a new session.
	Resumed event.Meta
	// Trusted means that the user trusts the project.
	Trusted bool
	// Prompted means that the host replaced the generated system prompt, so that Feature.Prompt is not used.
	Prompted  bool
	Provider  string
	Catalogue *llm.Catalogue
	Mode      policy.Mode
	Workspace policy.Workspace
	// Policy returns the session's current policy, with feature rules.
	Policy func() policy.Policy
	// Secrets redacts text that a feature saves or sends elsewhere, also if results of tools are not redacted.
	Secrets *secret.Redactor
	// Files configures tools that read or change files, so that they agree with the session's tools.
	Files ToolConfig
	// Warn reports a problem that does not stop the session. A problem is reported only once.
	Warn func(error)
}

// Feature holds an extension's additions to a session. All fields are optional.
type Feature struct {
	// Tools are added after the tools of Config.Tools.
	Tools []tool.Tool
	// ToolsFor returns tools in the form for a profile, with other names for them. It is called for each model that the
	// session uses, and may change the profile's options. Core tier tools come before the session's further
	// tools, others after them, and tools that the provider runs come last. The lean tier does not use it.
	ToolsFor func(ctx context.Context, p *Profile) ([]tool.Tool, []tool.Alias)
	// Prompt changes the content of the generated system prompt.
	Prompt func(c *PromptConfig)
	// Policy returns the policy to use in place of the host's policy, and the tools to remove because of it. It is
	// called for the first policy and for each that replaces it.
	Policy func(ctx context.Context, p policy.Policy) (governed policy.Policy, without []string)
	// Middleware wraps the execution of each permitted call.
	Middleware tool.Middleware
	// Subagents changes the subagent configuration. The registry has the session's tools.
	Subagents func(s *agent.Subagents, r *tool.Registry)
	// Follow is called once with the open session, before Open returns. An error closes the session.
	Follow func(ctx context.Context, s *agent.Session) error
	// Close is called when the session is closed, after all work has stopped and before the environment is closed. It is
	// also called if Open fails. Features are closed in reverse order.
	Close func() error
}

// closer is a function as an io.Closer.
type closer func() error

func (c closer) Close() error { return c() }

// host describes the session for features.
func (b *builder) host(ctx context.Context) (*Host, error) {
	c, s := &b.config, &b.session
	h := &Host{
		Env:       s.Env,
		EnvKey:    s.Env,
		State:     b.state,
		Resumed:   b.meta,
		Trusted:   c.Prompt.Trusted,
		Prompted:  c.Session.System != "",
		Provider:  s.Provider,
		Catalogue: s.Catalogue,
		Mode:      s.Mode,
		Workspace: s.Workspace,
		Policy:    b.policy,
		Secrets:   b.secrets,
		Files:     c.ToolConfig,
		Warn:      b.warnOnce,
	}
	if c.Session.Env != nil {
		return h, nil
	}
	dir, err := s.Env.RealPath(ctx, s.Env.Info().Dir)
	if err != nil {
		return nil, err
	}
	h.EnvKey = envKey{dir, fmt.Sprintf("%+v", []any{c.Sandbox, c.Vars, c.Pass})}
	if b.state != "" {
		h.Elsewhere = b.elsewhere
	}
	return h, nil
}

// envKey identifies environments that Open made from the same settings.
type envKey struct{ dir, settings string }

// attach calls the extensions.
func (b *builder) attach(ctx context.Context) error {
	if len(b.config.Extensions) == 0 {
		return nil
	}
	h, err := b.host(ctx)
	if err != nil {
		return err
	}
	for _, extend := range b.config.Extensions {
		f, err := extend(ctx, h)
		if f.Close != nil {
			b.made = slices.Insert(b.made, 0, io.Closer(closer(f.Close)))
		}
		if err != nil {
			return err
		}
		b.features = append(b.features, f)
	}
	return nil
}

// extendTools adds feature tools to the host's tools.
func (b *builder) extendTools() error {
	given := slices.Clip(b.config.Tools)
	for _, f := range b.features {
		if len(f.Tools) > 0 && b.config.Session.Tools != nil {
			return llm.Errorf(llm.ErrConfiguration, "", "Config.Session.Tools replaces all tools, "+
				"so extensions that add tools have no effect: set one or the other")
		}
		given = append(given, f.Tools...)
	}
	b.config.Tools = given
	return nil
}

// govern lets features change a policy.
func (b *builder) govern(ctx context.Context, p policy.Policy) (_ policy.Policy, without []string) {
	for _, f := range b.features {
		if f.Policy == nil {
			continue
		}
		var more []string
		p, more = f.Policy(ctx, p)
		without = append(without, more...)
	}
	return p, without
}

// extendSession applies what features add to the session besides tools.
func (b *builder) extendSession(ctx context.Context) {
	s := &b.session
	s.Policy, _ = b.govern(ctx, s.Policy)
	given := s.Govern
	s.Govern = func(ctx context.Context, p policy.Policy) (_ policy.Policy, without []string) {
		if given != nil {
			p, without = given(ctx, p)
		}
		p, more := b.govern(ctx, p)
		return p, append(without, more...)
	}
	s.Middleware = slices.Clip(s.Middleware)
	for _, f := range b.features {
		if f.Middleware != nil {
			s.Middleware = append(s.Middleware, f.Middleware)
		}
	}
}

// extendSubagents lets features configure subagents, once: the configuration does not depend on the model.
func (b *builder) extendSubagents(r *tool.Registry) {
	if b.subagents {
		return
	}
	b.subagents = true
	for _, f := range b.features {
		if f.Subagents != nil {
			f.Subagents(&b.session.Subagents, r)
		}
	}
}

// toolsFor returns the feature tools for a profile: core tier tools, others, and tools that the provider
// runs.
func (b *builder) toolsFor(ctx context.Context, p *Profile) (core, others, hosted []tool.Tool, aliases []tool.Alias) {
	for _, f := range b.features {
		if f.ToolsFor == nil {
			continue
		}
		tools, names := f.ToolsFor(ctx, p)
		aliases = append(aliases, names...)
		for _, t := range tools {
			switch spec := t.Spec(); {
			case spec.Hosted.Dialect != "":
				hosted = append(hosted, t)
			case TierOf(spec.Name) == CoreTier:
				core = append(core, t)
			default:
				others = append(others, t)
			}
		}
	}
	return core, others, hosted, aliases
}

// follow gives the open session to the features.
func (b *builder) follow(ctx context.Context, s *agent.Session) error {
	for _, f := range b.features {
		if f.Follow == nil {
			continue
		}
		if err := f.Follow(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// warnOnce reports a problem to the host, unless it was reported before: the prompts of several models have the same
// problems.
func (b *builder) warnOnce(problem error) {
	b.warning.Lock()
	defer b.warning.Unlock()
	if text := problem.Error(); b.config.Warn != nil && !slices.Contains(b.warned, text) {
		b.warned = append(b.warned, text)
		b.config.Warn(problem)
	}
}

// warnEach reports problems.
func (b *builder) warnEach(problems []string) {
	for _, p := range problems {
		b.warnOnce(errors.New(p))
	}
}

// elsewhere creates an environment like the session's in another directory. Its commands cannot write to the
// session's own directory.
func (b *builder) elsewhere(dir string) (env.Environment, error) {
	c := local.Config{Dir: dir, Vars: b.config.Vars, Pass: b.config.Pass, Sandbox: b.config.Sandbox}
	info := b.session.Env.Info()
	c.Sandbox.Writable = slices.DeleteFunc(slices.Clone(c.Sandbox.Writable), func(w string) bool {
		w = info.Paths().Abs(info.Dir, w)
		return info.Paths().Within(w, info.Dir) || info.Paths().Within(info.Dir, w)
	})
	if c.Sandbox.Mode == sandbox.WorkspaceWrite {
		c.Sandbox.Cache = b.state.Cache(dir)
	}
	return ruledEnv(c, b.policy, policy.Workspace{Home: b.session.Workspace.Home})
}
