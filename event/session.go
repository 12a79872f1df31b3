package event

import (
	"encoding/json"
	"time"

	"github.com/reins-agent/reins/hook"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// SessionStart starts a session, or a subagent.
type SessionStart struct {
	ID string `json:"id"`
	Setup
	Dir    string `json:"dir,omitempty"`
	System string `json:"system,omitempty"` // the system prompt
}

// SessionEnd ends a session, or a subagent. It is the last record, unless the session is resumed.
type SessionEnd struct {
	Reason string `json:"reason"`
	State  State  `json:"state"`
	// Undelivered are queued messages. They are queued again when the session is resumed.
	Undelivered []llm.Message `json:"undelivered,omitempty"`
}

// SessionResume resumes a session. Its setup applies from now on.
type SessionResume struct {
	Setup
	Dir         string `json:"dir,omitempty"`
	System      string `json:"system,omitempty"`      // the system prompt, if it changed
	Interrupted bool   `json:"interrupted,omitempty"` // the session was interrupted while it worked
	// Imported means that the records before come from an archive. Their system prompt, approvals and
	// subagents no longer count.
	Imported bool `json:"imported,omitempty"`
	// ToolChange is how the tools differ from those before, if the model takes that in the conversation.
	ToolChange *llm.ToolChange `json:"tool_change,omitempty"`
	Lost       int             `json:"lost,omitempty"` // how many records could not be read
}

// Settings replaces the setup.
type Settings struct {
	Setup
	Dir    string `json:"dir,omitempty"`    // the working directory, if it changed
	System string `json:"system,omitempty"` // the system prompt, if it changed
	// ModeSet means that the host chose the mode, which ends a plan mode that the model entered.
	ModeSet bool `json:"mode_set,omitempty"`
	// PolicySet and ApproverSet mean that the host replaced the policy or the approver. The next calls are judged by it.
	PolicySet   bool `json:"policy_set,omitempty"`
	ApproverSet bool `json:"approver_set,omitempty"`
	// ToolChange is how the tools changed, if the model takes that in the conversation.
	ToolChange *llm.ToolChange `json:"tool_change,omitempty"`
}

// Setup is the configuration that an agent's decisions depend on. A record that holds a Setup replaces all
// of the one before.
type Setup struct {
	ModelSetup
	Effort         string        `json:"effort,omitempty"` // "" is the provider's default
	ThinkingBudget *int          `json:"thinking_budget,omitempty"`
	Timeouts       tool.Timeouts `json:"command_timeouts,omitzero"` // zero means the tools' defaults
	Tools          []string      `json:"tools,omitempty"`           // names of the tools offered
	Vision         bool          `json:"vision,omitempty"`
	Mode           policy.Mode   `json:"mode,omitempty"` // the permission mode
	Rules          Rules         `json:"rules,omitzero"`
}

// ModelSetup is a model and its properties.
type ModelSetup struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Window   int64  `json:"context_window,omitempty"` // in tokens; 0 is unknown
	Unpriced bool   `json:"unpriced,omitempty"`       // the price is unknown
	// PriceStep is the number of input tokens above which tokens cost more; 0 if there is none.
	PriceStep int64 `json:"price_step,omitempty"`
	// LateSystem, InlineTools and Compacts are what the model takes so that nothing that was sent has to change:
	// system messages and changes of tools in the conversation, and compaction by the provider.
	LateSystem  bool `json:"late_system,omitempty"`
	InlineTools bool `json:"inline_tools,omitempty"`
	Compacts    bool `json:"compacts,omitempty"`
	// NoPrefill means that the model continues only turns in which the provider ran a tool.
	NoPrefill bool `json:"no_prefill,omitempty"`
}

// Rules are the limits and thresholds of an agent. Zero disables a rule.
type Rules struct {
	ToolRounds int `json:"tool_rounds,omitempty"` // maximum for one input
	Turns      int `json:"turns,omitempty"`       // maximum for the agent
	LoopWindow int `json:"loop_window,omitempty"` // how many tool calls loop detection looks at

	// Limits for the whole tree of agents.
	TreeTurns    int           `json:"tree_turns,omitempty"`
	TreeTokens   int64         `json:"tree_tokens,omitempty"`
	TreeCost     float64       `json:"tree_cost,omitempty"`
	TreeDuration time.Duration `json:"tree_duration_ns,omitempty"`

	CompactAt float64 `json:"compact_at,omitempty"` // as a fraction of the context window
	CompactTo float64 `json:"compact_to,omitempty"`
	NoSummary bool    `json:"no_summary,omitempty"` // compact without the model
	PastStep  bool    `json:"past_step,omitempty"`  // do not compact before PriceStep

	StopHooks bool `json:"stop_hooks,omitempty"` // hooks decide whether the work may end
	// Reports adds the result of each subagent to the conversation when it ends its work, unless a tool call returned it.
	Reports bool `json:"subagent_reports,omitempty"`

	Fallback []ModelSetup `json:"fallback,omitempty"`
}

// UserInput is input from the user, or from its Origin. It starts work.
type UserInput struct {
	Message llm.Message `json:"message"`
	Origin  *Origin     `json:"origin,omitempty"` // nil for input that the user wrote
	// FollowUp marks input that waited for the work on the input before it. Queued is its STEERING_QUEUED.
	FollowUp bool `json:"follow_up,omitempty"`
	Queued   Seq  `json:"queued,omitempty"`
	// Answers is the id of the tool call that asked the user. The model sees the input as its result.
	Answers string            `json:"answers,omitempty"`
	Output  *llm.OutputFormat `json:"output,omitempty"` // the requested format of the result
}

// Continue continues work that ended before the model was done.
type Continue struct{}

// Interrupted stops the work from outside. Tool calls that wait for an approval keep waiting, unless Abandon
// is set.
type Interrupted struct {
	Reason  string `json:"reason"`
	Abandon bool   `json:"abandon,omitempty"`
}

// ProcessingEnd ends the work on an input. State is the state after it: PROCESSING if more input is queued.
type ProcessingEnd struct {
	Outcome  Status `json:"outcome"`
	State    State  `json:"state"`
	Limit    Limit  `json:"limit,omitempty"` // the limit reached
	Rounds   int    `json:"rounds"`
	Question string `json:"question,omitempty"` // what the model asks the user
}

// SteeringQueued queues a message from the host. It enters the conversation as SteeringInjected or, with
// FollowUp, as UserInput, unless SteeringWithdrawn removes it. These refer to it by its number, Queued. For mail and
// the report of a subagent, Queued is the number of the Mail or SubagentEnd.
type (
	SteeringQueued struct {
		Message  llm.Message `json:"message"`
		Origin   *Origin     `json:"origin,omitempty"` // nil for a message that the user wrote
		FollowUp bool        `json:"follow_up,omitempty"`
	}
	SteeringInjected struct {
		Message llm.Message `json:"message"`
		Source  Source      `json:"source,omitempty"`
		Queued  Seq         `json:"queued,omitempty"`
	}
	SteeringWithdrawn struct {
		Queued Seq `json:"queued"`
	}
)

// TurnLimit stops the work at a limit.
type TurnLimit struct {
	Limit  Limit  `json:"limit"`
	Value  int    `json:"value"` // in whole units
	Detail string `json:"detail,omitempty"`
}

// LoopDetection reports a repeating pattern of tool calls.
type LoopDetection struct {
	Message string `json:"message"`
	Length  int    `json:"pattern_length"`
	Trips   int    `json:"trips"`
}

// SubagentStart and SubagentEnd are the start and the end of a subagent's work on a task. They are records of
// its parent.
type (
	SubagentStart struct {
		ID       string `json:"id"`
		Name     string `json:"name,omitempty"` // unique in the session
		Call     string `json:"call,omitempty"` // the parent's tool call
		Type     string `json:"type,omitempty"`
		Task     string `json:"task"`
		Model    string `json:"model"`
		Dir      string `json:"dir,omitempty"`       // the directory it is confined to
		Worktree string `json:"worktree,omitempty"`  // the ID of the worktree it works in
		MaxTurns int    `json:"max_turns,omitempty"` // as requested; 0 is the default
		Mode     string `json:"mode,omitempty"`      // as requested; "" is that of the session
	}
	SubagentEnd struct {
		ID      string         `json:"id"`
		Status  SubagentStatus `json:"status"`
		Output  string         `json:"output,omitempty"`
		Turns   int            `json:"turns"`
		Success bool           `json:"success"`
		Reason  string         `json:"reason,omitempty"` // why it did not complete
	}
)

// Hook reports that a hook ran.
type Hook struct {
	Event   string          `json:"event"`
	Name    string          `json:"name"`
	Call    string          `json:"call,omitempty"` // the tool call that it was about
	Outcome HookOutcome     `json:"outcome"`
	Reason  string          `json:"reason,omitempty"`  // of the outcome
	Input   json.RawMessage `json:"input,omitempty"`   // the changed input of the tool call
	Message string          `json:"message,omitempty"` // for the user
	Title   string          `json:"title,omitempty"`   // of the message
	Level   string          `json:"level,omitempty"`   // of the message
	// Restrict makes later calls of tools need an approval, or denies them.
	Restrict []hook.Restriction `json:"restrict,omitempty"`
	// Context is for the model. It enters the conversation as SteeringInjected, after the results of tool calls
	// that are open.
	Context  string        `json:"context,omitempty"`
	Duration time.Duration `json:"duration_ns"`
}

// Warning reports a problem that does not stop the work.
type Warning struct {
	Code    WarningCode `json:"code,omitempty"`
	Message string      `json:"message"`
}

// Error reports that the work failed.
type Error struct {
	Class     string    `json:"class"` // an llm.ErrorKind, "panic" or ClassSave
	Message   string    `json:"message"`
	Retryable bool      `json:"retryable,omitempty"`
	Stack     string    `json:"stack,omitempty"`
	Item      *llm.Item `json:"item,omitempty"`           // the part of the conversation that the provider refused
	Window    int64     `json:"context_window,omitempty"` // of the model, if the provider reported it with the error
	Body      string    `json:"body,omitempty"`           // the model's output in place of the requested object
}

// ClassSave is the class of a SaveError.
const ClassSave = "save"

// Fatal reports whether the error ends the session because a retry cannot help.
func (e Error) Fatal() bool {
	switch e.Class {
	case string(llm.ErrAuthentication), string(llm.ErrAccessDenied), string(llm.ErrContextLength), ClassSave:
		return true
	}
	return false
}
