package llm

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrorKind classifies call errors.
type ErrorKind string

// The kinds of errors.
const (
	ErrAuthentication ErrorKind = "authentication"
	ErrAccessDenied   ErrorKind = "access_denied"
	ErrNotFound       ErrorKind = "not_found"
	ErrInvalidRequest ErrorKind = "invalid_request"
	ErrContextLength  ErrorKind = "context_length"
	ErrRateLimit      ErrorKind = "rate_limit"
	ErrQuota          ErrorKind = "quota_exhausted"
	ErrContentFilter  ErrorKind = "content_filter"
	ErrServer         ErrorKind = "server"
	ErrLoading        ErrorKind = "model_loading" // the server has not loaded the model yet
	ErrTimeout        ErrorKind = "timeout"
	ErrNetwork        ErrorKind = "network"
	ErrIncomplete     ErrorKind = "incomplete_stream"
	ErrMalformed      ErrorKind = "malformed_response"
	ErrCancelled      ErrorKind = "cancelled"
	ErrConfiguration  ErrorKind = "configuration"
	ErrNoObject       ErrorKind = "no_object"
	ErrUnknown        ErrorKind = "unknown"
)

// Error describes a failed call. Message and Body contain no secrets.
type Error struct {
	Kind       ErrorKind
	Provider   string
	Status     int    // HTTP status, or 0
	Code       string // the provider's own code or type
	Message    string
	RetryAfter time.Duration // how long the provider asks to wait, or 0
	RequestID  string
	Body       []byte // the raw error body, as far as it was read
	Temporary  bool   // the provider reports that a retry may help, whatever the kind
	Final      bool   // a retry does not help, whatever the kind
	Item       *Item  // refused request part, or nil if unknown
	Window     int64  // the context window that the provider reported with the error, or 0
	Err        error  // the cause, or nil

	// Usage holds the tokens that the provider counted before the call failed. With UsageComplete they
	// are all that the call used: it was refused before the model ran, or the final counts had arrived.
	// Otherwise the provider may bill more. See [Spent].
	Usage         Usage
	UsageComplete bool
}

// Item is a place in a request: an index in Request.Messages, in that message's Parts, and inside that part if it is a
// ToolResult. Part and Inner are -1 if unknown. If the refused value was joined from several messages, Message is the
// newest, because the provider accepted the others before.
type Item struct{ Message, Part, Inner int }

func (e *Error) Error() string {
	var b strings.Builder
	if e.Provider != "" {
		b.WriteString(e.Provider + ": ")
	}
	b.WriteString(strings.ReplaceAll(string(e.Kind), "_", " "))
	if e.Status != 0 {
		fmt.Fprintf(&b, " (HTTP %d)", e.Status)
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	} else if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	if e.RequestID != "" {
		b.WriteString(" [request " + e.RequestID + "]")
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// Retryable reports whether the same call may succeed later.
func (e *Error) Retryable() bool {
	switch e.Kind {
	case ErrRateLimit, ErrServer, ErrLoading, ErrTimeout, ErrNetwork, ErrIncomplete:
		return !e.Final
	}
	return e.Temporary && !e.Final
}

// KindOf returns a call error's kind, or ErrUnknown.
func KindOf(err error) ErrorKind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ErrUnknown
}

// Spent returns the tokens that a failed call used, as far as the provider reported them, and whether they are
// complete. The error comes from a stream or a [Retry] event; each attempt reports its own tokens.
func Spent(err error) (u Usage, complete bool) {
	if err == nil {
		return Usage{}, true
	}
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return Usage{}, false
	}
	return e.Usage, e.UsageComplete || e.Kind == ErrConfiguration
}

// Errorf returns an error that does not come from an HTTP response.
func Errorf(kind ErrorKind, provider, format string, args ...any) *Error {
	wrapped := fmt.Errorf(format, args...)
	return &Error{Kind: kind, Provider: provider, Message: wrapped.Error(), Err: errors.Unwrap(wrapped)}
}
