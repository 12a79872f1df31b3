package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// Streamer makes model calls. An *llm.Client is one.
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
	System         string // the system prompt, the same for the session's life
	Tools          *tool.Registry
	// Allow lists the tools that may be used; nil is all of them. Deny takes out of those.
	Allow, Deny []string
	Env         env.Environment

	// Policy, Approve and Middleware are those of the tool pipeline.
	Policy     policy.Policy
	Approve    func(ctx context.Context, r tool.Request) (tool.Approval, error)
	Middleware []tool.Middleware
	// BeforeModel may change a request before it is sent; its error fails the turn.
	BeforeModel []func(ctx context.Context, r *llm.Request) error
	// TransformContext may replace the messages of a request. The history stays as it is.
	TransformContext func([]llm.Message) []llm.Message

	Options   map[string]llm.Options // provider options for every request
	MaxOutput int                    // tokens of one answer; 0 is the model's own limit
	Vision    bool                   // the model can look at images
	// Serial runs the tool calls of one answer one after the other, also those that only read.
	Serial bool
	// ContextWindow is the model's, in tokens; 0 takes the catalogue's.
	ContextWindow int64
	Catalogue     *llm.Catalogue // for prices and windows; nil is llm.DefaultCatalogue()

	Limits     Limits
	ToolLimits map[string]tool.Limit // what the model sees of outputs, by tool
	LoopWindow int                   // calls that loop detection looks at; 0 is 10, negative is off
	Subagents  Subagents
	toolsReady bool // for subagents: the registry is theirs already
}

// Limits bound a session. Zero fields are the defaults; negative ones are no limit. Those of the
// tree count all subagents in, and are checked before each call of a model.
type Limits struct {
	ToolRounds int // of one input; 200
	Turns      int // of the session; no limit

	TreeTurns    int           // no limit
	TreeTokens   int64         // no limit
	TreeCost     float64       // in US dollars; no limit. A model without a price cannot be called under it.
	TreeDuration time.Duration // no limit
}

func (c *Config) complete() error {
	var problems []error
	if c.Client == nil {
		problems = append(problems, errors.New("Client is missing"))
	}
	if c.Model == "" {
		problems = append(problems, errors.New("Model is missing"))
	}
	if c.Env == nil {
		problems = append(problems, errors.New("Env is missing"))
	}
	if c.Limits.TreeCost < 0 {
		problems = append(problems, errors.New("Limits.TreeCost is negative"))
	}
	if c.Tools == nil {
		c.Tools = &tool.Registry{}
	}
	for _, names := range [][]string{c.Allow, c.Deny} {
		for _, n := range names {
			if _, ok := c.Tools.Get(n); !ok && !isSubagentTool(n) {
				problems = append(problems, fmt.Errorf("there is no tool %q to allow or deny", n))
			}
		}
	}
	if err := errors.Join(problems...); err != nil {
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
