package event

import (
	"encoding/json"
	"time"

	"github.com/reins-agent/reins/llm"
)

// ModelCallStart starts a model call.
type ModelCallStart struct {
	Call     int    `json:"call"` // numbers the agent's model calls from 1
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Effort   string `json:"effort,omitempty"`
	Messages int    `json:"messages"`
	Tools    string `json:"tools,omitempty"` // a digest of the offered tools
	// Choice, Shape and Object are the other request properties that affect the provider's cache. Object marks a
	// request for structured output.
	Choice  llm.ToolChoice `json:"tool_choice,omitzero"`
	Shape   string         `json:"shape,omitempty"`
	Object  bool           `json:"object,omitempty"`
	Purpose Purpose        `json:"purpose,omitempty"`
}

// ModelCallEnd ends a model call, successful or not.
type ModelCallEnd struct {
	Call     int              `json:"call"`
	Provider string           `json:"provider,omitempty"`
	Model    string           `json:"model"`
	Usage    llm.Usage        `json:"usage"`
	Cost     *float64         `json:"cost"` // in US dollars; null if the price is unknown
	Duration time.Duration    `json:"duration_ns"`
	Finish   llm.FinishReason `json:"finish,omitempty"`
	Error    *Error           `json:"error,omitempty"`
	// Partial is the text received before the call failed. It is not part of the conversation.
	Partial string `json:"partial,omitempty"`
	// Retried is the usage by earlier, failed attempts. Incomplete means that the provider did not report all their
	// usage.
	Retried    llm.Usage `json:"retried,omitzero"`
	Incomplete bool      `json:"incomplete,omitempty"`
	Summary    string    `json:"summary,omitempty"` // the answer to a PurposeSummary or PurposeCompaction
	// Signed is what the provider wants back with a PurposeCompaction summary.
	Signed llm.State `json:"signed,omitzero"`
	// Detail is the provider's explanation for Finish, such as a refusal category.
	Detail string `json:"detail,omitempty"`
	// Dropped is thinking that the server did not show to the model.
	Dropped []llm.Dropped `json:"dropped,omitempty"`
}

// ModelRetry announces another attempt after a failed model call. With Discard, drop everything streamed since the call
// started.
type ModelRetry struct {
	Call    int           `json:"call"`
	Attempt int           `json:"attempt"`
	Max     int           `json:"max,omitempty"` // maximum for Attempt
	Delay   time.Duration `json:"delay_ns"`
	Discard bool          `json:"discard,omitempty"`
	// Fallback is the model that is used instead if no attempt succeeds.
	Fallback string `json:"fallback,omitempty"`
	Error    Error  `json:"error"`
}

// ModelFallback switches to another model until the next input, because a model could not be reached or refused to
// answer.
type ModelFallback struct {
	From     string `json:"from"`
	To       string `json:"to"`
	Provider string `json:"provider,omitempty"` // provider for To
	Error    Error  `json:"error"`
}

// CacheBroken reports a request that does not extend the previous request.
type CacheBroken struct {
	Reason string `json:"reason"`
}

// TextStart, TextDelta, ReasoningStart, ReasoningDelta and ReasoningEnd show an answer as it is streamed.
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
		// Tokens estimates the reasoning length so far, if its text is not shown.
		Tokens int64 `json:"tokens,omitempty"`
	}
	ReasoningEnd struct {
		Call int    `json:"call"`
		Text string `json:"text"`
	}
)

// ArgumentsDelta shows tool call arguments as the model writes them.
type ArgumentsDelta struct {
	Call int    `json:"call"` // model call number
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
	Text string `json:"text"`
}

// TextEnd is the model's complete answer.
type TextEnd struct {
	Call    int
	ID      string // answer id given by the provider
	Message llm.Message
}

type textEndJSON struct {
	Call      int         `json:"call"`
	ID        string      `json:"id,omitempty"`
	Text      string      `json:"text"`
	Reasoning string      `json:"reasoning,omitempty"`
	Message   llm.Message `json:"message"`
}

// MarshalJSON encodes the message, and its text and reasoning as separate members.
func (e TextEnd) MarshalJSON() ([]byte, error) {
	return json.Marshal(textEndJSON{e.Call, e.ID, e.Message.Text(), e.Message.Thinking(), e.Message})
}

// UnmarshalJSON decodes the message.
func (e *TextEnd) UnmarshalJSON(b []byte) error {
	var j textEndJSON
	err := json.Unmarshal(b, &j)
	*e = TextEnd{j.Call, j.ID, j.Message}
	return err
}
