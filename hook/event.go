package hook

import "slices"

// Event is a point in a session at which hooks run. Its value is the name that Claude Code and codex use.
type Event string

// Events that sessions fire.
const (
	PreToolUse         Event = "PreToolUse"         // before a tool call is judged
	PostToolUse        Event = "PostToolUse"        // after a call that succeeded
	PostToolUseFailure Event = "PostToolUseFailure" // after a call that ran and failed
	PermissionRequest  Event = "PermissionRequest"  // before the approver is asked about a call
	PermissionDenied   Event = "PermissionDenied"   // after a call was refused
	UserPromptSubmit   Event = "UserPromptSubmit"   // before input is accepted
	SessionStart       Event = "SessionStart"       // before the first work of a new or resumed session
	SessionEnd         Event = "SessionEnd"         // when a session that has worked is closed
	Stop               Event = "Stop"               // before the work on an input ends
	StopFailure        Event = "StopFailure"        // after the work on an input failed
	SubagentStart      Event = "SubagentStart"      // before a subagent starts
	SubagentStop       Event = "SubagentStop"       // before a subagent's work ends
	PreCompact         Event = "PreCompact"         // before the conversation is compacted
	PostCompact        Event = "PostCompact"        // after the conversation was compacted
	Notification       Event = "Notification"       // when the user is needed
	Setup              Event = "Setup"              // before SessionStart of a new session
	ConfigChange       Event = "ConfigChange"       // after the model, the tools, the mode or another setting was changed
	FileChanged        Event = "FileChanged"        // after a tool changed a file, for each file
	CwdChanged         Event = "CwdChanged"         // after the session moved to another directory
	TaskCreated        Event = "TaskCreated"        // after a task was added to the shared task list
	TaskCompleted      Event = "TaskCompleted"      // before a shared task is marked as completed
	TeammateIdle       Event = "TeammateIdle"       // after a team member ended its work
	WorktreeCreate     Event = "WorktreeCreate"     // after the session created a worktree
	WorktreeRemove     Event = "WorktreeRemove"     // after the session removed a worktree
)

var events = []Event{
	PreToolUse, PostToolUse, PostToolUseFailure, PermissionRequest, PermissionDenied, UserPromptSubmit, SessionStart, SessionEnd,
	Stop, StopFailure, SubagentStart, SubagentStop, PreCompact, PostCompact, Notification, Setup, ConfigChange, FileChanged,
	CwdChanged, TaskCreated, TaskCompleted, TeammateIdle, WorktreeCreate, WorktreeRemove,
}

// Events lists all events.
func Events() []Event { return slices.Clone(events) }

// guards reports whether a failing hook denies by default.
func (e Event) guards() bool { return e == PreToolUse || e == PermissionRequest }

// Blocks reports whether a hook can refuse a call, input or task at this event, or keep an agent working.
func (e Event) Blocks() bool {
	switch e {
	case PreToolUse, PermissionRequest, UserPromptSubmit, Stop, SubagentStop, TaskCreated, TaskCompleted:
		return true
	}
	return false
}

// reports reports whether the reason goes to the model although it is too late to block.
func (e Event) reports() bool { return e == PostToolUse || e == PostToolUseFailure }

// addsContext reports whether hooks may add context for the model at this event. Context added at a compaction could
// cause the next compaction.
func (e Event) addsContext() bool {
	switch e {
	case PreToolUse, PostToolUse, PostToolUseFailure, PermissionDenied, UserPromptSubmit, SessionStart, SubagentStart, Stop, SubagentStop:
		return true
	}
	return false
}

// textIsContext reports whether plain text on standard output is context for the model.
func (e Event) textIsContext() bool { return e == SessionStart || e == UserPromptSubmit }
