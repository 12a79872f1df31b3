// Package coding turns an agent into a coding agent.
//
// [Open] assembles a session: it connects to a model and sets up tools, system prompt, working directory, storage and
// checkpoints. The caller can replace every part. When the session changes to another model, tools and prompt change
// with it.
//
// A [Profile] holds what depends on the model: tools, base instructions and capabilities. Package tools
// has the tools, package native those of the vendors' own agents, and package prompt the system prompt.
package coding

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/checkpoint"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/env/sandbox"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/home"
	"github.com/reins-agent/reins/internal/gitrisk"
	"github.com/reins-agent/reins/internal/prompt"
	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/connect"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/policy/rules"
	"github.com/reins-agent/reins/secret"
	"github.com/reins-agent/reins/tool"
)

// Config configures a session for [Open]. Zero fields have the defaults of `reins run`, except that Open reads no
// configuration files, does not trust the project, uses no sandbox and no extensions, and lets tools change files
// that were not read.
type Config struct {
	Provider string // default: the provider that serves the model, or the first one with a key
	Model    string // default: the provider's
	Effort   string // reasoning effort; default: the provider's
	Dir      string // working directory; default: the current one

	// Connect configures the client, unless Session.Client is set.
	Connect connect.Config
	// Vars are environment variables for commands, unless Session.Env is set. Pass lists host variables that
	// commands get in addition to [local.InheritListed].
	Vars map[string]string
	Pass []string
	// Sandbox restricts commands and file changes, unless Session.Env is set. The zero value restricts nothing.
	Sandbox sandbox.Config

	// Family selects tools and instructions. It is derived from the model's name by default.
	Family Family
	// Toolset selects standard or native tools. It defaults to Standard. With Native, a model whose family has no
	// native tools is an error; if the session changes to one later, it gets the standard tools.
	Toolset Toolset
	// Tier selects which tools the model sees at once. It defaults to CoreTier.
	Tier Tier
	// Profile creates the profile of each model that the session uses. It defaults to [NewProfile].
	Profile func(ProfileConfig) *Profile
	// ToolConfig configures the profile's tools.
	ToolConfig ToolConfig
	// Tools are added to the profile's tools and replace tools with the same name.
	Tools []tool.Tool
	// Extensions add features: MCP servers, skills, worktrees, language servers and more; see package feature.
	Extensions []Extension
	// Prompt configures the system prompt. Prompt.Tools is ignored. If Session.System is set, only
	// Prompt.User is added to it.
	Prompt PromptConfig

	// Secrets configures what is redacted, and Audit the audit log.
	Secrets Secrets
	Audit   Audit

	// Resume is a saved session's ID. Provider, model, effort and directory default to those of
	// the session. Its system prompt is kept if it matches the current model, tools and directory.
	Resume string
	// State is the directory for sessions, checkpoints and the audit log. It defaults to [home.Find].
	State string
	// NoSave keeps the session in memory only. It cannot be resumed or undone.
	NoSave bool
	// NoCompaction disables compaction. By default, the conversation is compacted at 80% of the context
	// window.
	NoCompaction bool

	// Later decides, during an undo, about files that others changed as well, and Restored gets the files that an undo
	// restored; see [Checkpoints]. Without Later, Undo refuses.
	Later    func(ctx context.Context, e *checkpoint.LaterError) (checkpoint.Later, error)
	Restored func([]checkpoint.Change)

	// Warn, if set, is called with problems that do not stop the session.
	Warn func(error)

	// Session has the remaining configuration: approvals, policy, limits, hooks, subagents. Open fills in
	// empty fields and keeps the others, so Client, Env, System, Store, Checkpoints and Compaction can each be
	// replaced. Session.Tools replaces all tools, so that it cannot be combined with Tools, nor with extensions that add
	// tools.
	// Session.Provider, Session.Model and Session.Effort must be empty: they are fields of this struct.
	Session agent.Config
}

// compactAt is the default share of the context window at which a conversation is compacted.
const compactAt = 0.8

// maxResult is the default length, in characters, above which a tool result is condensed. That happens once, before
// the model sees the result, so that requests stay append-only with every model.
const maxResult = 50_000

// Open assembles a coding session. Closing the session closes everything that Open created.
func Open(ctx context.Context, c Config) (*agent.Session, error) {
	b := &builder{config: c, session: c.Session}
	b.config.ToolConfig.State, b.session.Policy = tools.NewState(), orDefault(c.Session.Policy)
	if b.session.Background == nil {
		b.session.Background = b.config.ToolConfig.State
	}
	s, err := b.open(ctx)
	if err != nil {
		for _, made := range b.made {
			err = errors.Join(err, made.Close())
		}
		return nil, err
	}
	b.nested.session.Store(s)
	if err := b.follow(ctx, s); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// builder assembles a session.
type builder struct {
	config  Config
	session agent.Config // the result
	state   home.Dir     // the state directory, or ""
	meta    event.Meta   // for the resumed session
	made    []io.Closer  // to be closed with the session
	git     *prompt.Git  // shared by all prompts of the session
	secrets *secret.Redactor
	search  tool.Tool // codebase_search, whose index all profiles share
	nested  nestedDocs

	features  []Feature
	subagents bool // their configuration has what features add

	warning sync.Mutex
	warned  []string // problems that were reported
}

func (b *builder) open(ctx context.Context) (*agent.Session, error) {
	c, s := &b.config, &b.session
	if err := c.checkPlaces(); err != nil {
		return nil, err
	}
	s.Provider, s.Model, s.Effort = c.Provider, c.Model, c.Effort
	tier, err := ParseTier(string(c.Tier))
	if err != nil {
		return nil, llm.Errorf(llm.ErrConfiguration, "", "%v", err)
	}
	c.Tier = tier
	if tier == LeanTier {
		s.Subagents.MaxDepth, s.Subagents.Teams = -1, false
	}
	if s.Subagents.Deferred == nil {
		s.Subagents.Deferred = tier.deferred()
	}
	if s.Catalogue == nil {
		s.Catalogue = cmp.Or(c.Connect.Catalogue, llm.DefaultCatalogue())
	}
	for _, step := range []func(context.Context) error{
		b.findStore, b.createEnv, b.conceal, b.connect, b.attach, b.prepare, b.keep, b.audit,
	} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	if s.Workspace.Git == nil && !c.Prompt.Trusted {
		s.Workspace.Git = func(ctx context.Context, dir string) string { return gitrisk.Runs(ctx, s.Env, dir) }
	}
	if s.Describe == nil {
		s.Describe = Describe
	}
	if s.Hooks != nil {
		s.Hooks = s.Hooks.Translating(HookCalls(s.Env.Info().Paths()))
	}
	s.Middleware = append(s.Middleware[:len(s.Middleware):len(s.Middleware)], recordDiffs, b.recordSeen, ExplainLimits, b.nested.follow)
	s.Owned = append(s.Owned[:len(s.Owned):len(s.Owned)], b.made...)
	if c.Resume == "" {
		return agent.New(*s)
	}
	s.ID = c.Resume
	return agent.Resume(ctx, *s)
}

// policy returns the session policy.
func (b *builder) policy() policy.Policy {
	if s := b.nested.session.Load(); s != nil {
		return s.Policy()
	}
	return b.session.Policy
}

// orDefault returns the policy, or the one without rules.
func orDefault(p policy.Policy) policy.Policy {
	if p == nil {
		return rules.Policy{}
	}
	return p
}

// checkPlaces returns an error if a field of Session is set that has its place in Config.
func (c *Config) checkPlaces() error {
	s := &c.Session
	for _, f := range []struct {
		name string
		set  bool
	}{{"Provider", s.Provider != ""}, {"Model", s.Model != ""}, {"Effort", s.Effort != ""}} {
		if f.set {
			return llm.Errorf(llm.ErrConfiguration, "", "Config.Session.%s is set: set Config.%[1]s instead", f.name)
		}
	}
	if s.Tools != nil && len(c.Tools) > 0 {
		return llm.Errorf(llm.ErrConfiguration, "", "Config.Session.Tools replaces all tools, "+
			"so Config.Tools has no effect: set one or the other")
	}
	return nil
}

// findStore opens the store and finds the session to resume.
func (b *builder) findStore(ctx context.Context) (err error) {
	c, s := &b.config, &b.session
	b.state = home.Dir(c.State)
	if s.Store == nil && !c.NoSave {
		if b.state == "" {
			if b.state, err = home.Find(c.Connect.Getenv); err != nil {
				return err
			}
		}
		if s.Store, err = b.state.OpenSessions(nil); err != nil {
			return err
		}
	}
	if c.Resume == "" {
		return nil
	}
	if s.Store == nil {
		return errors.New("cannot resume a session without a store: NoSave and Resume are mutually exclusive")
	}
	if b.meta, err = s.Store.Meta(ctx, c.Resume); err != nil {
		return fmt.Errorf("cannot resume session %s: %w", c.Resume, err)
	}
	if s.Provider == "" && s.Model == "" {
		s.Provider, s.Model = b.meta.Provider, b.meta.Model
	}
	return nil
}

// createEnv creates the environment.
func (b *builder) createEnv(context.Context) error {
	if b.session.Env != nil {
		return nil
	}
	dir := b.config.Dir
	if dir == "" && b.meta.Dir != "" {
		dir = b.meta.Dir
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("the directory of session %s no longer exists: %s; choose another one", b.meta.ID, dir)
		}
	}
	c := local.Config{Dir: dir, Vars: b.config.Vars, Pass: b.config.Pass, Sandbox: b.config.Sandbox}
	if c.Sandbox.Mode == sandbox.WorkspaceWrite && c.Sandbox.Cache == "" && b.state != "" {
		c.Sandbox.Cache = b.state.Cache(dir)
	}
	if c.Sandbox.Mode != "" && b.state != "" {
		if err := b.state.Reserve(dir); err != nil {
			return err
		}
	}
	if b.config.Warn != nil {
		c.Incomplete = func(s sandbox.Support) {
			b.config.Warn(fmt.Errorf("the sandbox is incomplete: %s", strings.Join(s.Problems, "; ")))
		}
	}
	e, err := ruledEnv(c, b.policy, b.session.Workspace)
	if err != nil {
		return err
	}
	b.session.Env, b.made = e, append(b.made, e)
	return nil
}

// connect creates the client.
func (b *builder) connect(ctx context.Context) error {
	s := &b.session
	if s.Client != nil {
		if client, ok := s.Client.(*llm.Client); ok && s.Provider == "" && len(client.Providers()) == 1 {
			s.Provider = client.Providers()[0]
		}
		return nil
	}
	c := b.config.Connect
	c.Catalogue = s.Catalogue
	if c.HTTPClient == nil {
		c.HTTPClient = wire.NewHTTPClient(c.Limits)
		b.made = append(b.made, idle{c.HTTPClient})
	}
	k, err := Connect(ctx, s.Provider, s.Model, c)
	if err != nil {
		return err
	}
	s.Client, s.Provider, s.Model, s.Catalogue = k.Client, k.Provider, k.Model, k.Catalogue
	return nil
}

// idle is an HTTP client whose Close closes idle connections.
type idle struct{ *http.Client }

func (i idle) Close() error {
	i.CloseIdleConnections()
	return nil
}

// prepare fills in the fields that depend on the model.
func (b *builder) prepare(ctx context.Context) error {
	s := &b.session
	if err := cmp.Or(b.extendTools(), b.addUserTools()); err != nil {
		return err
	}
	b.extendSession(ctx)
	recorded, err := b.recorded(ctx)
	if err != nil {
		return err
	}
	u, err := b.adapt(ctx, s.Provider, s.Model, recorded)
	if err != nil {
		return err
	}
	b.nestDocs(ctx, u.profile)
	s.Tools, s.System, s.Options, s.Vision = u.Tools, u.System, u.Options, u.Vision
	s.ContextWindow, s.Serial, s.Unary = u.ContextWindow, u.Serial, u.Unary
	if s.Adapt == nil {
		s.Adapt = func(ctx context.Context, provider, model string) (agent.Setup, error) {
			u, err := b.adapt(ctx, provider, model, "")
			return u.Setup, err
		}
	}
	return cmp.Or(b.checkToolset(u), b.checkEffort(u), b.checkRequests(), b.checkTools())
}

// checkToolset returns an error if the model's family lacks the requested native tools.
func (b *builder) checkToolset(u setup) error {
	if b.config.Toolset == Native && b.config.Tier == LeanTier {
		return llm.Errorf(llm.ErrConfiguration, "", "the lean tier has only the standard toolset; use the core tier for native tools")
	}
	if b.config.Toolset == Native && u.profile.Family == GenericFamily {
		return llm.Errorf(
			llm.ErrConfiguration,
			"",
			"the %s profile has only the standard toolset; native tools need the openai, anthropic or gemini profile",
			u.profile.Family,
		)
	}
	return nil
}

// checkEffort returns an error for a reasoning effort that the model is known not to support.
func (b *builder) checkEffort(u setup) error {
	s := &b.session
	if _, listed := s.Catalogue.Lookup(s.Provider, s.Model); listed && s.Effort != "" && !u.profile.Reasoning {
		return llm.Errorf(llm.ErrConfiguration, "", "%s does not support reasoning effort; leave out %q", s.Model, s.Effort)
	}
	return s.Catalogue.CheckEffort(s.Provider, s.Model, s.Effort)
}

// checkTools returns an error for unknown tools in Allow and Deny.
func (b *builder) checkTools() error {
	all := b.session
	all.Allow, all.Deny = nil, nil
	var names []string
	for _, spec := range agent.Offered(all) {
		names = append(names, spec.Name)
	}
	for _, n := range slices.Concat(b.session.Allow, b.session.Deny) {
		if _, ok := all.Tools.Spec(n); !ok && !slices.Contains(names, n) && !tool.ComesLater(n) {
			return llm.Errorf(llm.ErrConfiguration, "", "unknown tool %q: use %s", n, strings.Join(names, ", "))
		}
	}
	return nil
}

// keep sets up compaction and checkpoints.
func (b *builder) keep(ctx context.Context) error {
	s := &b.session
	if s.Compaction.At == 0 && !b.config.NoCompaction {
		s.Compaction.At = compactAt
	}
	if s.Compaction.Results == 0 && !b.config.NoCompaction {
		s.Compaction.Results = maxResult
	}
	if s.Store == nil {
		return nil
	}
	s.Meta.Branch = cmp.Or(s.Meta.Branch, prompt.Branch(ctx, s.Env))
	if _, here := s.Env.(*local.Env); here && s.Checkpoints == nil && b.state != "" {
		s.Checkpoints = b.config.checkpoints(ctx, b.state, s.Env.Info().Dir)
	}
	return nil
}
