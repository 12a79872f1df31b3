package coder

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/reins-agent/reins/llm"
)

// toolName is the tool's name, which its results include.
const toolName = "coder"

// Kind is why a run failed.
type Kind string

// The kinds of failures.
const (
	IdleTimeout         Kind = "idle_timeout"             // no output within the idle timeout
	Timeout             Kind = "timeout"                  // not finished within the maximum duration
	CommandNotFound     Kind = "command_not_found"        // the configured command is not installed
	UpstreamError       Kind = "upstream_error"           // the model, its provider or the command reported an error
	JSONDecode          Kind = "json_decode"              // the output cannot be read
	MissingSession      Kind = "protocol_missing_session" // no session ID
	EmptyResult         Kind = "empty_result"             // no answer
	SubprocessError     Kind = "subprocess_error"         // the command failed
	ConfigError         Kind = "config_error"             // the configuration or the request cannot be used
	UnexpectedException Kind = "unexpected_exception"     // everything else
	ScopeViolation      Kind = "scope_violation"          // files changed that must not change
)

// Result describes how a run ended.
type Result struct {
	Success bool   `json:"success"`
	Tool    string `json:"tool"`
	Session string `json:"SESSION_ID,omitempty"`
	Result  string `json:"result,omitempty"` // the answer

	Error  string  `json:"error,omitempty"`
	Kind   Kind    `json:"error_kind,omitempty"`
	Detail *Detail `json:"error_detail,omitempty"`

	Messages []json.RawMessage `json:"all_messages,omitzero"`
	Metrics  *Metrics          `json:"metrics,omitempty"`
}

// Detail describes a failure.
type Detail struct {
	Message          string   `json:"message"`
	ExitCode         *int     `json:"exit_code"` // command's exit code; nil if no command has exited
	LastLines        []string `json:"last_lines"`
	JSONDecodeErrors int      `json:"json_decode_errors"`
	IdleTimeout      int      `json:"idle_timeout_s"`
	MaxDuration      int      `json:"max_duration_s"` // 0 means no limit
	Retries          int      `json:"retries"`
	// Changes lists the changed files that Request.AllowedFiles does not allow. The changes are not undone.
	Changes []Change `json:"changes,omitempty"`
}

// Change is a changed file.
type Change struct {
	Path string `json:"path"` // relative to the working directory, if it is inside
	Kind string `json:"kind"` // added, modified or deleted
}

// Metrics has statistics about a run.
type Metrics struct {
	DurationMS       int64    `json:"duration_ms"`
	Retries          int      `json:"retries"`
	ModelCalls       int      `json:"model_calls"`
	ToolCalls        int      `json:"tool_calls"`
	InputTokens      int64    `json:"input_tokens"`
	OutputTokens     int64    `json:"output_tokens"`
	CostUSD          *float64 `json:"cost_usd"` // nil if it is unknown
	JSONDecodeErrors int      `json:"json_decode_errors"`
}

// failure is why an attempt failed.
type failure struct {
	kind    Kind
	message string
	exit    *int
	final   bool // another attempt would fail too
	changes []Change
}

// failf returns a failure. Its message does not repeat that the configuration is wrong, because the kind implies it.
func failf(kind Kind, format string, args ...any) *failure {
	message := strings.TrimPrefix(fmt.Sprintf(format, args...), string(llm.ErrConfiguration)+": ")
	return &failure{kind: kind, message: message, final: kind == ConfigError || kind == CommandNotFound || kind == UnexpectedException}
}

// Limits on what a run keeps.
const (
	keptLines    = 20
	maxLine      = 500       // bytes
	maxMessages  = 4 << 20   // bytes of all messages
	maxOneRecord = 256 << 10 // message bytes
)

// run is the state of one call of Run.
type run struct {
	config  Config
	request Request
	start   time.Time
	scope   *scope
	idle    *time.Timer // ends an attempt

	mu        sync.Mutex // guards the fields below during an attempt
	id        string     // session ID
	lost      string     // why the requested session was not continued
	text      string     // the answer
	changed   bool       // a call was started that may have changed something
	retries   int
	undecoded int
	lines     []string
	messages  []json.RawMessage
	bytes     int // of messages
	dropped   int // messages that were omitted
	figures   Metrics
}

// active restarts the idle timeout.
func (r *run) active() { r.idle.Reset(r.request.IdleTimeout) }

// say keeps a line and shows it. The line must be safe to print.
func (r *run) say(line string) {
	r.mu.Lock()
	if len(r.lines) == keptLines {
		r.lines = r.lines[1:]
	}
	r.lines = append(r.lines, line)
	r.mu.Unlock()
	if r.config.Progress != nil {
		r.config.Progress(line)
	}
}

// keep keeps a message, if the caller wants all of them. If there are too many, the oldest are omitted.
func (r *run) keep(m json.RawMessage) {
	if !r.request.AllMessages {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(m) > maxOneRecord {
		m = json.RawMessage(fmt.Sprintf(`{"type":"omitted","bytes":%d}`, len(m)))
	}
	r.messages, r.bytes = append(r.messages, m), r.bytes+len(m)
	for r.bytes > maxMessages {
		r.bytes -= len(r.messages[0])
		r.messages, r.dropped = r.messages[1:], r.dropped+1
	}
}

// result returns the run's result; a nil failure means success.
func (r *run) result(f *failure) Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	res := Result{Success: f == nil, Tool: toolName, Session: r.id}
	if f == nil {
		res.Result = r.text
		if r.lost != "" {
			res.Result = fmt.Sprintf("[%s This is a new session without its context: %s]\n\n%s", r.lost, r.id, r.text)
		}
	} else {
		res.Kind, res.Error = f.kind, fmt.Sprintf("%s: %s", f.kind, f.message)
		res.Detail = &Detail{
			Message:          f.message,
			ExitCode:         f.exit,
			LastLines:        append([]string{}, r.lines...),
			JSONDecodeErrors: r.undecoded,
			IdleTimeout:      int(r.request.IdleTimeout / time.Second),
			MaxDuration:      max(int(r.request.MaxDuration/time.Second), 0),
			Retries:          r.retries,
			Changes:          f.changes,
		}
	}
	if r.request.AllMessages {
		res.Messages = append([]json.RawMessage{}, r.messages...)
		if r.dropped > 0 {
			res.Messages = append(
				[]json.RawMessage{json.RawMessage(fmt.Sprintf(`{"type":"omitted","messages":%d}`, r.dropped))},
				res.Messages...)
		}
	}
	if r.request.Metrics {
		m := r.metrics()
		res.Metrics = &m
	}
	return res
}

func (r *run) metrics() Metrics {
	m := r.figures
	m.DurationMS, m.Retries, m.JSONDecodeErrors = time.Since(r.start).Milliseconds(), r.retries, r.undecoded
	return m
}
