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
	System string `json:"system,omitempty"` // system prompt
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
	System      string `json:"system,omitempty"`      // system prompt, if it changed
	Interrupted bool   `json:"interrupted,omitempty"` // the session was interrupted while it worked
	// Imported means that the earlier records come from an archive. Their system prompt, approvals and subagents no
	// longer count.
	Imported bool `json:"imported,omitempty"`
	// ToolChange is the difference from the previous tools, if the model accepts tool changes in the conversation.
	ToolChange *llm.ToolChange `json:"tool_change,omitempty"`
	Lost       int             `json:"lost,omitempty"` // unreadable records
}

// Settings replaces the setup.
type Settings struct {
	Setup
	Dir    string `json:"dir,omitempty"`    // working directory, if it changed
	System string `json:"system,omitempty"` // system prompt, if it changed
	// ModeSet means that the host chose the mode, which ends a plan mode that the model entered.
	ModeSet bool `json:"mode_set,omitempty"`
	// PolicySet and ApproverSet mean that the host replaced the policy or the approver, which judges all further calls.
	PolicySet   bool `json:"policy_set,omitempty"`
	ApproverSet bool `json:"approver_set,omitempty"`
	// ToolChange is the tool difference, if the model accepts tool changes in the conversation.
	ToolChange *llm.ToolChange `json:"tool_change,omitempty"`
}

// Setup is the configuration that an agent's decisions depend on. A recorded Setup replaces the previous Setup
// completely.
type Setup struct {
	ModelSetup
	Effort         string        `json:"effort,omitempty"` // "" means the provider's default
	ThinkingBudget *int          `json:"thinking_budget,omitempty"`
	Timeouts       tool.Timeouts `json:"command_timeouts,omitzero"` // zero means the tools' defaults
	Tools          []string      `json:"tools,omitempty"`           // names of the offered tools
	Vision         bool          `json:"vision,omitempty"`
	Mode           policy.Mode   `json:"mode,omitempty"` // permission mode
	Rules          Rules         `json:"rules,omitzero"`
}

// ModelSetup is a model and its properties.
type ModelSetup struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Window   int64  `json:"context_window,omitempty"` // in tokens; 0 means unknown
	Unpriced bool   `json:"unpriced,omitempty"`       // price unknown
	// PriceStep is the number of input tokens above which tokens cost more; 0 without such a step.
	PriceStep int64 `json:"price_step,omitempty"`
	// LateSystem, InlineTools and Compacts tell how the conversation can change without changing messages that were
	// already sent: system messages and tool changes within the conversation, and compaction by the provider.
	LateSystem  bool `json:"late_system,omitempty"`
	InlineTools bool `json:"inline_tools,omitempty"`
	Compacts    bool `json:"compacts,omitempty"`
	// NoPrefill means that the model continues only turns in which the provider ran a tool.
	NoPrefill bool `json:"no_prefill,omitempty"`
}

// Rules are an agent's limits and thresholds. Zero disables a rule.
type Rules struct {
	ToolRounds int `json:"tool_rounds,omitempty"` // maximum per input
	Turns      int `json:"turns,omitempty"`       // maximum for the agent
	LoopWindow int `json:"loop_window,omitempty"` // recent tool calls that loop detection examines

	// Limits for the whole agent tree.
	TreeTurns    int           `json:"tree_turns,omitempty"`
	TreeTokens   int64         `json:"tree_tokens,omitempty"`
	TreeCost     float64       `json:"tree_cost,omitempty"`
	TreeDuration time.Duration `json:"tree_duration_ns,omitempty"`

	CompactAt float64 `json:"compact_at,omitempty"` // as a fraction of the context window
	CompactTo float64 `json:"compact_to,omitempty"`
	NoSummary bool    `json:"no_summary,omitempty"` // compact without the model
	PastStep  bool    `json:"past_step,omitempty"`  // do not compact before PriceStep

	StopHooks bool `json:"stop_hooks,omitempty"` // hooks decide whether the work may end
	// Reports adds each subagent's result to the conversation when it ends its work, unless a tool call returned it.
	Reports bool `json:"subagent_reports,omitempty"`

	Fallback []ModelSetup `json:"fallback,omitempty"`
}

// UserInput is input from the user, or from its Origin. It starts work.
type UserInput struct {
	Message llm.Message `json:"message"`
	Origin  *Origin     `json:"origin,omitempty"` // nil for input that the user wrote
	// FollowUp marks input that waited for the work on an earlier input. Queued is its STEERING_QUEUED.
	FollowUp bool `json:"follow_up,omitempty"`
	Queued   Seq  `json:"queued,omitempty"`
	// Answers is the id of the tool call that asked the user. The model sees the input as its result.
	Answers string            `json:"answers,omitempty"`
	Output  *llm.OutputFormat `json:"output,omitempty"` // requested result format
}

// Continue continues work that ended before the model was done.
type Continue struct{}

// Interrupted stops the work from outside. Tool calls that wait for approval keep waiting, unless Abandon is set.
type Interrupted struct {
	Reason  string `json:"reason"`
	Abandon bool   `json:"abandon,omitempty"`
}

// ProcessingEnd ends the work on an input. State is the agent's state afterwards: PROCESSING if more input is queued.
type ProcessingEnd struct {
	Outcome  Status `json:"outcome"`
	State    State  `json:"state"`
	Limit    Limit  `json:"limit,omitempty"` // limit that was reached
	Rounds   int    `json:"rounds"`
	Question string `json:"question,omitempty"` // the model's question to the user
}

// SteeringQueued queues a message from the host. It enters the conversation as SteeringInjected or, with FollowUp, as
// UserInput, unless SteeringWithdrawn removes it. These records refer to its number in Queued. For mail and subagent
// reports, Queued is the number of the Mail or SubagentEnd record.
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

// SubagentStart and SubagentEnd bracket a subagent's work on a task. They are records of the parent agent.
type (
	SubagentStart struct {
		ID       string `json:"id"`
		Name     string `json:"name,omitempty"` // unique in the session
		Call     string `json:"call,omitempty"` // the parent's tool call
		Type     string `json:"type,omitempty"`
		Task     string `json:"task"`
		Model    string `json:"model"`
		Dir      string `json:"dir,omitempty"`       // the directory it is confined to
		Worktree string `json:"worktree,omitempty"`  // id of its worktree
		MaxTurns int    `json:"max_turns,omitempty"` // as requested; 0 means the default
		Mode     string `json:"mode,omitempty"`      // as requested; "" means the session's mode
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
	Call    string          `json:"call,omitempty"` // the tool call it was about
	Outcome HookOutcome     `json:"outcome"`
	Reason  string          `json:"reason,omitempty"`  // explains the outcome
	Input   json.RawMessage `json:"input,omitempty"`   // the changed tool input
	Message string          `json:"message,omitempty"` // for the user
	Title   string          `json:"title,omitempty"`   // heads the message
	Level   string          `json:"level,omitempty"`   // message level
	// Restrict makes later calls to tools need approval, or denies them.
	Restrict []hook.Restriction `json:"restrict,omitempty"`
	// Context is for the model. It enters the conversation as SteeringInjected, after the results of all open tool
	// calls.
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
	Item      *llm.Item `json:"item,omitempty"`           // the conversation item that the provider refused
	Window    int64     `json:"context_window,omitempty"` // context window, if the provider reported it with the error
	Body      string    `json:"body,omitempty"`           // model output received instead of the requested object
}

// ClassSave is the class for a SaveError.
const ClassSave = "save"

// Fatal reports whether the error ends the session because a retry cannot help.
func (e Error) Fatal() bool {
	switch e.Class {
	case string(llm.ErrAuthentication), string(llm.ErrAccessDenied), string(llm.ErrContextLength), ClassSave:
		return true
	}
	return false
}
