// Package hook runs functions and commands at events of a session: before and after tool calls, when input arrives, when
// work starts and ends. A hook can block, rewrite the input of a tool, add context for the model, require approval, stop
// the work and notify the user. It can never permit what the policy does not.
//
// Commands speak the protocol of Claude Code and codex: JSON on standard input, exit code 2 or JSON on standard output to
// answer. Functions get the same [Input] and return the same [Output].
//
// A hook of PreToolUse or PermissionRequest that fails in any way denies the call, unless its OnError says otherwise.
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

// OnError is the effect of a hook that fails.
type OnError string

// The effects of a failure. By default it denies calls for PreToolUse and PermissionRequest and is ignored for other
// events.
const (
	AllowOnError OnError = "allow"
	BlockOnError OnError = "block" // where the event can be blocked
)

// Timeouts of hooks that have none. SessionEnd delays the end of the program.
const (
	DefaultTimeout    = 60 * time.Second
	SessionEndTimeout = 10 * time.Second
)

// Hook is a function or a command that runs at an event.
type Hook struct {
	Event Event
	// Matcher selects tools by name, or what else the event is about: how a session starts or ends, the type of a
	// subagent, what triggers a compaction. Names separated by | match exactly; with other characters it is a regular
	// expression that matches anywhere. "" and "*" match everything.
	Matcher string
	Name    string        // for people; default: the command
	Timeout time.Duration // 0 is the default
	OnError OnError

	// Exactly one of these is set. Command is a command line for the shell of the environment.
	Func    func(ctx context.Context, in Input) (Output, error)
	Command string
}

// Set is a list of hooks in the order in which they run. It is immutable; a nil Set is empty.
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

// New returns a set. An unknown event, an invalid matcher, and a hook without exactly one of Func and Command are errors.
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

// InProject returns a copy of the set that tells commands the root directory of the project.
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
	// Back returns the arguments for a changed input; nil means that the input cannot be changed.
	Back func(input json.RawMessage) (json.RawMessage, error)
}

// Translating returns a copy of the set whose hooks see the tool calls of an agent in dir as f returns them. A call for
// several files may be several calls for hooks.
func (s *Set) Translating(f func(dir, tool string, args json.RawMessage) []Call) *Set {
	t := *s
	t.translate = f
	return &t
}

// calls returns a tool call as hooks see it. Other events are one call without a name.
func (s *Set) calls(in Input) (calls []Call) {
	if in.Tool != "" && s.translate != nil {
		calls = s.translate(in.Dir, in.Tool, in.ToolInput)
	}
	if len(calls) > 0 {
		return calls
	}
	return []Call{{Name: in.Tool, Input: in.ToolInput, Back: func(input json.RawMessage) (json.RawMessage, error) { return input, nil }}}
}

// Restriction returns the strictest of the restrictions that name a tool call.
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

// Has reports whether there are hooks for an event.
func (s *Set) Has(e Event) bool {
	return s != nil && slices.ContainsFunc(s.hooks, func(h compiled) bool { return h.Event == e })
}

// Match returns the hooks that would run. A command runs once for an event, even if it is listed several times.
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

// Result is what hooks decided together.
type Result struct {
	Output
	Runs []Run
}

// Run is a run of one hook.
type Run struct {
	Hook     Hook
	Output   Output // with the consequence of a failure
	Err      error  // why it failed
	Duration time.Duration
}

// Run runs the matching hooks one after the other. Each sees the tool input with the changes of those before it. All of
// them run, even after one has denied. Commands run in e.
//
// Tool and ToolInput are those of the session. Hooks get the call translated, and Output.Input is translated back.
func (s *Set) Run(ctx context.Context, e env.Environment, in Input) (r Result) {
	if !s.Has(in.Event) {
		return r
	}
	own := in.Tool
	for _, c := range s.calls(in) {
		in.Tool, in.ToolInput, in.Names = c.Name, c.Input, append([]string{own}, c.Names...)
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

// run runs a hook on a call. It returns the arguments if the hook changed the input.
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

// failed returns the effect of the failure of a hook.
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

// function calls a function, and stops waiting for it if it takes too long.
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
