package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/reins-agent/reins/agent/step"
	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// Subagents configures a session's subagents. The zero value allows one level.
type Subagents struct {
	MaxDepth  int // levels below the session; 0 means 1, negative disables subagents
	MaxAgents int // total in the session; 0 means 32
	MaxTurns  int // default per agent; 0 means 50
	// Outlive lets subagents continue when their parent is interrupted. Closing the session ends them
	// anyway.
	Outlive bool
	// Isolate opens the environment for a subagent that is spawned with isolation: the environment with this ID or, if
	// the ID is "", a new one that starts with from's files. The host closes it. nil means that isolation is not
	// available. Isolate may be called concurrently.
	Isolate func(ctx context.Context, from env.Environment, id string) (e env.Environment, opened string, err error)
	// Teams gives all agents tools for tasks, teams and mail, and tells them when their subagents end their work.
	Teams bool
	// Deferred names tools for subagents, tasks, teams and mail that are left out of requests; see [tool.Defer].
	Deferred []string
	// Types adds agent types to the built-in types, or replaces them, by name.
	Types map[string]AgentType
}

// AgentType is a kind of subagent.
type AgentType struct {
	Description string   // helps the model to choose
	System      string   // system prompt; "" means the session's
	Preface     string   // precedes every task
	Tools       []string // allowed tools; nil allows all the session's tools
	ReadOnly    bool     // allow read-only tools only
	Model       string   // "" means the session's model
	Effort      string
	MaxTurns    int
	Mode        policy.Mode // permission mode, if it is stricter than the session's
}

// builtinTypes are the agent types that every session has.
var builtinTypes = map[string]AgentType{
	"Explore": {
		Description: "explores the code; read-only", ReadOnly: true,
		Preface: "Find out what is asked below. You can read and search but not change anything. Your last message is your " +
			"report: what you found and where, with paths and line numbers.",
	},
	"Plan": {
		Description: "plans a task; read-only", ReadOnly: true,
		Preface: "Plan how to do the task below. You can read and search but not change anything. Your last message is the " +
			"plan: the steps in order, the files they touch, and what could go wrong.",
	},
}

func (c Subagents) withDefaults() Subagents {
	c.MaxDepth, c.MaxAgents, c.MaxTurns = cmp.Or(c.MaxDepth, 1), cmp.Or(c.MaxAgents, 32), cmp.Or(c.MaxTurns, 50)
	if len(c.Types) == 0 {
		c.Types = builtinTypes
		return c
	}
	types := maps.Clone(builtinTypes)
	maps.Copy(types, c.Types)
	c.Types = types
	return c
}

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// registry returns the configuration's allowed tools and, if subagents are allowed, the tools for them, unless the host
// has tools with these names.
func (s *Session) registry(c Config) (*tool.Registry, error) {
	allow, deny := realNames(c.Tools, c.Allow), realNames(c.Tools, c.Deny)
	allowed := func(name string) bool {
		return (allow == nil || slices.Contains(allow, name)) && !slices.Contains(deny, name)
	}
	excluded := func(name string) bool {
		_, taken := c.Tools.Spec(name)
		return taken || !allowed(name)
	}
	r := c.Tools.Select(allowed)
	for _, t := range s.ownTools(c.Subagents) {
		if excluded(t.Spec().Name) {
			continue
		}
		if err := r.Register(t); err != nil {
			return nil, err
		}
	}
	return r, r.RegisterSearch(excluded)
}

// ownTools returns the tools that the session adds itself.
func (s *Session) ownTools(c Subagents) (tools []tool.Tool) {
	if s.depth < c.MaxDepth {
		tools = s.subagentTools(c.Types)
	}
	if c.Teams {
		tools = append(tools, s.boardTools(c)...)
	}
	for i, t := range tools {
		if slices.Contains(c.Deferred, t.Spec().Name) {
			tools[i] = tool.Defer(t)
		}
	}
	return tools
}

// Offered returns the tools that a session with this configuration offers to its model, including the tools for
// subagents and without deferred tools.
func Offered(c Config) []tool.Spec {
	if c.Tools == nil {
		c.Tools = &tool.Registry{}
	}
	c.Subagents = c.Subagents.withDefaults()
	r, err := new(Session).registry(c)
	if err != nil {
		panic("agent: a tool for subagents cannot be registered: " + err.Error())
	}
	return slices.DeleteFunc(r.Specs(), func(spec tool.Spec) bool { return spec.Deferred })
}

// realNames resolves aliases; nil stays nil.
func realNames(tools *tool.Registry, names []string) []string {
	real := slices.Clone(names)
	for i, n := range names {
		if spec, ok := tools.Spec(n); ok {
			real[i] = spec.Name
		}
	}
	return real
}

// childConfig returns a subagent's configuration: its parent's, changed by the request and the type. A subagent can
// never do more than its parent. With isolate, it sets start.Worktree.
func (s *Session) childConfig(ctx context.Context, start *event.SubagentStart, kind AgentType, isolate bool) (_ Config, err error) {
	s.tree.mu.Lock()
	c, tools := s.now, s.kit.tools
	s.tree.mu.Unlock()
	if start.Mode != "" {
		kind, err = s.inMode(kind, start.Mode)
		if err != nil {
			return c, err
		}
	}
	c.Tools, c.kind = toolsFor(tools, kind), start.Type
	if kind.Mode != "" {
		c.strict = kind.Mode.Stricter(c.strict)
		c.Mode = c.Mode.Stricter(c.strict)
	}
	if model := cmp.Or(start.Model, kind.Model, c.Model); model != c.Model {
		if err := c.become(ctx, model, kind); err != nil {
			return c, err
		}
	}
	c.Effort = cmp.Or(kind.Effort, c.Effort)
	c.System = cmp.Or(kind.System, c.System)
	c.Limits.Turns = cmp.Or(max(start.MaxTurns, 0), max(kind.MaxTurns, 0), c.Subagents.MaxTurns)
	if kind.Tools != nil {
		c.Allow = kind.Tools
	}
	if isolate && c.Subagents.Isolate == nil {
		return c, errors.New("isolation is not available in this session")
	}
	if isolate {
		if c.Env, start.Worktree, err = c.Subagents.Isolate(ctx, c.Env, start.Worktree); err != nil {
			return c, err
		}
	}
	if start.Dir == "" {
		return c, nil
	}
	info, err := c.Env.Stat(ctx, start.Dir)
	if err != nil {
		return c, fmt.Errorf("working_dir %s: %w", start.Dir, err)
	}
	if !info.IsDir() {
		return c, fmt.Errorf("working_dir %s is not a directory", start.Dir)
	}
	c.Env = env.Scoped(c.Env, start.Dir)
	return c, nil
}

// inMode returns the type for a subagent that is spawned with a permission mode. In plan mode it has read-only tools
// only, so that no approval lets it change anything.
func (s *Session) inMode(kind AgentType, name string) (AgentType, error) {
	mode, err := policy.ParseMode(name)
	if err != nil {
		return kind, err
	}
	if own := cmp.Or(s.Mode(), policy.ModeDefault); mode.Stricter(own) != mode {
		return kind, fmt.Errorf("mode %s is less strict than that of this session, %s: leave it out", mode, own)
	}
	kind.Mode, kind.ReadOnly = mode.Stricter(kind.Mode), kind.ReadOnly || mode == policy.ModePlan
	return kind, nil
}

// become changes a subagent's model and the tools and prompt that go with it. If tools are restricted by name, they
// stay, because another model's tools have other names.
func (c *Config) become(ctx context.Context, model string, kind AgentType) error {
	c.Model, c.ContextWindow = model, 0
	if c.Adapt == nil || c.Allow != nil || len(c.Deny) > 0 || kind.Tools != nil {
		return nil
	}
	if err := c.adapt(ctx); err != nil {
		return fmt.Errorf("model %s: %w", model, err)
	}
	if err := c.changeTools(Change{}); err != nil {
		return err
	}
	c.Tools = toolsFor(c.Tools, kind)
	return nil
}

// toolsFor returns the tools that a subagent may use. It has its own subagents, and no user to ask.
func toolsFor(tools *tool.Registry, kind AgentType) *tool.Registry {
	names := realNames(tools, kind.Tools)
	return tools.Select(func(name string) bool {
		spec, _ := tools.Spec(name)
		switch spec.Role {
		case roleAgent, roleAsk, RoleSession, step.RoleEnterPlan, step.RoleExitPlan:
			return false
		}
		return (names == nil || slices.Contains(names, name)) && (!kind.ReadOnly || spec.ReadOnly)
	})
}
