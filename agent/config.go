package agent

import (
	"cmp"
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
	"github.com/reins-agent/reins/hook"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/secret"
	"github.com/reins-agent/reins/tool"
)

// Streamer makes model calls. An *llm.Client is one. Unless it implements llm.Shaper, some cache breaks
// go unreported.
type Streamer interface {
	Stream(ctx context.Context, r *llm.Request) iter.Seq2[llm.StreamEvent, error]
}

// Config configures a session. Client, Model and Env are required.
type Config struct {
	ID       string // "" generates one
	Client   Streamer
	Provider string
	Model    string
	Effort   string
	// ThinkingBudget limits thinking, in tokens, where the provider supports it.
	ThinkingBudget *int
	// Timeouts of commands; zero fields use those of the tools.
	Timeouts tool.Timeouts
	System   string // the system prompt
	// Tools is copied. Use Reconfigure to add and remove tools later.
	Tools *tool.Registry
	// Allow lists the tools that may be used; nil allows all. Deny excludes tools.
	Allow, Deny []string
	Env         env.Environment

	// Policy, Mode, Approve and Middleware configure the tool pipeline, also for subagents. They may be called
	// concurrently, because read-only calls run in parallel.
	//
	// If the context of Approve ends, or if Approve returns tool.ErrPending, the call stays pending; see Resolve
	// and Continue. Without Approve, calls that need an approval are refused.
	Policy    policy.Policy
	Mode      policy.Mode
	Workspace policy.Workspace // for the policy; Dir is replaced by that of Env
	Approve   func(ctx context.Context, r tool.Request) (tool.Approval, error)
	// Govern, if set, returns the policy to use when Reconfigure replaces Policy, and the tools to remove because of it.
	// It is for hosts that add to the policies of others.
	Govern func(ctx context.Context, p policy.Policy) (governed policy.Policy, without []string)
	// Describe describes a call that needs approval to the person who decides. The description is recorded.
	Describe   func(ctx context.Context, r tool.Request) event.Description
	Middleware []tool.Middleware
	// Secrets redacts what tools print and return, and what Describe says; nil redacts nothing.
	Secrets *secret.Redactor
	// Audit gets the outcome of every tool call, also if it was refused. It may be called concurrently.
	Audit func(session, agent string, o tool.Outcome)
	// Hooks run at events of the session and its subagents, possibly concurrently. Their commands run in Env.
	// Each run is recorded.
	Hooks *hook.Set
	// BeforeModel may change a request before it is sent. An error ends the work with StatusFailed.
	BeforeModel []func(ctx context.Context, r *llm.Request) error
	// TransformContext may replace the messages of a request. It must not modify them in place. The
	// conversation itself does not change.
	TransformContext func([]llm.Message) []llm.Message

	// Adapt returns the setup for another model, for Reconfigure, Resume and subagents. Without it, tools and
	// prompt stay the same when the model changes.
	Adapt func(ctx context.Context, provider, model string) (Setup, error)

	Options   map[string]llm.Options // provider options for every request
	CacheTTL  string                 // how long providers keep their prompt cache; see llm.Request
	Tier      string                 // the service tier; see llm.Request
	Display   string                 // how thinking is shown; see llm.Request
	MaxOutput int                    // maximum tokens of one answer; 0 is the limit of the model
	Vision    bool                   // the model supports images
	Unary     bool                   // request whole answers instead of streams
	// Serial runs the tool calls of an answer one after the other, including read-only ones.
	Serial bool
	// ContextWindow is the window of the model, in tokens; 0 uses the catalogue.
	ContextWindow int64
	Catalogue     *llm.Catalogue // for prices and windows; nil is llm.DefaultCatalogue()

	// Store saves the session, so that it can be resumed; nil keeps it in memory. Meta describes a new
	// session in the store: title, tags, branch.
	Store event.Store
	Meta  event.Meta
	// SkipDamaged makes Resume skip records that cannot be read instead of failing.
	SkipDamaged bool
	// Checkpoints saves the workspace before each input that changes it, for Undo.
	Checkpoints Checkpoints
	// Compaction shrinks the conversation when it fills the model's window.
	Compaction Compaction
	// Fallback lists models to use for the rest of an input after all retries failed.
	Fallback []Model

	Limits     Limits
	ToolLimits map[string]tool.Limit // what the model sees of outputs, by tool
	LoopWindow int                   // calls that loop detection compares; 0 is 10, negative is off
	Subagents  Subagents

	// Owned is closed with the session, in order. An environment that is not shared belongs here.
	Owned []io.Closer

	kind    string      // type of a subagent
	strict  policy.Mode // a subagent is never less strict
	named   bool        // the tools of agent types were checked
	added   []tool.Tool // by Reconfigure
	removed []string
}

// Model names a model and its provider; "" is the provider of the session.
type Model struct{ Provider, Name string }

// Limits of a session. Zero fields use the default, negative ones mean no limit. Tree limits include all
// subagents. They are checked before each model call.
type Limits struct {
	ToolRounds int // per input; default 200
	Turns      int // answers of the model; default no limit

	TreeTurns    int // model calls
	TreeTokens   int64
	TreeCost     float64       // US dollars; with it, a model without a known price is an error
	TreeDuration time.Duration // time spent working
}

// complete validates the configuration, reporting every problem, and fills in the defaults.
func (c *Config) complete() error {
	if c.Tools == nil {
		c.Tools = &tool.Registry{}
	}
	if err := errors.Join(append(c.missing(), c.unknownTools()...)...); err != nil {
		return fmt.Errorf("invalid session configuration: %w", err)
	}
	if c.Catalogue == nil {
		c.Catalogue = llm.DefaultCatalogue()
	}
	c.Limits.ToolRounds, c.LoopWindow = cmp.Or(c.Limits.ToolRounds, 200), cmp.Or(c.LoopWindow, 10)
	c.Subagents = c.Subagents.withDefaults()
	c.named = true
	return c.checkPrices()
}

// checkPrices returns an error if there is a cost limit and a model has no known price. The models of subagents are
// checked before they are called.
func (c *Config) checkPrices() error {
	if c.Limits.TreeCost <= 0 {
		return nil
	}
	for _, m := range append([]Model{{c.Provider, c.Model}}, c.Fallback...) {
		if c.model(cmp.Or(m.Provider, c.Provider), m.Name, 0).Unpriced {
			return llm.Errorf(llm.ErrConfiguration, "", "cannot enforce the cost limit: the price of %s is unknown; "+
				"add the model to the catalogue or remove Limits.TreeCost", m.Name)
		}
	}
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
	problem(c.LoopWindow > 0 && c.LoopWindow < 2, "LoopWindow is too small: use 2 or more, or a negative number to disable loop detection")
	problem(slices.ContainsFunc(c.Middleware, func(m tool.Middleware) bool { return m == nil }), "Middleware contains nil")
	problem(slices.ContainsFunc(c.BeforeModel, func(f func(context.Context, *llm.Request) error) bool { return f == nil }), "BeforeModel contains nil")
	problem(slices.Contains(c.Owned, nil), "Owned contains nil")
	return problems
}

// unknownTools reports unknown tool names.
func (c *Config) unknownTools() (problems []error) {
	check := func(where string, names []string) {
		for _, n := range names {
			if _, ok := c.Tools.Spec(n); !ok && !isOwnTool(n) && !tool.ComesLater(n) {
				problems = append(problems, fmt.Errorf("%s: unknown tool %q", where, n))
			}
		}
	}
	check("Allow", c.Allow)
	check("Deny", c.Deny)
	if c.named { // the tools of another model may have other names
		return problems
	}
	for _, name := range sortedNames(c.Subagents.Types) {
		check(fmt.Sprintf("agent type %s", name), c.Subagents.Types[name].Tools)
	}
	return problems
}
