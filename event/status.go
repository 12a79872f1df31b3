package event

import "github.com/reins-agent/reins/llm"

// Status is how the work on an input ended.
type Status string

// Statuses of a ProcessingEnd.
const (
	StatusDone             Status = "done"              // the model has finished
	StatusAwaitingInput    Status = "awaiting_input"    // the model asked the user; the next input is the answer
	StatusAwaitingApproval Status = "awaiting_approval" // tool calls wait for an approval
	StatusLimit            Status = "limit"             // a limit was reached
	StatusCutOff           Status = "cut_off"           // the answer exceeds the output limit
	StatusPaused           Status = "paused"            // the provider paused the turn too often
	StatusRefused          Status = "refused"           // the model or a filter refused
	StatusLoop             Status = "loop"              // the model repeats itself
	StatusInterrupted      Status = "interrupted"       // the host stopped it
	StatusFailed           Status = "failed"            // an error ended it
)

// State is the state of an agent between records.
type State string

// States of an agent.
const (
	StateIdle             State = "IDLE"
	StateProcessing       State = "PROCESSING"
	StateAwaitingInput    State = "AWAITING_INPUT"
	StateAwaitingApproval State = "AWAITING_APPROVAL"
	StateClosed           State = "CLOSED"
)

// Limit names a limit of an agent or of a tree of agents; see [Rules].
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

// SubagentStatus is the status of a subagent.
type SubagentStatus string

// Statuses of a subagent. No record has SubagentRunning.
const (
	SubagentRunning   SubagentStatus = "running"
	SubagentCompleted SubagentStatus = "completed"
	SubagentFailed    SubagentStatus = "failed"
	SubagentWaiting   SubagentStatus = "waiting for an approval"
	SubagentClosed    SubagentStatus = "closed"
)

// Purpose is the purpose of a model call. The zero value continues the conversation.
type Purpose string

// PurposeSummary asks for a summary, which is not part of the conversation.
const PurposeSummary Purpose = "summary"

// PurposeCompaction asks the provider for a summary that it signs.
const PurposeCompaction Purpose = "compaction"

// Source is who added a message to the conversation, other than the user.
type Source string

// Sources of a SteeringInjected.
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

// HookOutcome is what a hook did.
type HookOutcome string

// Outcomes of a Hook.
const (
	HookOK      HookOutcome = "ok"      // nothing, or it added context
	HookChanged HookOutcome = "changed" // it changed the input or output of a tool call
	HookAsked   HookOutcome = "asked"   // it requires an approval
	HookBlocked HookOutcome = "blocked" // it refused a call or input, or kept the agent working
	HookStopped HookOutcome = "stopped" // it stopped the work
	HookFailed  HookOutcome = "failed"  // it failed, and that has no effect
)

// CompactionReason is why a conversation was compacted.
type CompactionReason string

// Reasons for a Compaction.
const (
	CompactionThreshold     CompactionReason = "threshold"      // the conversation reached Rules.CompactAt
	CompactionManual        CompactionReason = "manual"         // the host asked for it
	CompactionContextLength CompactionReason = "context_length" // the provider refused the request as too long
)

// CompactionMethod is how a conversation was compacted.
type CompactionMethod string

// Methods of a Compaction.
const (
	CompactionClear   CompactionMethod = "clear"   // old tool results were cleared
	CompactionSummary CompactionMethod = "summary" // the model wrote a summary
	CompactionServer  CompactionMethod = "server"  // the provider wrote a summary
	CompactionDigest  CompactionMethod = "digest"  // a digest was made without the model
)

// WarningCode is what a Warning is about.
type WarningCode string

// Codes of a Warning.
const (
	WarningContextWindow WarningCode = "context_window"
	WarningSummaryFailed WarningCode = "summary_failed"
	WarningTruncated     WarningCode = "context_truncated" // the server dropped part of the conversation
	WarningBudget        WarningCode = "budget"            // most of the cost limit is spent
	WarningPriceStep     WarningCode = "price_step"        // the conversation is so long that tokens cost more
	WarningNoCheckpoint  WarningCode = "no_checkpoint"
	WarningStopHooks     WarningCode = "stop_hooks"  // they wanted to keep the agent working too often
	WarningNoApprover    WarningCode = "no_approver" // calls that need an approval are refused
)
