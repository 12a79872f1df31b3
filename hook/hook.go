// Package hook runs functions and commands at session events: before and after tool calls, when input arrives, when
// work starts and ends. A hook can block, rewrite tool input, add context for the model, require approval, stop the
// work and notify the user. It can never permit a call that the policy refuses.
//
// Commands speak the protocol of Claude Code and codex: JSON on standard input; exit code 2 or JSON on standard output
// to answer. Functions get the same [Input] and return the same [Output].
//
// A PreToolUse or PermissionRequest hook that fails in any way denies the call, unless its OnError is AllowOnError.
package hook

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/reins-agent/reins/env"
)

// OnError decides what happens if a hook fails.
type OnError string

// The values of OnError. By default a failed PreToolUse or PermissionRequest hook denies the call; failures at other
// events have no effect.
const (
	AllowOnError OnError = "allow"
	BlockOnError OnError = "block" // if the event can be blocked
)

// Timeouts of hooks without one. The SessionEnd timeout is short because it delays the end of the program.
const (
	DefaultTimeout    = 60 * time.Second
	SessionEndTimeout = 10 * time.Second
)

// Hook is a function or a command that runs at an event.
type Hook struct {
	Event Event
	// Matcher selects the subjects for which the hook runs. The subject is the tool name for tool events, and for other
	// events how the session started or ended, the subagent type, the compaction trigger and so on. Names separated by
	// | match exactly; any other pattern is a regular expression that matches anywhere. "" and "*" match everything.
	Matcher string
	Name    string        // shown to the user; default: the command
	Timeout time.Duration // 0 is DefaultTimeout, or SessionEndTimeout for SessionEnd
	OnError OnError

	// Func or Command must be set, but not both. Func may be called concurrently; if it has not returned when the
	// timeout ends, its result is ignored. Command is a line for the environment's shell.
	Func    func(ctx context.Context, in Input) (Output, error)
	Command string
}

// Set is an immutable list of hooks, which run in this order. Its methods may be called concurrently. A nil *Set has no
// hooks.
//
// All agents of a session share one Set. Hooks can only restrict: the strictest [Decision] of all matching hooks
// counts, and Allow never overrides the policy. Neither a failing nor a slow hook can stop Run from returning: failures
// are reported in Result.Runs, and each hook has a timeout.
type Set struct {
	hooks     []compiled
	dir       string
	translate func(dir, tool string, args json.RawMessage) []Call
}

type compiled struct {
	Hook
	names   []string
	pattern *regexp.Regexp
}

// New returns a set of hooks. It fails if an event is unknown, a matcher is invalid, a timeout is negative, or a hook
// does not have exactly one of Func and Command.
func New(hooks ...Hook) (*Set, error) {
	s := &Set{}
	for _, h := range hooks {
		c, err := compile(h)
		if err != nil {
			return nil, fmt.Errorf("%s hook %q: %w", h.Event, h.Name, err)
		}
		s.hooks = append(s.hooks, c)
	}
	return s, nil
}

var plain = regexp.MustCompile(`^[\w|, -]*$`)

func compile(h Hook) (c compiled, err error) {
	h.Name = cmp.Or(h.Name, h.Command, "function")
	c.Hook = h
	switch {
	case !slices.Contains(Events(), h.Event):
		return c, fmt.Errorf("unknown event %q", h.Event)
	case (h.Func == nil) == (h.Command == ""):
		return c, errors.New("it needs a function or a command")
	case h.Timeout < 0:
		return c, errors.New("its timeout is negative")
	case h.OnError != "" && h.OnError != AllowOnError && h.OnError != BlockOnError:
		return c, fmt.Errorf("on_error is %q; use allow or block", h.OnError)
	case h.Matcher == "" || h.Matcher == "*":
		return c, nil
	case plain.MatchString(h.Matcher):
		for _, name := range strings.FieldsFunc(h.Matcher, func(r rune) bool { return r == '|' || r == ',' }) {
			c.names = append(c.names, strings.TrimSpace(name))
		}
		return c, nil
	}
	if c.pattern, err = regexp.Compile(h.Matcher); err != nil {
		return c, fmt.Errorf("invalid matcher: %w", err)
	}
	return c, nil
}

// InProject returns a copy of the set that reports dir to commands as the project root.
func (s *Set) InProject(dir string) *Set {
	t := *s
	t.dir = dir
	return &t
}

// Call is a tool call as hooks see it.
type Call struct {
	Name  string   // reported as tool_name
	Names []string // other names that matchers may use
	Input json.RawMessage
	// Back translates input that a hook has changed to the tool's arguments; nil means that hooks cannot change the
	// input.
	Back func(input json.RawMessage) (json.RawMessage, error)
}

// Translating returns a copy of the set whose hooks see f(dir, tool, args) instead of an agent's tool call. f may
// return several calls, for instance one per changed file; hooks then run for each. If it returns none, hooks see the
// original call.
func (s *Set) Translating(f func(dir, tool string, args json.RawMessage) []Call) *Set {
	t := *s
	t.translate = f
	return &t
}

// calls returns a tool call as hooks see it. For other events it returns one call without a name.
func (s *Set) calls(in Input) (calls []Call) {
	if in.Tool != "" && s.translate != nil {
		calls = s.translate(in.Dir, in.Tool, in.ToolInput)
	}
	if len(calls) > 0 {
		return calls
	}
	return []Call{{Name: in.Tool, Input: in.ToolInput, Back: func(input json.RawMessage) (json.RawMessage, error) { return input, nil }}}
}

// Restriction returns the strictest restriction in list that names the tool call, or the zero Restriction.
func (s *Set) Restriction(list []Restriction, in Input) (strictest Restriction) {
	if s == nil {
		s = &Set{}
	}
	for _, c := range s.calls(in) {
		for _, r := range list {
			named := r.Tool == in.Tool || r.Tool == c.Name || slices.Contains(c.Names, r.Tool)
			if named && r.Behavior.rank() > strictest.Behavior.rank() {
				strictest = r
			}
		}
	}
	return strictest
}

// Has reports whether the set has hooks for an event.
func (s *Set) Has(e Event) bool {
	return s != nil && slices.ContainsFunc(s.hooks, func(h compiled) bool { return h.Event == e })
}

// Match returns the hooks that would run. A command that is listed several times for an event runs once.
func (s *Set) Match(in Input) (list []Hook) {
	if s == nil {
		return nil
	}
	seen := map[string]bool{}
	for i := range s.hooks {
		h := &s.hooks[i]
		if h.Event != in.Event || !h.matches(in.subject()) || seen[h.Command] {
			continue
		}
		if h.Command != "" {
			seen[h.Command] = true
		}
		list = append(list, h.Hook)
	}
	return list
}

func (h *compiled) matches(subject []string) bool {
	if subject == nil || h.names == nil && h.pattern == nil {
		return true
	}
	return slices.ContainsFunc(subject, func(name string) bool {
		return slices.Contains(h.names, name) || h.pattern != nil && h.pattern.MatchString(name)
	})
}

// Result combines the outputs of all hooks that ran.
type Result struct {
	Output
	Runs []Run
}

// Run is a run of one hook.
type Run struct {
	Hook     Hook
	Output   Output // after a failure, its effect
	Err      error  // why it failed
	Duration time.Duration
}

// Run runs the matching hooks one after the other, and returns when all have finished. Each hook sees the input as
// changed by the hooks before it. All matching hooks run, even after one has denied. Commands run in e; functions get
// ctx with the hook's timeout.
//
// in.Tool and in.ToolInput name the session's tool and arguments. Hooks get the translated call, and Output.Input in
// the result is translated back.
func (s *Set) Run(ctx context.Context, e env.Environment, in Input) (r Result) {
	if !s.Has(in.Event) {
		return r
	}
	own := in.Tool
	for _, c := range s.calls(in) {
		in.Tool = c.Name
		in.ToolInput = c.Input
		in.Names = append([]string{own}, c.Names...)
		for _, h := range s.Match(in) {
			run, args := s.run(ctx, e, h, in, c)
			if args != nil {
				in.ToolInput = run.Output.Input
			}
			r.Runs = append(r.Runs, run)
			out := run.Output
			out.Input = args
			r.add(out)
		}
	}
	return r
}

// run runs one hook on a call. If the hook changed the input, run also returns the new arguments.
func (s *Set) run(ctx context.Context, e env.Environment, h Hook, in Input, c Call) (r Run, args json.RawMessage) {
	start := time.Now()
	out, err := s.call(ctx, e, h, in)
	switch {
	case err != nil || out.Input == nil:
	case c.Back == nil:
		err = fmt.Errorf("it changed the input of %s, which cannot be changed here", in.Tool)
	default:
		args, err = c.Back(out.Input)
	}
	if err != nil {
		out, args = h.failed(err), nil
	}
	if !in.Event.addsContext() {
		out.Context = ""
	}
	return Run{h, out, err, time.Since(start)}, args
}

// failed returns the output that stands for a failed hook.
func (h Hook) failed(err error) Output {
	if h.OnError == AllowOnError || !h.Event.guards() && !(h.OnError == BlockOnError && h.Event.Blocks()) {
		return Output{}
	}
	return Output{Decision: Deny, Reason: fmt.Sprintf("the hook %q failed: %v", h.Name, err)}
}

func (h Hook) timeout() time.Duration {
	if h.Event == SessionEnd {
		return cmp.Or(h.Timeout, SessionEndTimeout)
	}
	return cmp.Or(h.Timeout, DefaultTimeout)
}

func (s *Set) call(ctx context.Context, e env.Environment, h Hook, in Input) (Output, error) {
	if ctx.Err() != nil {
		return Output{}, context.Cause(ctx)
	}
	if h.Func == nil {
		return s.command(ctx, e, h, in)
	}
	return h.function(ctx, in)
}

// function calls Func, but does not wait longer than the timeout.
func (h Hook) function(ctx context.Context, in Input) (Output, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, h.timeout(), fmt.Errorf("it took longer than %v", h.timeout()))
	defer cancel()
	type answer struct {
		Output
		err error
	}
	done := make(chan answer, 1)
	go func() {
		var a answer
		defer func() {
			if v := recover(); v != nil {
				a.err = fmt.Errorf("it panicked: %v", v)
			}
			done <- a
		}()
		a.Output, a.err = h.Func(ctx, in)
	}()
	select {
	case a := <-done:
		if a.err == nil {
			a.err = a.check(in.Event)
		}
		return a.Output, a.err
	case <-ctx.Done():
		return Output{}, context.Cause(ctx)
	}
}
