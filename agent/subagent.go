package agent

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/tool"
)

// Subagents says which agents a session may spawn. The zero value allows them one level deep.
type Subagents struct {
	MaxDepth  int // levels below the session; 0 is 1, negative is none at all
	MaxAgents int // alive or ended, in the whole tree; 0 is 32
	MaxTurns  int // of one agent, if the call does not say; 0 is 50
	// Outlive lets subagents go on when the turn of the agent above them is interrupted; otherwise
	// the whole tree below it is. Closing the session ends them all the same.
	Outlive bool
	// Types are kinds of agents beside the built-in ones, by name, and replace those.
	Types map[string]AgentType
}

// AgentType is a kind of subagent.
type AgentType struct {
	Description string   // for the model that chooses
	System      string   // the system prompt; "" is that of the session
	Preface     string   // stands before every task
	Tools       []string // what it may use; nil is all that the session has
	ReadOnly    bool     // it may use only tools that change nothing
	Model       string   // "" is that of the session
	Effort      string
	MaxTurns    int
}

// builtinTypes are the kinds of agents that every session has. They are shared and never changed.
var builtinTypes = map[string]AgentType{
	"Explore": {
		Description: "looks around in the code and reports what it found; changes nothing", ReadOnly: true,
		Preface: "Find out what is asked below. You can read and search but change nothing. Your last message is your report: say what you found and where, with paths and line numbers.",
	},
	"Plan": {
		Description: "works out how to do a task and reports the steps; changes nothing", ReadOnly: true,
		Preface: "Work out how to do the task below. You can read and search but change nothing. Your last message is the plan: the steps in order, the files that they touch, and what could go wrong.",
	},
}

func (c Subagents) withDefaults() Subagents {
	if c.MaxDepth == 0 {
		c.MaxDepth = 1
	}
	if c.MaxAgents == 0 {
		c.MaxAgents = 32
	}
	if c.MaxTurns == 0 {
		c.MaxTurns = 50
	}
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

// registry returns the tools of this session: those of the configuration that are allowed, and those for
// subagents where it may have any and the host has none of that name.
func (s *Session) registry(c Config) (*tool.Registry, error) {
	allow, deny := realNames(c.Tools, c.Allow), realNames(c.Tools, c.Deny)
	allowed := func(name string) bool {
		return (allow == nil || slices.Contains(allow, name)) && !slices.Contains(deny, name)
	}
	r := c.Tools.Select(allowed)
	if s.depth >= c.Subagents.MaxDepth {
		return r, nil
	}
	for _, t := range s.subagentTools(c.Subagents.Types) {
		name := t.Spec().Name
		if _, taken := c.Tools.Spec(name); taken || !allowed(name) {
			continue
		}
		if err := r.Register(t); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Offered describes the tools that a session with this configuration offers to its model, those for
// subagents too.
func Offered(c Config) []tool.Spec {
	if c.Tools == nil {
		c.Tools = &tool.Registry{}
	}
	c.Subagents = c.Subagents.withDefaults()
	r, err := new(Session).registry(c)
	if err != nil {
		panic("agent: a tool for subagents cannot be registered: " + err.Error())
	}
	return r.Specs()
}

// realNames returns the names of tools without aliases; nil stays nil.
func realNames(tools *tool.Registry, names []string) []string {
	real := slices.Clone(names)
	for i, n := range names {
		if spec, ok := tools.Spec(n); ok {
			real[i] = spec.Name
		}
	}
	return real
}

// childConfig is the configuration of a subagent: that of its session but for what the request and
// the type say otherwise. It can never do more than its session.
func (s *Session) childConfig(ctx context.Context, start event.SubagentStart, kind AgentType) (Config, error) {
	s.tree.mu.Lock()
	c, tools := s.now, s.kit.tools
	s.tree.mu.Unlock()
	c.Tools = toolsFor(tools, kind)
	if model := cmp.Or(start.Model, kind.Model, c.Model); model != c.Model {
		if err := c.become(ctx, model, kind); err != nil {
			return c, err
		}
	}
	c.Effort = cmp.Or(kind.Effort, c.Effort)
	c.System = cmp.Or(kind.System, c.System)
	c.Limits.Turns = start.MaxTurns
	if c.Limits.Turns <= 0 {
		c.Limits.Turns = kind.MaxTurns
	}
	if c.Limits.Turns <= 0 {
		c.Limits.Turns = c.Subagents.MaxTurns
	}
	if kind.Tools != nil {
		c.Allow = kind.Tools
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

// become changes the model of a subagent's configuration, with the tools and the prompt that go with it. Where
// names say what an agent may use, the tools stay: those of another model have other names.
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

// toolsFor returns those of the tools that a subagent of a type may use. What belongs to the
// session itself is left out: a subagent has subagents of its own, and no user.
func toolsFor(tools *tool.Registry, kind AgentType) *tool.Registry {
	names := realNames(tools, kind.Tools)
	return tools.Select(func(name string) bool {
		spec, _ := tools.Spec(name)
		if spec.Role == roleAgent || spec.Role == roleAsk {
			return false
		}
		return (names == nil || slices.Contains(names, name)) && (!kind.ReadOnly || spec.ReadOnly)
	})
}
