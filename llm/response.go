package llm

import (
	"cmp"
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
	Retried   Usage  // tokens of failed attempts before this answer, as far as reported; set by Collect
	RequestID string // the provider's id for the HTTP request
	RateLimit RateLimit
	// Dropped lists thinking in the request that the server withheld from the model, or would have withheld if it
	// enforced its rules.
	Dropped []Dropped
}

// Dropped is thinking that fails a server check: it belongs to another conversation, model or account.
type Dropped struct {
	Path    string `json:"path"` // where it was in the request, in the provider's words
	Reason  string `json:"reason"`
	Allowed bool   `json:"allowed,omitempty"` // it was shown to the model nevertheless
}

// Text returns the message's text.
func (r *Response) Text() string { return r.Message.Text() }

// Thinking returns the message's readable thinking.
func (r *Response) Thinking() string { return r.Message.Thinking() }

// ToolCalls returns the message's tool calls.
func (r *Response) ToolCalls() []ToolCall { return r.Message.ToolCalls() }

// FinishReason is the reason why the model stopped.
type FinishReason string

// The reasons to stop. FinishPause means that the provider paused a long turn; send the conversation again
// to continue.
const (
	FinishStop          FinishReason = "stop"
	FinishLength        FinishReason = "length"
	FinishToolCalls     FinishReason = "tool_calls"
	FinishContentFilter FinishReason = "content_filter"
	FinishPause         FinishReason = "pause"
	FinishCompaction    FinishReason = "compaction" // the server compacted the conversation
	FinishError         FinishReason = "error"
	FinishOther         FinishReason = "other"
)

// FinishInfo is the reason why the model stopped. Raw is the provider's own reason, Detail its explanation, such as a
// refusal's category.
type FinishInfo struct {
	Reason FinishReason
	Raw    string
	Detail string
}

// Usage counts tokens in the same way for every provider. Input includes CacheRead and CacheWrite, and Output
// includes Reasoning. Raw is the provider's own object.
type Usage struct {
	Input      int64 `json:"input_tokens"`
	Output     int64 `json:"output_tokens"`
	Reasoning  int64 `json:"reasoning_tokens"`
	CacheRead  int64 `json:"cache_read_tokens"`
	CacheWrite int64 `json:"cache_write_tokens"`
	// CacheWriteLong is the part of CacheWrite that is stored longer than the default, at another price.
	CacheWriteLong int64 `json:"cache_write_long_tokens,omitempty"`
	// Searches is the number of web searches that the provider made, which have their own price.
	Searches int64 `json:"searches,omitempty"`
	// Tier is the service tier that the provider used, if it reported one. Tiers have their own prices.
	Tier string          `json:"tier,omitempty"`
	Raw  json.RawMessage `json:"raw,omitempty"`
}

// Add returns the sum of two usages, without Raw. The Tier comes from u, or from v if u has none.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Tier:           cmp.Or(u.Tier, v.Tier),
		Input:          u.Input + v.Input,
		Output:         u.Output + v.Output,
		Reasoning:      u.Reasoning + v.Reasoning,
		CacheRead:      u.CacheRead + v.CacheRead,
		CacheWrite:     u.CacheWrite + v.CacheWrite,
		CacheWriteLong: u.CacheWriteLong + v.CacheWriteLong,
		Searches:       u.Searches + v.Searches,
	}
}

// RateLimit holds the provider's rate limit headers. Adapters set missing numbers to -1.
type RateLimit struct {
	RequestsLimit, RequestsRemaining int64
	TokensLimit, TokensRemaining     int64
	RequestsReset, TokensReset       time.Time // zero if missing
}
