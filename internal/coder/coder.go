// Package coder runs a coding task for another program, and reports the result as one JSON object.
//
// The task is done by a session of Reins, or by another command-line agent that prints stream-json, such as Claude
// Code. [Run] enforces an idle timeout and a maximum duration, retries attempts that failed before they changed
// anything, and checks the changed files against those that the caller allows. [Tool] offers it to MCP clients.
package coder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/reins-agent/reins/coding"
)

// Sandbox selects what a run can change.
type Sandbox string

// The sandboxes.
const (
	ReadOnly       Sandbox = "read-only"
	WorkspaceWrite Sandbox = "workspace-write"    // the run's directory; the default
	FullAccess     Sandbox = "danger-full-access" // everything; needs Config.FullAccess
)

// Config configures runs. Exactly one of Session and Command must be set.
type Config struct {
	// State is the directory for sessions and checkpoints; see [home.Find].
	State string
	// Session returns a session configuration for a directory. It must confine the session to the sandbox and
	// must not wait for a user. Run adds the store, the session to resume and the constraints.
	Session func(ctx context.Context, dir string, box Sandbox) (coding.Config, error)
	// Command does the task instead of a session.
	Command *Command
	// FullAccess permits the sandbox danger-full-access.
	FullAccess bool
	// Progress, if set, is called with a line for each step.
	Progress func(line string)
	// Log, if set, is called with a run's metrics if its request sets LogMetrics.
	Log func(Metrics)

	wait func(ctx context.Context, d time.Duration) error // for tests; nil sleeps
}

// Request is a task.
type Request struct {
	Prompt  string
	Dir     string  // working directory
	Sandbox Sandbox // default: WorkspaceWrite
	Session string  // ID of a session to continue; "" starts a new one

	// Contract and Guardrails are constraints from the caller. They are separate from the task: the model gets them as
	// instructions that take precedence over the task.
	Contract, Guardrails string
	// AllowedFiles are patterns for files that may change, relative to Dir, such as "src/**". If other files have
	// changed after the run, it fails with ScopeViolation. Nil allows all files; an empty list allows none.
	AllowedFiles []string

	IdleTimeout time.Duration // maximum time without any output; default 5 minutes
	MaxDuration time.Duration // of the run; default 30 minutes, negative means no limit
	MaxRetries  int           // of attempts that changed nothing

	AllMessages bool // return everything that was recorded
	Metrics     bool // return metrics
	LogMetrics  bool // call Config.Log
}

// Request defaults and limits.
const (
	defaultIdle     = 300 * time.Second
	defaultDuration = 1800 * time.Second
	firstWait       = 500 * time.Millisecond // before a retry; it doubles
	maxRetries      = 10
	maxConstraints  = 64 << 10 // bytes of contract and guardrails
)

// The reasons for which a run is cancelled.
var (
	errIdle     = errors.New("no output within the idle timeout")
	errDuration = errors.New("the maximum duration was exceeded")
)

// Run runs a task. It returns after everything that it started has ended. Cancelling ctx interrupts the task.
func Run(ctx context.Context, c Config, q Request) (res Result) {
	if q.Sandbox == "" {
		q.Sandbox = WorkspaceWrite
	}
	if q.IdleTimeout == 0 {
		q.IdleTimeout = defaultIdle
	}
	if q.MaxDuration == 0 {
		q.MaxDuration = defaultDuration
	}
	r := &run{config: c, request: q, id: q.Session, start: time.Now()}
	defer func() {
		if v := recover(); v != nil {
			res = r.result(failf(UnexpectedException, "internal error, please report this bug: %v", v))
		}
		if q.LogMetrics && c.Log != nil {
			c.Log(r.metrics())
		}
	}()
	return r.result(r.do(ctx))
}

// do checks the request and runs the task within its limits.
func (r *run) do(ctx context.Context) *failure {
	if err := r.check(); err != nil {
		return failf(ConfigError, "%v", err)
	}
	if d := r.request.MaxDuration; d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, d, errDuration)
		defer cancel()
	}
	s, err := r.openScope(ctx)
	if err != nil {
		return failf(ConfigError, "the changed files cannot be checked: %v", err)
	}
	r.scope = s
	f := r.attempts(ctx)
	return s.judge(context.WithoutCancel(ctx), f) // also after an interruption
}

// attempts runs the task, and retries it after failures that allow that.
func (r *run) attempts(ctx context.Context) *failure {
	wait := r.config.wait
	if wait == nil {
		wait = sleep
	}
	before, err := "", error(nil)
	if r.config.Command != nil && r.request.MaxRetries > 0 { // a session reports its changes
		if before, err = stamp(r.request.Dir); err != nil {
			return failf(ConfigError, "retries are not possible, because changes would not be noticed: %v", err)
		}
	}
	for n := 0; ; n++ {
		f := r.attempt(ctx)
		if f == nil || f.final || r.changed || n == r.request.MaxRetries || ctx.Err() != nil {
			return f
		}
		if before != "" {
			if now, err := stamp(r.request.Dir); err != nil || now != before {
				return f
			}
		}
		pause := firstWait << n
		r.say(fmt.Sprintf("%s: %s; retrying in %v", f.kind, f.message, pause))
		if wait(ctx, pause) != nil {
			return f
		}
		r.retries++
	}
}

// attempt runs the task once. It stops if there is no output within the idle timeout.
func (r *run) attempt(parent context.Context) *failure {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	r.idle = time.AfterFunc(r.request.IdleTimeout, func() { cancel(errIdle) })
	defer r.idle.Stop()
	var f *failure
	if r.config.Command != nil {
		f = r.command(ctx)
	} else {
		f = r.session(ctx)
	}
	if f == nil || ctx.Err() == nil {
		return f
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errIdle):
		f.kind, f.message, f.final = IdleTimeout, fmt.Sprintf("no output for %v", r.request.IdleTimeout), false
	case errors.Is(cause, errDuration):
		f.kind, f.message, f.final = Timeout, fmt.Sprintf("not finished after %v", r.request.MaxDuration), true
	default:
		f.kind, f.message, f.final = UnexpectedException, fmt.Sprintf("the run was interrupted: %v", cause), true
	}
	return f
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// check returns an error for a request or a configuration that cannot be used.
func (r *run) check() error {
	q, c := &r.request, r.config
	if (c.Session == nil) == (c.Command == nil) {
		return errors.New("exactly one of a session and a command must be configured")
	}
	if strings.TrimSpace(q.Prompt) == "" {
		return errors.New("PROMPT is empty")
	}
	switch {
	case !slices.Contains([]Sandbox{ReadOnly, WorkspaceWrite, FullAccess}, q.Sandbox):
		return fmt.Errorf("unknown sandbox %q: use read-only, workspace-write or danger-full-access", q.Sandbox)
	case q.Sandbox == FullAccess && !c.FullAccess:
		return errors.New("the sandbox danger-full-access is not permitted; set coder.full_access in the user's configuration to permit it")
	case q.IdleTimeout < 0:
		return errors.New("timeout must be positive")
	case q.MaxRetries < 0 || q.MaxRetries > maxRetries:
		return fmt.Errorf("max_retries must be between 0 and %d", maxRetries)
	case len(q.Contract)+len(q.Guardrails) > maxConstraints:
		return fmt.Errorf("contract and guardrails are larger than %d bytes in total; shorten them", maxConstraints)
	case !validID(q.Session):
		return fmt.Errorf("invalid SESSION_ID %q: use only letters, digits, - and _", q.Session)
	}
	for _, p := range q.AllowedFiles {
		if !doublestar.ValidatePattern(p) || filepath.IsAbs(p) || slices.Contains(strings.Split(p, "/"), "..") {
			return fmt.Errorf("invalid pattern %q in allowed_files: use patterns relative to the working directory, such as src/**", p)
		}
	}
	return r.findDir()
}

// findDir resolves the working directory.
func (r *run) findDir() error {
	q := &r.request
	if q.Dir == "" {
		return errors.New("cd is empty: give the working directory")
	}
	dir, err := filepath.Abs(q.Dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return fmt.Errorf("cd: %w", err)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return fmt.Errorf("cd: %s is not a directory", q.Dir)
	}
	q.Dir = dir
	return nil
}

// validID reports whether a session ID is safe as a command argument.
func validID(id string) bool {
	return len(id) <= 128 && !strings.HasPrefix(id, "-") && !strings.ContainsFunc(id, func(c rune) bool {
		return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_')
	})
}

// constraints returns the instructions that take precedence over the task, or "".
func (q Request) constraints() string {
	var b strings.Builder
	for _, part := range []struct{ name, text string }{{"contract", q.Contract}, {"guardrails", q.Guardrails}} {
		if text := strings.TrimSpace(part.text); text != "" {
			fmt.Fprintf(&b, "\n\n<%s>\n%s\n</%s>", part.name, text, part.name)
		}
	}
	switch {
	case q.AllowedFiles == nil:
	case len(q.AllowedFiles) == 0:
		b.WriteString("\n\nNo file may be changed, created or deleted.")
	default:
		b.WriteString(
			"\n\nOnly files that match one of these patterns may be changed, created or deleted: " + strings.Join(q.AllowedFiles, ", "),
		)
	}
	if b.Len() == 0 {
		return ""
	}
	return constraintsHead + b.String()
}

const constraintsHead = "# Constraints\n\nThe caller has set these constraints. They take precedence over the task. Make only " +
	"changes within them, and do not extend the task. " +
	"If they are unclear or contradict each other, or if the task cannot be done within them, stop and ask."
