package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// Streamer makes model calls. An *llm.Client is one. Unless it implements llm.Shaper, some cache breaks
// go unreported.
type Streamer interface {
	Stream(ctx context.Context, r *llm.Request) iter.Seq2[llm.StreamEvent, error]
}

// Config sets up a session. Client, Model and Env are needed; all else has defaults.
type Config struct {
	ID       string // "" makes one
	Client   Streamer
	Provider string
	Model    string
	Effort   string
	// ThinkingBudget sets the thinking in tokens, where the provider takes that.
	ThinkingBudget *int
	// Timeouts are for commands; zero ones are the tools' own.
	Timeouts tool.Timeouts
	System   string // the system prompt
	// Tools are copied: what is registered later is not seen. Reconfigure adds and removes tools.
	Tools *tool.Registry
	// Allow lists the tools that may be used; nil is all of them. Deny takes out of those.
	Allow, Deny []string
	Env         env.Environment

	// Policy, Mode, Approve, Hooks and Middleware are those of the tool pipeline, for subagents too. Calls that
	// only read run side by side, so all of them may be called concurrently.
	//
	// Approve may take its time: when ctx ends, or if it returns tool.ErrPending, the call keeps waiting,
	// and Resolve and Continue take it up again. Without it, what needs an approval is refused.
	Policy     policy.Policy
	Mode       policy.Mode
	Approve    func(ctx context.Context, r tool.Request) (tool.Approval, error)
	Hooks      []tool.Hook
	Middleware []tool.Middleware
	// BeforeModel may change a request before it is sent; its error fails the turn.
	BeforeModel []func(ctx context.Context, r *llm.Request) error
	// TransformContext may replace the messages of a request; it must not change those it is given.
	// The history stays as it is.
	TransformContext func([]llm.Message) []llm.Message

	// Adapt tells what goes with another model: Reconfigure, Resume and subagents of another model ask
	// it. Without it, tools and prompt stay as they are when the model changes.
	Adapt func(ctx context.Context, provider, model string) (Setup, error)

	Options   map[string]llm.Options // provider options for every request
	MaxOutput int                    // tokens of one answer; 0 is the model's own limit
	Vision    bool                   // the model can look at images
	Unary     bool                   // ask for whole answers instead of streams
	// Serial runs the tool calls of one answer one after the other, also those that only read.
	Serial bool
	// ContextWindow is the model's, in tokens; 0 takes the catalogue's.
	ContextWindow int64
	Catalogue     *llm.Catalogue // for prices and windows; nil is llm.DefaultCatalogue()

	// Store keeps the session, so that it can be resumed; nil keeps it in memory. Meta is what to
	// tell the store about a new session beyond what the session itself knows: a title, tags, the
	// branch.
	Store event.Store
	Meta  event.Meta
	// SkipDamaged resumes a session without the records that cannot be read. Otherwise that fails.
	SkipDamaged bool
	// Checkpoints keep the state of the workspace before each input that changes it, for Undo.
	Checkpoints Checkpoints
	// Compaction makes the conversation smaller when it comes to fill the model's window.
	Compaction Compaction
	// Fallback are models for the rest of an input after one could not be reached, retries and all.
	Fallback []Model

	Limits     Limits
	ToolLimits map[string]tool.Limit // what the model sees of outputs, by tool
	LoopWindow int                   // calls that loop detection looks at; 0 is 10, negative is off
	Subagents  Subagents

	// Owned are closed with the session, in this order, when its work is over. An environment that
	// is not shared belongs here.
	Owned []io.Closer

	added   []tool.Tool // by Reconfigure
	removed []string
}

// Model names a model and its provider; "" is the provider of the session.
type Model struct{ Provider, Name string }

// Limits bound a session. Zero fields are the defaults; negative ones are no limit. Those of the
// tree count all subagents in, and are checked before each call of a model.
type Limits struct {
	ToolRounds int // of one input; 200
	Turns      int // of the session; no limit

	TreeTurns    int           // no limit
	TreeTokens   int64         // no limit
	TreeCost     float64       // in US dollars; no limit. A model without a price cannot be called under it.
	TreeDuration time.Duration // of work, without the time spent idle; no limit
}

// complete checks the configuration, naming every problem, and fills in the defaults.
func (c *Config) complete() error {
	if c.Tools == nil {
		c.Tools = &tool.Registry{}
	}
	if err := errors.Join(append(c.missing(), c.unknownTools()...)...); err != nil {
		return fmt.Errorf("the session cannot be set up: %w", err)
	}
	if c.Catalogue == nil {
		c.Catalogue = llm.DefaultCatalogue()
	}
	if c.Limits.ToolRounds == 0 {
		c.Limits.ToolRounds = 200
	}
	if c.LoopWindow == 0 {
		c.LoopWindow = 10
	}
	c.Subagents = c.Subagents.withDefaults()
	return nil
}

func (c *Config) missing() (problems []error) {
	problem := func(wrong bool, text string) {
		if wrong {
			problems = append(problems, errors.New(text))
		}
	}
	problem(c.Client == nil, "Client is missing")
	problem(c.Model == "", "Model is missing")
	problem(c.Env == nil, "Env is missing")
	problem(c.MaxOutput < 0, "MaxOutput is negative")
	problem(c.ContextWindow < 0, "ContextWindow is negative")
	problem(!(c.Compaction.At >= 0 && c.Compaction.At <= 1), "Compaction.At is not between 0 and 1")
	problem(!(c.Compaction.To >= 0 && c.Compaction.To <= 1), "Compaction.To is not between 0 and 1")
	problem(math.IsNaN(c.Limits.TreeCost), "Limits.TreeCost is not a number")
	problem(c.LoopWindow > 0 && c.LoopWindow < 2, "LoopWindow is too small to see a loop in: use 2 or more, or a negative number for none")
	problem(slices.ContainsFunc(c.Middleware, func(m tool.Middleware) bool { return m == nil }), "Middleware has a nil in it")
	problem(slices.ContainsFunc(c.BeforeModel, func(f func(context.Context, *llm.Request) error) bool { return f == nil }), "BeforeModel has a nil in it")
	problem(slices.Contains(c.Owned, nil), "Owned has a nil in it")
	return problems
}

// unknownTools finds names of tools that do not exist.
func (c *Config) unknownTools() (problems []error) {
	check := func(where string, names []string) {
		for _, n := range names {
			if _, ok := c.Tools.Spec(n); !ok && !isSubagentTool(n) {
				problems = append(problems, fmt.Errorf("%s: unknown tool %q", where, n))
			}
		}
	}
	check("Allow", c.Allow)
	check("Deny", c.Deny)
	for _, name := range sortedNames(c.Subagents.Types) {
		check(fmt.Sprintf("agent type %s", name), c.Subagents.Types[name].Tools)
	}
	return problems
}
