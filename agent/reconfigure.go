package agent

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/hook"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// kit is what a tool call needs to run. It is replaced, never changed.
type kit struct {
	tools       *tool.Registry
	definitions []llm.ToolDef
	digest      string
	pipe        *tool.Pipeline
	env         env.Environment
	timeouts    tool.Timeouts
	vision      bool
	serial      bool
	results     int // maximum result length before it is condensed
}

func (s *Session) newKit(c Config) (*kit, error) {
	tools, err := s.registry(c)
	if err != nil {
		return nil, err
	}
	k := &kit{
		tools:       tools,
		definitions: tools.Definitions(),
		env:         c.Env,
		timeouts:    c.Timeouts,
		vision:      c.Vision,
		serial:      c.Serial,
		results:     c.Compaction.Results,
	}
	k.digest = digest(k.definitions)
	k.pipe = &tool.Pipeline{
		Registry: tools,

		Hooks: s.toolHooks(tools),

		Approve: s.approve,

		Middleware: append(slices.Clip(c.Middleware), s.tracing(tools)),

		Limits: c.ToolLimits,

		Agent:     s.path,
		Workspace: c.Workspace,
		Granted:   s.granted,
		Secrets:   c.Secrets,
		Audit:     s.audit,
	}
	// A link that is swapped later must not move the workspace.
	if dir, err := c.Env.RealPath(context.Background(), c.Env.Info().Dir); err == nil {
		k.pipe.Workspace.Dir = dir
	}
	k.pipe.Workspace.Created = s.created
	return k, nil
}

// Setup has a model's tools, prompt and capabilities.
type Setup struct {
	Tools         *tool.Registry
	System        string
	Options       map[string]llm.Options
	Vision        bool
	Unary, Serial bool
	ContextWindow int64 // 0 means the catalogue's value
}

// Change describes what Reconfigure changes. Zero fields change nothing.
type Change struct {
	Provider string
	Model    string
	// Keep keeps tools, prompt and capabilities when the model changes. Otherwise Config.Adapt returns the new model's.
	Keep bool

	Effort         *string // "" means the provider's default
	ThinkingBudget *int    // negative means the provider's default
	Timeouts       *tool.Timeouts
	System         *string
	Mode           policy.Mode // for the session and all its subagents
	// Policy and Approve replace the policy and the approver for the session and all its subagents. They take effect
	// with the next call, even while other calls are running. A call that has been judged keeps its decision; if it
	// waits for approval, the new approver is asked, and the old approver's answer no longer counts.
	Policy  policy.Policy
	Approve func(ctx context.Context, r tool.Request) (tool.Approval, error)
	// Env changes where this agent's tools work, and the tools of subagents that it spawns later. Checkpoints still
	// belong to the directory that the session was opened with. The caller closes Env after the session.
	Env           env.Environment
	Options       map[string]llm.Options
	Vision        *bool
	ContextWindow int64

	Tools  *tool.Registry // replaces all tools
	Add    []tool.Tool    // appended, or replacing a tool with the same name
	Remove []string
}

// change is a Change that is ready to be applied.
type change struct {
	config Config
	kit    *kit
	mode   bool // it sets the permission mode
}

// Reconfigure changes a session, idle or working, for the rest of its life. For every call:
//
//   - A Change is applied as a whole or not at all. If the result is not a valid configuration, Reconfigure returns an
//     error and nothing changes.
//   - It takes effect at the next safe point: now, or when the running tool calls have their results. A model call or
//     tool call that has started is finished with the old configuration. Only Policy and Approve take effect at once.
//   - When Reconfigure returns, the Change is decided and Session methods and later Changes build on it. If the work
//     has reached no safe point, it is applied there; Reconfigure does not wait for that.
//   - If the model changes, tools, prompt and capabilities change with it, as Config.Adapt says, unless Keep is set.
//     Earlier additions and removals of tools apply to the new model's tools too.
//   - The change is recorded, so a resumed session has it, except for the functions in it: Resume gets these from its
//     Config.
//   - ConfigChange hooks run afterwards, and CwdChanged hooks if the directory changed.
//
// Reconfigure may be called concurrently, and from tools and other callbacks: each Change is based on the one before
// it.
func (s *Session) Reconfigure(ctx context.Context, ch Change) error {
	before, now, err := s.reconfigure(ctx, ch)
	if err != nil {
		return err
	}
	s.fire(ctx, hook.Input{Event: hook.ConfigChange, Source: "session"})
	if before, now := envDir(before), envDir(now); before != now {
		s.fire(ctx, hook.Input{Event: hook.CwdChanged, OldDir: before, NewDir: now})
	}
	return nil
}

// reconfigure applies a Change and returns the configuration before and after it.
func (s *Session) reconfigure(ctx context.Context, ch Change) (before, now Config, err error) {
	s.changing.Lock() // each change is based on the one before it
	defer s.changing.Unlock()
	s.tree.mu.Lock()
	before = s.now
	if n := len(s.changes); n > 0 {
		before = s.changes[n-1].config
	}
	s.tree.mu.Unlock()
	next, err := s.change(ctx, before, ch)
	if err != nil {
		return before, now, err
	}
	err = s.commit(func() error {
		s.changes = append(s.changes, next)
		s.replaceJudges(next.config.Policy, ch)
		s.applyChanges()
		return nil
	})
	return before, next.config, err
}

func envDir(c Config) string {
	if c.Env == nil {
		return ""
	}
	return c.Env.Info().Dir
}

// change applies ch to a configuration and returns the result with its kit.
func (s *Session) change(ctx context.Context, c Config, ch Change) (out change, err error) {
	provider, model := cmp.Or(ch.Provider, c.Provider), cmp.Or(ch.Model, c.Model)
	moved := provider != c.Provider || model != c.Model
	c.Provider, c.Model = provider, model
	if moved {
		c.ContextWindow = 0
	}
	if moved && !ch.Keep {
		if err := c.adapt(ctx); err != nil {
			return out, err
		}
	}
	ch.apply(&c)
	if ch.Policy != nil && c.Govern != nil {
		var without []string
		c.Policy, without = c.Govern(ctx, ch.Policy)
		ch.Remove = slices.Concat(ch.Remove, without)
	}
	if ch.Effort != nil {
		if err := c.Catalogue.CheckEffort(c.Provider, c.Model, c.Effort); err != nil {
			return out, err
		}
	}
	if err := c.changeTools(ch); err != nil {
		return out, err
	}
	if err := c.complete(); err != nil {
		return out, err
	}
	out.config, out.mode = c, ch.Mode != ""
	out.kit, err = s.newKit(c)
	return out, err
}

// adapt applies the setup that Adapt returns for the configured model.
func (c *Config) adapt(ctx context.Context) error {
	if c.Adapt == nil {
		return nil
	}
	set, err := c.Adapt(ctx, c.Provider, c.Model)
	if err != nil {
		return err
	}
	if set.Tools != nil {
		c.Tools = set.Tools
	}
	c.Options = set.Options
	c.Vision = set.Vision
	c.Unary = set.Unary
	c.Serial = set.Serial
	c.ContextWindow = set.ContextWindow
	c.System = cmp.Or(set.System, c.System)
	return nil
}

// apply sets the fields of c that ch changes, except the model and the tools.
func (ch Change) apply(c *Config) {
	if ch.System != nil {
		c.System = *ch.System
	}
	if ch.Effort != nil {
		c.Effort = *ch.Effort
	}
	if n := ch.ThinkingBudget; n != nil {
		c.ThinkingBudget = new(*n) // the caller may change its own value
		if *n < 0 {
			c.ThinkingBudget = nil
		}
	}
	if ch.Timeouts != nil {
		c.Timeouts = *ch.Timeouts
	}
	if ch.Options != nil {
		c.Options = ch.Options
	}
	c.Mode = cmp.Or(ch.Mode, c.Mode)
	if ch.Policy != nil {
		c.Policy = ch.Policy
	}
	if ch.Approve != nil {
		c.Approve = ch.Approve
	}
	if ch.Env != nil {
		c.Env = ch.Env
	}
	if ch.Vision != nil {
		c.Vision = *ch.Vision
	}
	c.ContextWindow = cmp.Or(ch.ContextWindow, c.ContextWindow)
}

// changeTools changes the tools. Earlier additions and removals also apply to a new model's tools.
func (c *Config) changeTools(ch Change) error {
	if ch.Tools != nil {
		c.Tools = ch.Tools
		c.added = nil
		c.removed = nil
	}
	if err := tool.CheckNames(ch.Add...); err != nil {
		return err
	}
	c.added = slices.DeleteFunc(slices.Clone(c.added), func(t tool.Tool) bool {
		return slices.ContainsFunc(ch.Add, func(a tool.Tool) bool { return a.Spec().Name == t.Spec().Name })
	})
	c.added = append(c.added, ch.Add...)
	c.removed = append(slices.Clip(c.removed), ch.Remove...)
	for _, t := range ch.Add {
		c.removed = slices.DeleteFunc(slices.Clone(c.removed), func(n string) bool { return n == t.Spec().Name })
	}
	c.added = slices.DeleteFunc(c.added, func(t tool.Tool) bool { return slices.Contains(ch.Remove, t.Spec().Name) })
	if len(c.added)+len(c.removed) == 0 {
		return nil
	}
	c.Tools = c.Tools.Select(func(name string) bool { return !slices.Contains(c.removed, name) })
	return c.Tools.Register(c.added...)
}

// replaceJudges replaces the policy and the approver, as ch requests, and records it; tree.mu is held.
func (s *Session) replaceJudges(p policy.Policy, ch Change) {
	if ch.Policy == nil && ch.Approve == nil {
		return
	}
	if ch.Policy != nil {
		s.tree.policy = p
	}
	if ch.Approve != nil {
		close(s.tree.approver.replaced)
		s.tree.approver = newApprover(ch.Approve)
	}
	s.note(event.Settings{Setup: s.setup(), PolicySet: ch.Policy != nil, ApproverSet: ch.Approve != nil})
}

// applyChanges applies the pending changes if all tool calls have their results; tree.mu is held.
func (s *Session) applyChanges() {
	if len(s.changes) == 0 || s.work != nil && !s.state.Safe() {
		return
	}
	last := s.changes[len(s.changes)-1]
	before := s.setup()
	dir := s.now.Env.Info().Dir
	tools := s.kit.definitions
	set := slices.ContainsFunc(s.changes, func(c change) bool { return c.mode })
	s.now = last.config
	s.kit = last.kit
	s.changes = nil
	d := event.Settings{Setup: s.setup(), ModeSet: set && s.now.Mode != s.tree.fold.Mode()}
	if c := s.now.System; c != s.state.System() {
		d.System = c
	}
	if to := s.now.Env.Info().Dir; to != dir {
		d.Dir = to
	}
	if d.Provider == before.Provider && d.Model == before.Model {
		d.ToolChange = s.toolChange(tools)
	}
	if !s.closed && (d.System != "" || d.Dir != "" || d.ModeSet || d.ToolChange != nil || !reflect.DeepEqual(before, d.Setup)) {
		s.note(d)
	}
}

// toolChange returns the tool changes since a list, for a model that accepts them in the conversation. It returns nil
// if nothing changed, or if the tool list must be sent anew; tree.mu is held.
func (s *Session) toolChange(before []llm.ToolDef) *llm.ToolChange {
	if !s.state.Effective().InlineTools || s.state.Turns() == 0 {
		return nil
	}
	c, ok := llm.ChangeTools(before, s.kit.definitions)
	if !ok || len(c.Add)+len(c.Remove) == 0 {
		return nil
	}
	return &c
}

// setup returns the setup for a record.
func (s *Session) setup() event.Setup {
	c := &s.now
	return event.Setup{
		ModelSetup:     c.model(c.Provider, c.Model, c.ContextWindow),
		Effort:         c.Effort,
		ThinkingBudget: c.ThinkingBudget,

		Timeouts: c.Timeouts,
		Tools:    s.kit.tools.Names(),
		Vision:   c.Vision,
		Mode:     c.Mode,
		Rules:    c.rules(s.depth),
	}
}

// model returns a model's known properties.
func (c *Config) model(provider, name string, window int64) event.ModelSetup {
	m, _ := c.Catalogue.Lookup(provider, name)
	set := event.ModelSetup{
		Provider:    provider,
		Model:       name,
		Window:      cmp.Or(window, m.InputLimit()),
		Unpriced:    m.Price == nil,
		LateSystem:  m.Rules.LateSystem,
		InlineTools: m.Rules.InlineTools,
		Compacts:    m.Rules.Compacts && m.Rules.PrefixCheck,
		NoPrefill:   m.Rules.NoPrefill,
	}
	if p := m.Price.At(time.Now()); p != nil && p.Long != nil {
		set.PriceStep = p.LongFrom
	}
	return set
}

// rules returns an agent's limits and thresholds.
func (c *Config) rules(depth int) event.Rules {
	r := event.Rules{
		ToolRounds: max(c.Limits.ToolRounds, 0),
		Turns:      max(c.Limits.Turns, 0),
		LoopWindow: max(c.LoopWindow, 0),

		CompactAt: c.Compaction.At,
		CompactTo: c.Compaction.To,
		NoSummary: c.Compaction.NoModel,
		PastStep:  c.Compaction.PastPriceStep,

		Reports: c.Subagents.Teams,

		StopHooks: len(c.Hooks.Match(hook.Input{Event: stopEvent(depth), AgentType: c.kind})) > 0,
	}
	for _, m := range c.Fallback {
		r.Fallback = append(r.Fallback, c.model(cmp.Or(m.Provider, c.Provider), m.Name, 0))
	}
	if depth == 0 {
		r.TreeTurns, r.TreeTokens = max(c.Limits.TreeTurns, 0), max(c.Limits.TreeTokens, 0)
		r.TreeCost, r.TreeDuration = max(c.Limits.TreeCost, 0), max(c.Limits.TreeDuration, 0)
	}
	return r
}

// SetModel changes the model and, unless it is empty, the provider. It is short for Reconfigure.
func (s *Session) SetModel(provider, model string) error {
	return s.Reconfigure(context.Background(), Change{Provider: provider, Model: model})
}

// SetEffort changes the reasoning effort; "" means the provider's default. It is short for Reconfigure.
func (s *Session) SetEffort(effort string) error {
	return s.Reconfigure(context.Background(), Change{Effort: &effort})
}

// SetThinkingBudget changes the thinking budget in tokens, where the provider supports it; a negative number means the
// provider's default. It is short for Reconfigure.
func (s *Session) SetThinkingBudget(tokens int) error {
	return s.Reconfigure(context.Background(), Change{ThinkingBudget: &tokens})
}

// SetMode changes the permission mode for the session and all its subagents. It is short for Reconfigure.
func (s *Session) SetMode(m policy.Mode) error {
	return s.Reconfigure(context.Background(), Change{Mode: m})
}

// SetTimeouts changes the command timeouts; zero fields mean the tools' own timeouts. It is short for Reconfigure.
func (s *Session) SetTimeouts(t tool.Timeouts) error {
	return s.Reconfigure(context.Background(), Change{Timeouts: &t})
}

// created reports whether a tool call in the session created a file.
func (s *Session) created(path string) bool {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	return s.tree.fold.Created(path)
}

// granted reports whether an earlier approval covers a call.
func (s *Session) granted(ctx context.Context, q policy.Query) (rule string, ok bool) {
	s.tree.mu.Lock()
	grants, p := s.tree.fold.Grants(), s.tree.policy
	s.tree.mu.Unlock()
	if p == nil {
		p = policy.AskAll{}
	}
	return grants.Find(ctx, p, q)
}
