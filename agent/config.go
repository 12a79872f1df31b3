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

// Streamer makes model calls; *llm.Client implements it. It may be called concurrently, by subagents. Unless it also
// implements llm.Shaper, some cache breaks go unreported.
type Streamer interface {
	Stream(ctx context.Context, r *llm.Request) iter.Seq2[llm.StreamEvent, error]
}

// Config configures a session. Client, Model and Env are required.
//
// The functions in a Config are called by the session and its subagents, possibly concurrently. They must not call
// methods that wait for the work, such as Close and Interrupt. A nil function has no effect unless its comment says
// otherwise.
type Config struct {
	ID       string // "" generates one
	Client   Streamer
	Provider string
	Model    string
	Effort   string
	// ThinkingBudget limits thinking, in tokens, where the provider supports it. nil means the provider's default.
	ThinkingBudget *int
	// Timeouts for commands; zero fields mean the tools' own timeouts.
	Timeouts tool.Timeouts
	System   string // system prompt
	// Tools is copied. Use Reconfigure to add and remove tools later.
	Tools *tool.Registry
	// Allow lists the tools that may be used; nil allows all. Deny excludes tools, also allowed ones.
	Allow, Deny []string
	Env         env.Environment

	// Policy judges every tool call, also in subagents; nil means policy.Default. Mode is the permission mode in which
	// it judges, and "" means policy.ModeDefault. Reconfigure can replace both at any time. A subagent is never less
	// strict than its parent.
	Policy    policy.Policy
	Mode      policy.Mode
	Workspace policy.Workspace // for the policy; Env determines Dir
	// Approve decides on a tool call that the policy asks about. Without Approve, such calls are refused, and a warning
	// is recorded.
	//
	//   - Approve may block as long as it needs, for instance until a user answers. It is called concurrently when
	//     read-only calls or subagents run in parallel.
	//   - The request and the answer are recorded before the call runs. An answer with a wider Scope or with Rules also
	//     covers later calls. A call whose wait was interrupted is asked about again when the work continues.
	//   - Approving changed arguments (Approval.Args) has them validated and judged again.
	//   - [Session.Resolve] can answer first; then ctx is canceled and the result of Approve is ignored. The same happens
	//     when Reconfigure replaces the approver, which is then asked instead.
	//   - If Approve returns tool.ErrPending, or ctx ends, the call stays pending: it is neither run nor refused, and
	//     Resolve and Continue finish it, in this process or a later one. See [ApproveLater].
	//   - Any other error, or a panic, refuses the call and tells the model why.
	Approve func(ctx context.Context, r tool.Request) (tool.Approval, error)
	// Govern, if set, returns the policy to use when Reconfigure replaces Policy, and tools to remove because of it.
	// It is for hosts that wrap policies.
	Govern func(ctx context.Context, p policy.Policy) (governed policy.Policy, without []string)
	// Describe describes a call that needs approval to the approver. The description is recorded, with secrets redacted.
	Describe func(ctx context.Context, r tool.Request) event.Description
	// Middleware wraps the execution of each permitted call, also in subagents; the first is outermost.
	Middleware []tool.Middleware
	// Secrets redacts tool output, tool results and descriptions; nil redacts nothing.
	Secrets *secret.Redactor
	// Audit gets the outcome of every tool call, also of a refused call, before its result is recorded. A call that stays
	// pending is reported when it ends. agent is the calling agent's path.
	Audit func(session, agent string, o tool.Outcome)
	// Hooks run at events in the session and its subagents. Their commands run in Env. Each run is recorded.
	Hooks *hook.Set
	// BeforeModel may change a request before it is sent. An error ends the work with StatusFailed.
	BeforeModel []func(ctx context.Context, r *llm.Request) error
	// TransformContext may replace the messages in a request. It must not modify them in place. The conversation itself
	// does not change.
	TransformContext func([]llm.Message) []llm.Message

	// Adapt returns the setup for another model, for Reconfigure, Resume and subagents. If it is nil, tools and prompt
	// stay the same when the model changes. An error refuses the change.
	Adapt func(ctx context.Context, provider, model string) (Setup, error)

	Options   map[string]llm.Options // provider options for every request
	CacheTTL  string                 // how long providers keep their prompt cache; see llm.Request
	Tier      string                 // service tier; see llm.Request
	Display   string                 // how thinking is shown; see llm.Request
	MaxOutput int                    // maximum tokens per answer; 0 means the model's limit
	Vision    bool                   // the model supports images
	Unary     bool                   // request whole answers instead of streams
	// Serial runs the tool calls in an answer one after the other, even read-only calls.
	Serial bool
	// ContextWindow is the model's context window, in tokens; 0 means the catalogue's value.
	ContextWindow int64
	Catalogue     *llm.Catalogue // for prices and windows; nil means llm.DefaultCatalogue()

	// Store saves the session, so that it can be resumed; nil keeps it in memory. Meta describes a new session in the
	// store: title, tags, branch.
	Store event.Store
	Meta  event.Meta
	// SkipDamaged makes Resume skip unreadable records instead of failing.
	SkipDamaged bool
	// Checkpoints saves the workspace before each input that changes it, for Undo. nil means that Undo cannot restore
	// files.
	Checkpoints Checkpoints
	// Background manages the commands that tools leave running; nil means that users do not see them.
	Background Background
	// Compaction shrinks the conversation when it fills the context window.
	Compaction Compaction
	// Fallback lists models that take over, in this order, until the next input when a model cannot be reached, is unknown
	// or refuses.
	Fallback []Model

	Limits     Limits
	ToolLimits map[string]tool.Limit // output limits for the model, by tool
	LoopWindow int                   // calls that loop detection compares; 0 means 10, negative disables it
	Subagents  Subagents

	// Owned is closed with the session, in this order, after all work has stopped. An environment that is not shared
	// belongs here.
	Owned []io.Closer

	kind    string      // subagent type
	strict  policy.Mode // a subagent is never less strict
	named   bool        // tools in agent types were checked
	added   []tool.Tool // by Reconfigure
	removed []string
}

// Model names a model and its provider; "" means the session's provider.
type Model struct{ Provider, Name string }

// Limits limits a session. Zero fields mean the default, negative fields no limit. Tree limits include all subagents. They
// are checked before each model call. Work that reaches a limit ends with StatusLimit.
type Limits struct {
	ToolRounds int // per input; default 200
	Turns      int // model answers; default no limit

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

// checkPrices returns an error if there is a cost limit and a model has no known price. Subagents' models are checked before
// they are called.
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
	problem(
		slices.ContainsFunc(c.BeforeModel, func(f func(context.Context, *llm.Request) error) bool { return f == nil }),
		"BeforeModel contains nil",
	)
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
