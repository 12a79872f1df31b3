package event

import "github.com/reins-agent/reins/llm"

// Status is how work on an input ended.
type Status string

// Values of ProcessingEnd.Status.
const (
	StatusDone             Status = "done"              // the model has finished
	StatusAwaitingInput    Status = "awaiting_input"    // the model asked the user; the next input is the answer
	StatusAwaitingApproval Status = "awaiting_approval" // tool calls wait for approval
	StatusLimit            Status = "limit"             // a limit was reached
	StatusCutOff           Status = "cut_off"           // the answer exceeds the output limit
	StatusPaused           Status = "paused"            // the provider paused the turn too often
	StatusRefused          Status = "refused"           // the model or a filter refused
	StatusLoop             Status = "loop"              // the model repeats itself
	StatusInterrupted      Status = "interrupted"       // the host stopped it
	StatusFailed           Status = "failed"            // an error ended it
)

// State is an agent's state between records.
type State string

// Agent states.
const (
	StateIdle             State = "IDLE"
	StateProcessing       State = "PROCESSING"
	StateAwaitingInput    State = "AWAITING_INPUT"
	StateAwaitingApproval State = "AWAITING_APPROVAL"
	StateClosed           State = "CLOSED"
)

// Limit names a limit for an agent or an agent tree; see [Rules].
type Limit string

// Limits.
const (
	LimitToolRounds   Limit = "max_tool_rounds"
	LimitTurns        Limit = "max_turns"
	LimitTreeTurns    Limit = "tree_turns"
	LimitTreeTokens   Limit = "tree_tokens"
	LimitTreeCost     Limit = "tree_cost"
	LimitTreeDuration Limit = "tree_duration"
)

// SubagentStatus is a subagent's status.
type SubagentStatus string

// Subagent statuses. No record has SubagentRunning.
const (
	SubagentRunning   SubagentStatus = "running"
	SubagentCompleted SubagentStatus = "completed"
	SubagentFailed    SubagentStatus = "failed"
	SubagentWaiting   SubagentStatus = "waiting for an approval"
	SubagentClosed    SubagentStatus = "closed"
)

// Purpose is a model call's purpose. The zero value continues the conversation.
type Purpose string

// PurposeSummary asks for a summary, which is not part of the conversation.
const PurposeSummary Purpose = "summary"

// PurposeCompaction asks the provider for a summary that it signs.
const PurposeCompaction Purpose = "compaction"

// Source is a message's author, if it is not the user.
type Source string

// Values of SteeringInjected.Source.
const (
	SourceHost   Source = "host"
	SourceLoop   Source = "loop_detection"
	SourceObject Source = "structured_output"
	SourceAnswer Source = "answer" // the user's answer to a tool call, if a result cannot hold it
	SourceHook   Source = "hook"
	SourceMail   Source = "mail"
	SourceReport Source = "subagent" // a subagent ended its work

	// The last model call finished for this reason.
	SourceLength = Source(llm.FinishLength)
	SourceError  = Source(llm.FinishError)
	SourcePause  = Source(llm.FinishPause)
)

// HookOutcome is a hook's effect.
type HookOutcome string

// Hook outcomes.
const (
	HookOK      HookOutcome = "ok"      // no effect, or it added context
	HookChanged HookOutcome = "changed" // it changed tool input or output
	HookAsked   HookOutcome = "asked"   // it requires approval
	HookBlocked HookOutcome = "blocked" // it refused a call or input, or kept the agent working
	HookStopped HookOutcome = "stopped" // it stopped the work
	HookFailed  HookOutcome = "failed"  // it failed, without effect
)

// CompactionReason is why a conversation was compacted.
type CompactionReason string

// Compaction reasons.
const (
	CompactionThreshold     CompactionReason = "threshold"      // the conversation reached Rules.CompactAt
	CompactionManual        CompactionReason = "manual"         // the host asked for it
	CompactionContextLength CompactionReason = "context_length" // the provider refused the request as too long
)

// CompactionMethod is how a conversation was compacted.
type CompactionMethod string

// Compaction methods.
const (
	CompactionClear   CompactionMethod = "clear"   // old tool results were cleared
	CompactionSummary CompactionMethod = "summary" // the model wrote a summary
	CompactionServer  CompactionMethod = "server"  // the provider wrote a summary
	CompactionDigest  CompactionMethod = "digest"  // a digest was made without the model
)

// WarningCode classifies a Warning.
type WarningCode string

// Warning codes.
const (
	WarningContextWindow WarningCode = "context_window"
	WarningSummaryFailed WarningCode = "summary_failed"
	WarningTruncated     WarningCode = "context_truncated" // the server dropped part of the conversation
	WarningBudget        WarningCode = "budget"            // the cost limit is nearly reached
	WarningPriceStep     WarningCode = "price_step"        // the conversation is so long that tokens cost more
	WarningNoCheckpoint  WarningCode = "no_checkpoint"
	WarningStopHooks     WarningCode = "stop_hooks"  // Stop hooks kept the agent working too often
	WarningNoApprover    WarningCode = "no_approver" // calls that need approval are refused
)
