package llm

import (
	"encoding/json"
	"time"
)

// Response is a model's whole answer.
type Response struct {
	ID        string
	Model     string // as the provider reports it
	Provider  string
	Message   Message // role assistant
	Finish    FinishInfo
	Usage     Usage
	Retried   Usage  // of failed attempts before this answer, as far as it was reported; set by Collect
	RequestID string // the provider's name for this HTTP request
	RateLimit RateLimit
}

// Text, Thinking and ToolCalls are those of the message.
func (r *Response) Text() string          { return r.Message.Text() }
func (r *Response) Thinking() string      { return r.Message.Thinking() }
func (r *Response) ToolCalls() []ToolCall { return r.Message.ToolCalls() }

// FinishReason says why the model stopped.
type FinishReason string

// The reasons to stop. FinishPause means that the provider paused a long turn and wants the
// conversation sent back to go on.
const (
	FinishStop          FinishReason = "stop"
	FinishLength        FinishReason = "length"
	FinishToolCalls     FinishReason = "tool_calls"
	FinishContentFilter FinishReason = "content_filter"
	FinishPause         FinishReason = "pause"
	FinishError         FinishReason = "error"
	FinishOther         FinishReason = "other"
)

// FinishInfo is why the model stopped, in our words and in the provider's.
type FinishInfo struct {
	Reason FinishReason
	Raw    string
}

// Usage counts tokens, the same way for every provider: Input is everything the model read,
// cached or not, and so includes CacheRead and CacheWrite; Output is everything it wrote, and so
// includes Reasoning. Raw is the provider's own object.
type Usage struct {
	Input      int64 `json:"input_tokens"`
	Output     int64 `json:"output_tokens"`
	Reasoning  int64 `json:"reasoning_tokens"`
	CacheRead  int64 `json:"cache_read_tokens"`
	CacheWrite int64 `json:"cache_write_tokens"`
	// CacheWriteLong is the part of CacheWrite that was written for longer than the provider's
	// default time, where that has a price of its own.
	CacheWriteLong int64           `json:"cache_write_long_tokens,omitempty"`
	Raw            json.RawMessage `json:"raw,omitempty"`
}

// Add is the sum of two usages, without Raw.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input:          u.Input + v.Input,
		Output:         u.Output + v.Output,
		Reasoning:      u.Reasoning + v.Reasoning,
		CacheRead:      u.CacheRead + v.CacheRead,
		CacheWrite:     u.CacheWrite + v.CacheWrite,
		CacheWriteLong: u.CacheWriteLong + v.CacheWriteLong,
	}
}

// RateLimit is what the provider's headers say of the caller's allowance. Numbers that were not
// given are -1 in a value made by an adapter.
type RateLimit struct {
	RequestsLimit, RequestsRemaining int64
	TokensLimit, TokensRemaining     int64
	RequestsReset, TokensReset       time.Time // zero if not given
}
