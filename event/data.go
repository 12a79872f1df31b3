package event

import (
	"encoding/json"
	"time"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/tool"
)

// The kinds. Those marked transient carry no number and do not stay in the log.
const (
	KindSessionStart      Kind = "SESSION_START"
	KindSessionEnd        Kind = "SESSION_END"
	KindSessionResume     Kind = "SESSION_RESUME"
	KindUserInput         Kind = "USER_INPUT"
	KindProcessingEnd     Kind = "PROCESSING_END"
	KindModelCallStart    Kind = "MODEL_CALL_START"
	KindModelCallEnd      Kind = "MODEL_CALL_END"
	KindModelRetry        Kind = "MODEL_RETRY"
	KindTextStart         Kind = "ASSISTANT_TEXT_START" // transient
	KindTextDelta         Kind = "ASSISTANT_TEXT_DELTA" // transient
	KindTextEnd           Kind = "ASSISTANT_TEXT_END"
	KindReasoningStart    Kind = "REASONING_START" // transient
	KindReasoningDelta    Kind = "REASONING_DELTA" // transient
	KindReasoningEnd      Kind = "REASONING_END"   // transient
	KindToolCallStart     Kind = "TOOL_CALL_START"
	KindToolCallDelta     Kind = "TOOL_CALL_OUTPUT_DELTA" // transient
	KindToolCallEnd       Kind = "TOOL_CALL_END"
	KindApprovalRequested Kind = "APPROVAL_REQUESTED"
	KindApprovalResolved  Kind = "APPROVAL_RESOLVED"
	KindSteeringQueued    Kind = "STEERING_QUEUED"
	KindSteeringInjected  Kind = "STEERING_INJECTED"
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

// SessionStart opens a session, and says what it was set up with.
type SessionStart struct {
	ID       string `json:"id"`
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Effort   string `json:"effort,omitempty"`
	Dir      string `json:"dir,omitempty"`
	System   string `json:"system,omitempty"` // the system prompt
}

// SessionEnd closes a session. It is its last record, unless the session is resumed.
type SessionEnd struct {
	Reason string `json:"reason"`
	State  string `json:"state"`
	// Undelivered are messages that the host gave and that never found their place.
	Undelivered []llm.Message `json:"undelivered,omitempty"`
}

// UserInput is what the user said.
type UserInput struct {
	Message llm.Message `json:"message"`
	// FollowUp marks input that had waited for the input before it.
	FollowUp bool `json:"follow_up,omitempty"`
	// Answers is the tool call that the input answers, if the model had asked with one. The
	// model sees it as the result of that call.
	Answers string `json:"answers,omitempty"`
}

// ProcessingEnd ends the work on one input. State is the one that follows: PROCESSING if more input
// was waiting.
type ProcessingEnd struct {
	Outcome  string `json:"outcome"`
	State    string `json:"state"`
	Rounds   int    `json:"rounds"`
	Question string `json:"question,omitempty"` // what the model wants to know
}

// ModelCallStart is a request to a model on its way.
type ModelCallStart struct {
	Call     int    `json:"call"` // counts the calls of the agent from 1
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Effort   string `json:"effort,omitempty"`
	Messages int    `json:"messages"`
	Tools    string `json:"tools,omitempty"` // a digest of those that are offered
	// Purpose is "summary" if the answer does not become part of the conversation.
	Purpose string `json:"purpose,omitempty"`
}

// ModelCallEnd is a model's answer come to its end, well or not.
type ModelCallEnd struct {
	Call     int           `json:"call"`
	Provider string        `json:"provider,omitempty"`
	Model    string        `json:"model"`
	Usage    llm.Usage     `json:"usage"`
	Cost     *float64      `json:"cost"` // in US dollars; null if the price is not known
	Duration time.Duration `json:"duration_ns"`
	Finish   string        `json:"finish,omitempty"`
	Error    *Error        `json:"error,omitempty"`
	// Partial is the text that had come when the call failed or was interrupted. It is not part
	// of the conversation.
	Partial string `json:"partial,omitempty"`
}

// ModelRetry is a call that failed and is made again. Discard says that what was streamed since
// the call's start is void.
type ModelRetry struct {
	Call    int           `json:"call"`
	Attempt int           `json:"attempt"`       // the one to come, from 2
	Max     int           `json:"max,omitempty"` // the last one that is made
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

// ToolCallStart is a tool call about to run. Each has a ToolCallEnd, also if the call is not run
// in the end.
type ToolCallStart struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Arguments is the object that the model gave; a string if what it gave is not JSON.
	Arguments json.RawMessage `json:"arguments,omitempty"`
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
	Duration   time.Duration
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
	Duration  time.Duration     `json:"duration_ns"`
}

// MarshalJSON writes the result with its whole output, or with where that is.
func (e ToolCallEnd) MarshalJSON() ([]byte, error) {
	j := toolCallEndJSON{e.ID, e.Name, e.Error == nil, "", e.OutputBlob, &e.Model, nil, e.Fields, e.Error, e.Artifacts, e.Duration}
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
	*e = ToolCallEnd{j.ID, j.Name, tool.Text(j.Output), j.Blob, *j.Model, nil, j.Fields, j.Error, j.Artifacts, j.Duration}
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

// ApprovalRequested is a tool call that waits for an answer, and ApprovalResolved the answer.
type (
	ApprovalRequested struct {
		ID       string   `json:"id"` // of the tool call
		Name     string   `json:"name"`
		Accesses []string `json:"accesses,omitempty"`
		Reason   string   `json:"reason"`
	}
	ApprovalResolved struct {
		ID      string `json:"id"`
		Allowed bool   `json:"allowed"`
		Reason  string `json:"reason,omitempty"`
	}
)

// SteeringQueued is a message that waits for its place, and SteeringInjected one that got it.
type (
	SteeringQueued struct {
		Message  llm.Message `json:"message"`
		FollowUp bool        `json:"follow_up,omitempty"`
	}
	SteeringInjected struct {
		Message llm.Message `json:"message"`
		Source  string      `json:"source,omitempty"` // "host", or what in the session made it
	}
)

// TurnLimit is a limit that was reached.
type TurnLimit struct {
	Limit  string `json:"limit"` // which one
	Value  int    `json:"value"` // what was reached, in whole units
	Detail string `json:"detail,omitempty"`
}

// LoopDetection is a repeating pattern of tool calls that was found.
type LoopDetection struct {
	Message string `json:"message"`
	Length  int    `json:"pattern_length"`
	Trips   int    `json:"trips"`
}

// Settings is how the model is called from now on, after a change: all of it, not only what changed.
type Settings struct {
	Provider       string `json:"provider"`
	Model          string `json:"model"`
	Effort         string `json:"effort"` // "" is the provider's default
	ThinkingBudget *int   `json:"thinking_budget,omitempty"`
	// Timeouts are those of commands; zero ones are the tools' own.
	Timeouts tool.Timeouts `json:"command_timeouts,omitzero"`
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
		Type  string `json:"type,omitempty"`
		Task  string `json:"task"`
		Model string `json:"model"`
		Dir   string `json:"dir,omitempty"` // that it is confined to
		// MaxTurns is what the call that spawned it asked for; 0 is the default.
		MaxTurns int `json:"max_turns,omitempty"`
	}
	SubagentEnd struct {
		ID      string `json:"id"`
		Status  string `json:"status"`
		Output  string `json:"output,omitempty"`
		Turns   int    `json:"turns"`
		Success bool   `json:"success"`
	}
)

// Warning tells of something that does not stop the work.
type Warning struct {
	Message string `json:"message"`
}

// Error is something that failed.
type Error struct {
	Class     string `json:"class"` // the kind of error, such as "rate_limit"
	Message   string `json:"message"`
	Retryable bool   `json:"retryable,omitempty"`
	Stack     string `json:"stack,omitempty"`
}
