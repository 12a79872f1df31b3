package hook

import (
	"cmp"
	"encoding/json"
	"strings"
)

// Input describes an event to a hook. Its JSON form is what Claude Code and codex write to a command's standard input.
// Fields that do not apply to the event are empty.
type Input struct {
	Event      Event  `json:"hook_event_name"`
	Session    string `json:"session_id"`
	Transcript string `json:"transcript_path"` // always ""; scripts expect the member
	Dir        string `json:"cwd"`
	Mode       string `json:"permission_mode,omitempty"`
	Agent      string `json:"agent_id,omitempty"`   // path of the subagent
	AgentType  string `json:"agent_type,omitempty"` // type of the subagent

	// Tool calls.
	Tool      string          `json:"tool_name,omitempty"`
	ToolInput json.RawMessage `json:"tool_input,omitempty"`
	Call      string          `json:"tool_use_id,omitempty"`
	Response  any             `json:"tool_response,omitempty"` // PostToolUse
	Error     string          `json:"error,omitempty"`         // PostToolUseFailure, StopFailure

	Prompt string `json:"prompt,omitempty"` // UserPromptSubmit
	Source string `json:"source,omitempty"` // SessionStart: startup or resume; ConfigChange: session
	Model  string `json:"model,omitempty"`  // SessionStart
	Reason string `json:"reason,omitempty"` // SessionEnd, PermissionDenied

	// StopActive is set for Stop and SubagentStop. It is true if the agent only works because such a hook blocked
	// before.
	StopActive *bool  `json:"stop_hook_active,omitempty"`
	Answer     string `json:"last_assistant_message,omitempty"` // Stop, SubagentStop

	Trigger string `json:"trigger,omitempty"`           // PreCompact, PostCompact: manual or auto; Setup: init
	File    string `json:"file_path,omitempty"`         // FileChanged
	Change  string `json:"event,omitempty"`             // FileChanged: add, change or unlink
	Message string `json:"message,omitempty"`           // Notification
	Kind    string `json:"notification_type,omitempty"` // Notification: permission_prompt or idle_prompt

	OldDir       string `json:"old_cwd,omitempty"`          // CwdChanged
	NewDir       string `json:"new_cwd,omitempty"`          // CwdChanged
	Task         string `json:"task_id,omitempty"`          // TaskCreated, TaskCompleted
	Subject      string `json:"task_subject,omitempty"`     // TaskCreated, TaskCompleted
	Description  string `json:"task_description,omitempty"` // TaskCreated, TaskCompleted
	Teammate     string `json:"teammate_name,omitempty"`    // TeammateIdle
	Team         string `json:"team_name,omitempty"`        // TeammateIdle
	WorktreeName string `json:"name,omitempty"`             // WorktreeCreate, WorktreeRemove
	Worktree     string `json:"worktree_path,omitempty"`    // WorktreeCreate, WorktreeRemove

	// Names are further tool names that matchers may use.
	Names []string `json:"-"`
}

// subject returns the names to compare with a matcher. An event without a subject matches every matcher.
func (in *Input) subject() []string {
	switch in.Event {
	case PreToolUse, PostToolUse, PostToolUseFailure, PermissionRequest, PermissionDenied:
		return append([]string{in.Tool}, in.Names...)
	case SessionStart:
		return []string{in.Source}
	case SessionEnd:
		return []string{in.Reason}
	case SubagentStart, SubagentStop:
		return []string{in.AgentType}
	case PreCompact, PostCompact, Setup:
		return []string{in.Trigger}
	case ConfigChange:
		return []string{in.Source}
	case FileChanged:
		return []string{in.File[strings.LastIndexAny(in.File, `/\`)+1:]}
	case Notification:
		return []string{in.Kind}
	}
	return nil
}

// Decision is a hook's decision on a call, on input or on the end of work.
type Decision string

// The decisions, from mildest to strictest. Allow never overrides the policy. Deny blocks: it refuses a call or input,
// and makes an agent that is about to stop continue.
const (
	None  Decision = ""
	Allow Decision = "allow"
	Ask   Decision = "ask"
	Deny  Decision = "deny"
)

func (d Decision) rank() int {
	switch d {
	case None:
		return 0
	case Allow:
		return 1
	case Ask:
		return 2
	}
	return 3
}

// Output is a hook's answer. The zero value has no effect.
type Output struct {
	Decision   Decision
	Reason     string          // explains the decision to the model
	Input      json.RawMessage // PreToolUse: replaces the tool input
	Response   *string         // PostToolUse: replaces the tool output
	Context    string          // for the model
	Message    string          // for the user
	Title      string          // heads the message
	Level      string          // info, success, warning, error or progress
	Restrict   []Restriction   // from now on, for all agents in the session
	Stop       bool            // the work stops
	StopReason string          // for the user
}

// Restriction makes all later calls to a tool need approval, or denies them, until the session is closed.
type Restriction struct {
	Tool     string   `json:"tool"`     // any name that a matcher may use
	Behavior Decision `json:"behavior"` // Ask or Deny
}

// Refuses reports whether the call or input is refused.
func (o Output) Refuses() bool { return o.Decision == Deny || o.Stop }

// add merges the answer of a later hook. The strictest decision wins.
func (o *Output) add(p Output) {
	switch {
	case p.Decision.rank() > o.Decision.rank():
		o.Decision, o.Reason = p.Decision, p.Reason
	case p.Decision == o.Decision:
		o.Reason = join(o.Reason, p.Reason)
	}
	if p.Input != nil {
		o.Input = p.Input
	}
	if p.Response != nil {
		o.Response = p.Response
	}
	o.Context, o.Message = join(o.Context, p.Context), join(o.Message, p.Message)
	o.Title, o.Level = cmp.Or(p.Title, o.Title), cmp.Or(p.Level, o.Level)
	o.Restrict = append(o.Restrict, p.Restrict...)
	o.Stop, o.StopReason = o.Stop || p.Stop, join(o.StopReason, p.StopReason)
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}
