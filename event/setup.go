package event

import (
	"time"

	"github.com/reins-agent/reins/tool"
)

// Setup is how an agent is set up: everything that its decisions depend on beside what happened. A
// record that carries it replaces all of it.
type Setup struct {
	ModelSetup
	Effort         string `json:"effort,omitempty"` // "" is the provider's default
	ThinkingBudget *int   `json:"thinking_budget,omitempty"`
	// Timeouts are those of commands; zero ones are the tools' own.
	Timeouts tool.Timeouts `json:"command_timeouts,omitzero"`
	Tools    []string      `json:"tools,omitempty"` // the names of those that are offered
	Vision   bool          `json:"vision,omitempty"`
	Rules    Rules         `json:"rules,omitzero"`
}

// ModelSetup is a model and what must be known of it.
type ModelSetup struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Window   int64  `json:"context_window,omitempty"` // in tokens; 0 is not known
	Unpriced bool   `json:"unpriced,omitempty"`       // what it costs is not known
}

// Rules are the limits and thresholds of an agent. Zero is no limit, and never.
type Rules struct {
	ToolRounds int `json:"tool_rounds,omitempty"` // of one input
	Turns      int `json:"turns,omitempty"`       // of the agent
	LoopWindow int `json:"loop_window,omitempty"` // how many tool calls loop detection looks at

	// Limits of the whole tree of agents.
	TreeTurns    int           `json:"tree_turns,omitempty"`
	TreeTokens   int64         `json:"tree_tokens,omitempty"`
	TreeCost     float64       `json:"tree_cost,omitempty"`
	TreeDuration time.Duration `json:"tree_duration_ns,omitempty"`

	CompactAt float64 `json:"compact_at,omitempty"` // a share of the context window
	CompactTo float64 `json:"compact_to,omitempty"`
	NoSummary bool    `json:"no_summary,omitempty"` // compact without asking the model

	Fallback []ModelSetup `json:"fallback,omitempty"`
}
