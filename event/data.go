package event

import (
	"encoding/json"
	"time"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// The kinds. Those marked transient carry no number and do not stay in the log.
const (
	KindSessionStart      Kind = "SESSION_START"
	KindSessionEnd        Kind = "SESSION_END"
	KindSessionResume     Kind = "SESSION_RESUME"
	KindContinue          Kind = "CONTINUE"
	KindInterrupted       Kind = "INTERRUPTED"
	KindUserInput         Kind = "USER_INPUT"
	KindProcessingEnd     Kind = "PROCESSING_END"
	KindModelCallStart    Kind = "MODEL_CALL_START"
	KindModelCallEnd      Kind = "MODEL_CALL_END"
	KindModelRetry        Kind = "MODEL_RETRY"
	KindTextStart         Kind = "ASSISTANT_TEXT_START" // transient
	KindTextDelta         Kind = "ASSISTANT_TEXT_DELTA" // transient
	KindTextEnd           Kind = "ASSISTANT_TEXT_END"
	KindReasoningStart    Kind = "REASONING_START"           // transient
	KindReasoningDelta    Kind = "REASONING_DELTA"           // transient
	KindReasoningEnd      Kind = "REASONING_END"             // transient
	KindArgumentsDelta    Kind = "TOOL_CALL_ARGUMENTS_DELTA" // transient
	KindToolCallStart     Kind = "TOOL_CALL_START"
	KindToolCallDelta     Kind = "TOOL_CALL_OUTPUT_DELTA" // transient
	KindToolCallEnd       Kind = "TOOL_CALL_END"
	KindApprovalRequested Kind = "APPROVAL_REQUESTED"
	KindApprovalResolved  Kind = "APPROVAL_RESOLVED"
	KindSteeringQueued    Kind = "STEERING_QUEUED"
	KindSteeringInjected  Kind = "STEERING_INJECTED"
	KindSteeringWithdrawn Kind = "STEERING_WITHDRAWN"
	KindTurnLimit         Kind = "TURN_LIMIT"
	KindLoopDetection     Kind = "LOOP_DETECTION"
	KindSettings          Kind = "SETTINGS_CHANGED"
	KindCacheBroken       Kind = "CACHE_BROKEN"
	KindModelFallback     Kind = "MODEL_FALLBACK"
	KindCompaction        Kind = "COMPACTION"
	KindQuarantine        Kind = "QUARANTINE"
	KindCheckpoint        Kind = "CHECKPOINT"
	KindRewindStart       Kind = "REWIND_START"
	KindRewind            Kind = "REWIND"
	KindSubagentStart     Kind = "SUBAGENT_START"
	KindSubagentEnd       Kind = "SUBAGENT_END"
	KindWarning           Kind = "WARNING"
	KindError             Kind = "ERROR"
)

// SessionStart opens a session with its setup.
type SessionStart struct {
	ID string `json:"id"`
	Setup
	Dir    string `json:"dir,omitempty"`
	System string `json:"system,omitempty"` // the system prompt
}

// SessionEnd closes a session. It is its last record, unless the session is resumed.
type SessionEnd struct {
	Reason string `json:"reason"`
	State  State  `json:"state"`
	// Undelivered are messages that the host gave and that never found their place.
	Undelivered []llm.Message `json:"undelivered,omitempty"`
}

// UserInput is what the user said.
type UserInput struct {
	Message llm.Message `json:"message"`
	// FollowUp marks input that had waited for the input before it, and Queued is the number of the
	// STEERING_QUEUED it waited as.
	FollowUp bool `json:"follow_up,omitempty"`
	Queued   Seq  `json:"queued,omitempty"`
	// Answers is the tool call that the input answers, if the model had asked with one. The
	// model sees it as the result of that call.
	Answers string `json:"answers,omitempty"`
	// Output is the form in which the result of the work is asked for when the model is done.
	Output *llm.OutputFormat `json:"output,omitempty"`
}

// Interrupted says that the work at hand was stopped from outside: by the host, by the user or because
// the process was shutting down. Calls that wait for an approval keep waiting, unless Abandon is set.
type Interrupted struct {
	Reason  string `json:"reason"`
	Abandon bool   `json:"abandon,omitempty"`
}

// Continue resumes work that had ended before the model was done.
type Continue struct{}

// ProcessingEnd ends the work on one input. State is the one that follows: PROCESSING if more input
// was waiting.
type ProcessingEnd struct {
	Outcome  Status `json:"outcome"`
	State    State  `json:"state"`
	Limit    Limit  `json:"limit,omitempty"` // the one that was reached
	Rounds   int    `json:"rounds"`
	Question string `json:"question,omitempty"` // what the model wants to know
}

// ModelCallStart is a request to a model that is about to be sent.
type ModelCallStart struct {
	Call     int    `json:"call"` // counts the calls of the agent from 1
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Effort   string `json:"effort,omitempty"`
	Messages int    `json:"messages"`
	Tools    string `json:"tools,omitempty"` // a digest of those that are offered
	// Choice and Shape tell how the request asks for tools and thinking, as far as that matters to the
	// provider's cache. Object says that it asks for structured output.
	Choice  llm.ToolChoice `json:"tool_choice,omitzero"`
	Shape   string         `json:"shape,omitempty"`
	Object  bool           `json:"object,omitempty"`
	Purpose Purpose        `json:"purpose,omitempty"`
}

// ModelCallEnd ends a model call, whether it succeeded or failed.
type ModelCallEnd struct {
	Call     int              `json:"call"`
	Provider string           `json:"provider,omitempty"`
	Model    string           `json:"model"`
	Usage    llm.Usage        `json:"usage"`
	Cost     *float64         `json:"cost"` // in US dollars; null if the price is not known
	Duration time.Duration    `json:"duration_ns"`
	Finish   llm.FinishReason `json:"finish,omitempty"`
	Error    *Error           `json:"error,omitempty"`
	// Partial is the text that had arrived when the call failed or was interrupted. It is not part
	// of the conversation.
	Partial string `json:"partial,omitempty"`
	// Retried is what attempts used that failed before this one, and Incomplete says that the provider
	// had not said all that the failed ones used.
	Retried    llm.Usage `json:"retried,omitzero"`
	Incomplete bool      `json:"incomplete,omitempty"`
	// Summary is the answer of a call whose purpose is PurposeSummary.
	Summary string `json:"summary,omitempty"`
}

// ModelRetry is a call that failed and is made again. Discard says that what was streamed since
// the call's start is void.
type ModelRetry struct {
	Call    int           `json:"call"`
	Attempt int           `json:"attempt"`
	Max     int           `json:"max,omitempty"` // how many there will be at most
	Delay   time.Duration `json:"delay_ns"`
	Discard bool          `json:"discard,omitempty"`
	Error   Error         `json:"error"`
}

// TextStart, TextDelta, ReasoningStart, ReasoningDelta and ReasoningEnd show a message grow.
type (
	TextStart struct {
		Call int `json:"call"`
	}
	TextDelta struct {
		Call int    `json:"call"`
		Text string `json:"text"`
	}
	ReasoningStart struct {
		Call int `json:"call"`
	}
	ReasoningDelta struct {
		Call int    `json:"call"`
		Text string `json:"text"`
	}
	ReasoningEnd struct {
		Call int    `json:"call"`
		Text string `json:"text"`
	}
)

// TextEnd is the assistant's whole message.
type TextEnd struct {
	Call    int
	ID      string // the provider's name for the answer
	Message llm.Message
}

type textEndJSON struct {
	Call      int         `json:"call"`
	ID        string      `json:"id,omitempty"`
	Text      string      `json:"text"`
	Reasoning string      `json:"reasoning,omitempty"`
	Message   llm.Message `json:"message"`
}

// MarshalJSON writes the message, and its text and reasoning beside it.
func (e TextEnd) MarshalJSON() ([]byte, error) {
	return json.Marshal(textEndJSON{e.Call, e.ID, e.Message.Text(), e.Message.Thinking(), e.Message})
}

// UnmarshalJSON reads the message.
func (e *TextEnd) UnmarshalJSON(b []byte) error {
	var j textEndJSON
	err := json.Unmarshal(b, &j)
	*e = TextEnd{j.Call, j.ID, j.Message}
	return err
}

// ArgumentsDelta is a piece of a tool call's arguments as the model writes them.
type ArgumentsDelta struct {
	Call int    `json:"call"` // of the model
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
	Text string `json:"text"`
}

// ToolCallStart is a tool call that is about to run. Each has a ToolCallEnd, even if the call is not
// run in the end. A call that was approved after the session had stopped waiting for it is started again.
type ToolCallStart struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Arguments is the object that the model gave; a string if what it gave is not JSON.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Question is what the call asks the user. The next input is its result.
	Question string `json:"question,omitempty"`
}

// ToolCallDelta is output of a tool as it appears.
type ToolCallDelta struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// ToolCallEnd is the result of a tool call: the whole output, and what the model sees of it.
type ToolCallEnd struct {
	ID     string
	Name   string
	Output tool.Output // whole, however large
	// OutputBlob is where a store has the output, if it is too large for a record.
	OutputBlob *Blob
	Model      string // what the model sees
	Images     []llm.Image
	Fields     map[string]any
	Error      *tool.Error
	Artifacts  tool.Artifacts
	// Accesses and Decision tell what the call was going to touch, and why it was allowed or refused.
	Accesses []policy.Access
	Decision policy.Decision
	Plan     bool          // the arguments of the call are the model's plan
	Duration time.Duration // without the time spent waiting for an approval
}

type toolCallEndJSON struct {
	ID        string            `json:"id"`
	Name      string            `json:"name"`
	OK        bool              `json:"ok"`
	Output    string            `json:"output"`
	Blob      *Blob             `json:"output_blob,omitempty"`
	Model     *string           `json:"model_output,omitempty"` // nil is the output
	Images    []json.RawMessage `json:"images,omitempty"`
	Fields    map[string]any    `json:"fields,omitempty"`
	Error     *tool.Error       `json:"error,omitempty"`
	Artifacts tool.Artifacts    `json:"artifacts,omitzero"`
	Accesses  []policy.Access   `json:"accesses"`
	Decision  policy.Decision   `json:"decision"`
	Plan      bool              `json:"plan,omitempty"`
	Duration  time.Duration     `json:"duration_ns"`
}

// MarshalJSON writes the result with its whole output, or with where that is.
func (e ToolCallEnd) MarshalJSON() ([]byte, error) {
	j := toolCallEndJSON{e.ID, e.Name, e.Error == nil, "", e.OutputBlob, &e.Model, nil, e.Fields, e.Error, e.Artifacts, e.Accesses, e.Decision, e.Plan, e.Duration}
	if e.OutputBlob == nil {
		if j.Output = tool.String(e.Output); j.Output == e.Model {
			j.Model = nil
		}
	}
	for _, img := range e.Images {
		b, err := llm.MarshalPart(img)
		if err != nil {
			return nil, err
		}
		j.Images = append(j.Images, b)
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads the result.
func (e *ToolCallEnd) UnmarshalJSON(b []byte) error {
	var j toolCallEndJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	if j.Model == nil {
		j.Model = &j.Output
	}
	*e = ToolCallEnd{j.ID, j.Name, tool.Text(j.Output), j.Blob, *j.Model, nil, j.Fields, j.Error, j.Artifacts, j.Accesses, j.Decision, j.Plan, j.Duration}
	for _, raw := range j.Images {
		p, err := llm.UnmarshalPart(raw)
		if err != nil {
			return err
		}
		if img, ok := p.(llm.Image); ok {
			e.Images = append(e.Images, img)
		}
	}
	return nil
}

// ApprovalRequested is a tool call that waits for an approval, and ApprovalResolved is the answer.
type (
	ApprovalRequested struct {
		ID        string          `json:"id"` // of the tool call
		Name      string          `json:"name"`
		Tool      string          `json:"tool,omitempty"` // the tool's own name, if that is another one
		Arguments json.RawMessage `json:"arguments,omitempty"`
		Accesses  []policy.Access `json:"accesses"` // null: the tool does not say
		Rule      string          `json:"rule,omitempty"`
		Reason    string          `json:"reason"`
	}
	ApprovalResolved struct {
		ID      string `json:"id"`
		Allowed bool   `json:"allowed"`
		// Scope is how long the answer holds: "" once, "session", or "always".
		Scope tool.Scope `json:"scope,omitempty"`
		// Arguments replace those of the call.
		Arguments json.RawMessage `json:"arguments,omitempty"`
		Reason    string          `json:"reason,omitempty"` // for the model
		Abort     bool            `json:"abort,omitempty"`
		// Deferred says that nobody was waiting for the answer: the call runs when the work continues.
		Deferred bool `json:"deferred,omitempty"`
	}
)

// SteeringQueued is a message that waits for its place in the conversation; SteeringInjected is one
// that found it, and SteeringWithdrawn one that the host took back. Queued is the number of the
// SteeringQueued record.
type (
	SteeringQueued struct {
		Message  llm.Message `json:"message"`
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

// TurnLimit is a limit that was reached.
type TurnLimit struct {
	Limit  Limit  `json:"limit"`
	Value  int    `json:"value"` // what was reached, in whole units
	Detail string `json:"detail,omitempty"`
}

// LoopDetection is a repeating pattern of tool calls that was found.
type LoopDetection struct {
	Message string `json:"message"`
	Length  int    `json:"pattern_length"`
	Trips   int    `json:"trips"`
}

// Settings is the setup of an agent after a change.
type Settings struct {
	Setup
	System string `json:"system,omitempty"` // the new system prompt, if it changed
}

// CacheBroken is a request that does not continue the one before it.
type CacheBroken struct {
	Reason string `json:"reason"`
}

// SubagentStart and SubagentEnd bracket a subagent's work on one task. They are records of the agent
// that gave the task.
type (
	SubagentStart struct {
		ID    string `json:"id"`
		Call  string `json:"call,omitempty"` // the tool call that gave the task
		Type  string `json:"type,omitempty"`
		Task  string `json:"task"`
		Model string `json:"model"`
		Dir   string `json:"dir,omitempty"` // that it is confined to
		// MaxTurns is what the call that spawned it asked for; 0 is the default.
		MaxTurns int `json:"max_turns,omitempty"`
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

// Warning reports something that does not stop the work.
type Warning struct {
	Code    WarningCode `json:"code,omitempty"`
	Message string      `json:"message"`
}

// Error is something that failed.
type Error struct {
	Class     string `json:"class"` // the kind of error, such as "rate_limit"
	Message   string `json:"message"`
	Retryable bool   `json:"retryable,omitempty"`
	Stack     string `json:"stack,omitempty"`
	// Item is what of the conversation the provider refused.
	Item *llm.Item `json:"item,omitempty"`
	// Body is what the model gave instead of the object that was asked for.
	Body string `json:"body,omitempty"`
}

// ClassSave is the class of a SaveError.
const ClassSave = "save"

// Fatal reports whether the error ends the session because calling again cannot help.
func (e Error) Fatal() bool {
	switch e.Class {
	case string(llm.ErrAuthentication), string(llm.ErrAccessDenied), string(llm.ErrContextLength), ClassSave:
		return true
	}
	return false
}
