package project

import (
	"cmp"
	"context"
	"time"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/coding/feature"
	"github.com/reins-agent/reins/config"
	"github.com/reins-agent/reins/policy"
)

// SessionOptions are what a session has besides the configuration.
type SessionOptions struct {
	// Connection is the client with its provider and model. It defaults to [Project.Connect].
	Connection coding.Connection
	// Fallback are models to switch to if the model fails.
	Fallback []string
	// NoSave keeps the session in memory only. The audit log is then used only if the configuration requires it.
	NoSave bool
	// NoMCP leaves out MCP servers.
	NoMCP bool
	// Servers, if not nil, becomes the session's MCP servers. Its Config.Elicit and Config.Sample answer servers
	// that ask the user; the project fills in the other fields.
	Servers *feature.Servers
	// Leave asks whether a server may run outside the sandbox. Nil means that nobody can be asked.
	Leave AskToLeave
	// Worktree, if not "", is the name of a new worktree that a new session begins in.
	Worktree string
	// Schedule, if not nil, lets the agent schedule jobs, which the host runs.
	Schedule *feature.Schedule
	// Secrets are names of further environment variables whose values are secret.
	Secrets []string
}

// Session returns a session configuration as `reins run` has it. The caller sets the approver, and may change any
// other part, before [coding.Open].
func (p *Project) Session(ctx context.Context, o SessionOptions) (coding.Config, error) {
	c, err := p.workbench(o)
	if err != nil {
		return c, err
	}
	if c.NoSave = o.NoSave; o.NoSave {
		c.State = ""
	} else if _, err := p.State(); err != nil {
		return c, err
	}
	skills, err := p.FindSkills()
	if err != nil {
		return c, err
	}
	if err := p.connect(ctx, &c, o); err != nil {
		return c, err
	}
	p.limit(&c)
	c.Prompt.UserFiles, c.Prompt.Home = p.docs(), p.home()
	c.Tools = append(c.Tools, p.configTool())
	servers, err := p.connections(c.Sandbox, o)
	if err != nil {
		return c, err
	}
	if servers != nil {
		c.Extensions = append(c.Extensions, servers.attach)
	}
	more, err := p.features(o)
	if err != nil {
		return c, err
	}
	c.Extensions = append(append(c.Extensions, more...), feature.Skills(skills))
	return c, nil
}

// Workbench returns the configuration for [coding.OpenWorkbench]: what a session has for tool calls, without a model.
func (p *Project) Workbench() (coding.Config, error) { return p.workbench(SessionOptions{}) }

func (p *Project) workbench(o SessionOptions) (c coding.Config, err error) {
	permitted, err := p.Permissions()
	if err != nil {
		return c, err
	}
	if p.options.Yes && permitted.Mode == policy.ModePlan {
		return c, mistakef("--yes cannot be combined with the permission mode plan, which changes nothing")
	}
	c = coding.Config{
		Dir:        p.dir(),
		Pass:       p.Settings.Environment.Pass,
		ToolConfig: coding.ToolConfig{ReadBeforeWrite: true},
		Prompt:     coding.PromptConfig{Trusted: p.Trusted},
		Warn:       func(err error) { p.notef(NoteSession, "%v", err) },
		Session: agent.Config{
			Mode:   permitted.Mode,
			Policy: p.policy(permitted),
		},
	}
	if c.Sandbox, err = p.Confine(&permitted); err != nil {
		return c, err
	}
	c.Session.Workspace = permitted.Workspace
	if c.Session.Hooks, err = p.Hooks(); err != nil {
		return c, err
	}
	if state, err := p.State(); err == nil {
		c.State = string(state)
	}
	if c.Audit, err = p.audit(o.NoSave); err != nil {
		return c, err
	}
	c.Secrets = p.secrets(o.Secrets)
	c.Tools, err = p.webTools()
	return c, err
}

// dir returns the working directory as it was given, or "".
func (p *Project) dir() string { return cmp.Or(p.options.Dir, p.options.Resumed.Dir) }

// connect sets the client and the models.
func (p *Project) connect(ctx context.Context, c *coding.Config, o SessionOptions) (err error) {
	k := o.Connection
	if k.Client == nil {
		if k, err = p.Connect(ctx); err != nil {
			return err
		}
	}
	if c.Connect, err = p.Connection(); err != nil {
		return err
	}
	if k.Catalogue != nil {
		c.Connect.Catalogue = k.Catalogue
	}
	c.Provider, c.Model = k.Provider, k.Model
	c.Session.Client = k.Client
	if p.options.Resumed.ID == "" || p.Layer("effort").Above(config.LayerEnvironment) { // a session keeps its effort
		c.Effort = p.Settings.Effort
	}
	c.Resume = p.options.Resumed.ID
	for _, name := range o.Fallback {
		if m, ok := c.Connect.Catalogue.Resolve(k.Provider, name); ok {
			name = m.ID
		}
		c.Session.Fallback = append(c.Session.Fallback, agent.Model{Name: name})
	}
	return p.checkModels(c.Connect.Catalogue, k, o.Fallback)
}

// limit sets limits, compaction and what the configuration says about requests.
func (p *Project) limit(c *coding.Config) {
	r, s := p.Settings.Run, &c.Session
	c.NoCompaction = r.CompactAt == 0
	s.Limits = agent.Limits{ToolRounds: r.MaxRounds, Turns: r.MaxTurns, TreeCost: r.Budget}
	s.Subagents = agent.Subagents{Teams: r.Teams}
	s.Compaction = agent.Compaction{At: r.CompactAt, PastPriceStep: r.PastPriceStep}
	s.CacheTTL, s.Tier = p.Settings.CacheTTL, p.Settings.ServiceTier
	s.Display = p.Settings.ThinkingDisplay
}

// features returns the extensions besides MCP servers and skills.
func (p *Project) features(o SessionOptions) ([]coding.Extension, error) {
	s := p.Settings
	list := []coding.Extension{feature.Worktrees()}
	if o.Worktree != "" {
		list = []coding.Extension{feature.InWorktree(o.Worktree)}
	}
	if o.Schedule != nil {
		list = append(list, o.Schedule.Attach)
	}
	servers, err := p.languageServers()
	if err != nil {
		return nil, err
	}
	list = append(list, feature.LanguageServers(servers))
	if s.Memory.Enabled {
		list = append(list, feature.Memory(cmp.Or(s.Memory.Budget, -1)))
	}
	if s.Web.SearchBackend == "provider" {
		list = append(list, feature.HostedSearch())
	}
	return list, nil
}

// languageServers returns the configuration of language servers.
func (p *Project) languageServers() (c feature.LSPConfig, err error) {
	s := p.Settings.LSP
	if !s.Enabled {
		return c, nil
	}
	c.Enabled = true
	if c.Timeout, err = time.ParseDuration(s.DiagnosticsTimeout); err != nil {
		return c, mistakef("lsp.diagnostics_timeout: %w", err)
	}
	c.Commands = map[string]string{
		"gopls":                      s.Gopls,
		"typescript-language-server": s.TypeScript,
		"pyright-langserver":         s.Pyright,
		"rust-analyzer":              s.RustAnalyzer,
		"clangd":                     s.Clangd,
	}
	return c, nil
}
