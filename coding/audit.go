package coding

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/reins-agent/reins/audit"
	"github.com/reins-agent/reins/secret"
	"github.com/reins-agent/reins/tool"
)

// Secrets configures redaction in tool results, the system prompt and the audit log; see package secret.
type Secrets struct {
	// Off disables redaction of results and the system prompt. The audit log is still redacted.
	Off bool
	// Names are additional variables whose values are secret. Patterns are regular expressions for secrets.
	Names, Patterns []string
	// Vars are the host's environment variables as NAME=VALUE. They default to this process's variables.
	Vars []string
}

// Audit configures the audit log; see package audit.
type Audit struct {
	// Off disables it.
	Off bool
	// Path is the log file. It defaults to audit/audit.jsonl in the state directory; without a state directory, nothing is logged.
	Path string
	// MaxSize and Keep limit the log; zero fields use the defaults of package audit.
	MaxSize int64
	Keep    int
	// Optional lets tools run while the log cannot be written. Otherwise all calls are refused until it can be.
	Optional bool
}

// conceal creates the session's redactor.
func (b *builder) conceal(ctx context.Context) (err error) {
	c, s := &b.config.Secrets, &b.session
	if b.secrets = s.Secrets; b.secrets == nil {
		vars := c.Vars
		if vars == nil {
			vars = os.Environ()
		}
		b.secrets, err = secret.New(ctx, secret.Config{Vars: vars, Env: s.Env, Names: c.Names, Patterns: c.Patterns})
	}
	if !c.Off {
		s.Secrets, b.config.ToolConfig.Redacted = b.secrets, true
	}
	return err
}

// audit opens the audit log.
func (b *builder) audit(context.Context) error {
	c := b.config.Audit
	if c.Path == "" && b.state != "" {
		c.Path = b.state.Audit()
	}
	if c.Off || c.Path == "" || b.session.Audit != nil {
		return nil
	}
	a := &auditor{secrets: b.secrets, optional: c.Optional, warn: b.config.Warn}
	var err error
	if a.log, err = audit.Open(c.Path, audit.Config{MaxSize: c.MaxSize, Keep: c.Keep}); err != nil {
		if c.Optional && a.warn != nil {
			a.warn(fmt.Errorf("%w; tool calls are not recorded", err))
		}
		if c.Optional {
			return nil
		}
		return err
	}
	s := &b.session
	s.Audit, s.Middleware = a.record, append([]tool.Middleware{a.gate}, s.Middleware...)
	b.made = append(b.made, a)
	return nil
}

// auditor writes outcomes to the audit log. It retries entries that cannot be written, and meanwhile refuses calls
// unless the log is optional.
type auditor struct {
	log      *audit.Log
	secrets  *secret.Redactor
	optional bool
	warn     func(error)

	mu      sync.Mutex
	waiting []audit.Entry
	failed  bool // the failure was reported
	wrote   bool
}

// record writes a call's outcome.
func (a *auditor) record(session, agent string, o tool.Outcome) {
	e := a.entry(session, agent, o)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waiting = append(a.waiting, e)
	_ = a.write() // gate tries again
}

// write writes the waiting entries; a.mu is held.
func (a *auditor) write() error {
	n, err := a.log.Append(a.waiting...)
	a.wrote = a.wrote || n > 0
	if a.waiting = a.waiting[n:]; err == nil {
		a.failed = false
		return nil
	}
	consequence := "tools are refused until it can be written"
	if a.optional {
		a.waiting, consequence = nil, "tool calls are not recorded"
	}
	if !a.failed && a.warn != nil {
		a.warn(fmt.Errorf("%w; %s", err, consequence))
	}
	a.failed = true
	return err
}

// gate is middleware that refuses calls while an earlier one is not in the log.
func (a *auditor) gate(ctx context.Context, _ tool.Call, next func(context.Context) (tool.Result, error)) (tool.Result, error) {
	if err := a.ready(); err != nil {
		return tool.Failure(
			tool.PermissionDenied,
			"%v. No tool can run until the audit log can be written; ask the user to fix this.", err,
		), nil
	}
	return next(ctx)
}

// ready writes the waiting entries, and returns an error if calls must be refused.
func (a *auditor) ready() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.waiting) == 0 {
		return nil
	}
	if err := a.write(); err != nil && !a.optional {
		return err
	}
	return nil
}

// Close syncs the log to disk, and reports entries that could not be written.
func (a *auditor) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.waiting) > 0 && a.write() != nil && a.warn != nil {
		a.warn(fmt.Errorf("%d tool calls are not in the audit log", len(a.waiting)))
	}
	if !a.wrote {
		return nil
	}
	return a.log.Sync()
}

// entry describes an outcome without secrets.
func (a *auditor) entry(session, agent string, o tool.Outcome) audit.Entry {
	text := a.secrets.Text
	e := audit.Entry{
		Time:    time.Now().UTC(),
		Trace:   strings.TrimSuffix(session+"/"+agent, "/"),
		Call:    o.Call.ID,
		Name:    text(o.Call.Name),
		Version: o.Version,
		Args:    a.arguments(o.Call.Args),
		Decision: audit.Decision{
			Verdict: o.Decision.Verdict.String(),
			Code:    o.Decision.Code,
			Rule:    text(o.Decision.Rule),
			Reason:  text(o.Decision.Reason),
		},
		OK:       o.OK(),
		Duration: o.Duration.Milliseconds(),
		Waited:   o.Waited.Milliseconds(),
	}
	if o.Tool != o.Call.Name {
		e.Tool = o.Tool
	}
	if o.Approval != nil {
		e.Approval = &audit.Approval{Allowed: o.Approval.Allow, Scope: string(o.Approval.Scope), Message: text(o.Approval.Message)}
	}
	if o.Result.Error != nil {
		e.Error = string(o.Result.Error.Code)
	}
	for _, p := range o.Result.Artifacts.FilesChanged {
		e.FilesChanged = append(e.FilesChanged, text(p))
	}
	for _, c := range o.Result.Artifacts.CommandsRun {
		e.CommandsRun = append(e.CommandsRun, shortened(text(c)))
	}
	return e
}

// maxArgument is the maximum length of a string in arguments, in bytes. Longer strings are truncated.
const maxArgument = 2048

// arguments returns arguments without secrets and with long texts truncated.
func (a *auditor) arguments(args json.RawMessage) json.RawMessage {
	args = a.secrets.JSON(args)
	var v any
	if len(args) > 0 && len(args) <= maxArgument && json.Valid(args) {
		return args
	}
	if json.Unmarshal(args, &v) != nil {
		v = string(args)
	}
	b, err := json.Marshal(shortenAll(v))
	if err != nil {
		return nil
	}
	return b
}

// shortenAll truncates all long texts in a JSON value.
func shortenAll(v any) any {
	switch v := v.(type) {
	case string:
		return shortened(v)
	case []any:
		for i := range v {
			v[i] = shortenAll(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = shortenAll(v[k])
		}
	}
	return v
}

func shortened(text string) string {
	if len(text) <= maxArgument {
		return text
	}
	return strings.ToValidUTF8(text[:maxArgument], "") + fmt.Sprintf("… (%d bytes)", len(text))
}
