package step

import (
	"fmt"
	"strings"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/hook"
)

// maxStops limits how often hooks can keep an agent working on an input.
const maxStops = 10

// consult asks hooks whether the work may end, unless they have kept it going too often.
func (s *State) consult() Action {
	if s.stops < maxStops {
		return RunHooks{Active: s.stops > 0, Answer: s.text}
	}
	return Append{
		event.Warning{Code: event.WarningStopHooks, Message: fmt.Sprintf("Stopping: Stop hooks asked to continue %d times", s.stops)},
	}
}

// hooked applies that a hook ran. Its context about a call is added after the round's results, in call order.
func (s *State) hooked(d event.Hook) {
	notes := &s.notes
	if c := s.find(d.Call); c != nil && d.Call != "" {
		notes = &c.notes
		c.hooked = c.hooked || d.Event == string(hook.PreToolUse)
	}
	if d.Context != "" {
		*notes = append(*notes, note(d.Event+" hook: "+d.Context, event.SourceHook))
	}
	if !keepsWorking(hook.Event(d.Event)) {
		return
	}
	s.consulted = true
	if d.Outcome == event.HookBlocked && s.halt != nil && s.halt.Status == event.StatusDone {
		s.stops++
		s.resume()
	}
}

// fromHooks returns notes from hooks, which are kept for the next input.
func (s *State) fromHooks() (notes []event.Data) {
	for _, n := range s.notes {
		if d, ok := n.(event.SteeringInjected); ok && d.Source == event.SourceHook {
			notes = append(notes, d)
		}
	}
	return notes
}

// Ran returns the records for hooks that ran.
func Ran(in hook.Input, r hook.Result) (records []event.Hook) {
	for _, run := range r.Runs {
		out := run.Output
		if r.Stop && out.Decision == hook.Deny && keepsWorking(in.Event) {
			out.Decision = hook.None // another hook stops the work
		}
		d := event.Hook{
			Event:  string(in.Event),
			Name:   run.Hook.Name,
			Call:   in.Call,
			Reason: out.Reason,
			Input:  out.Input,

			Message:  out.Message,
			Title:    out.Title,
			Level:    out.Level,
			Restrict: out.Restrict,
			Context:  out.Context,
			Duration: run.Duration,
		}
		d.Outcome = outcome(out, run.Err)
		switch {
		case d.Outcome == event.HookStopped:
			d.Reason = out.StopReason
		case d.Outcome == event.HookFailed:
			d.Reason = run.Err.Error()
		}
		switch blocked := out.Decision == hook.Deny; {
		case in.Event == hook.UserPromptSubmit && (r.Stop || r.Decision == hook.Deny):
			d.Context = "" // the input was refused
		case blocked && (in.Event == hook.PostToolUse || in.Event == hook.PostToolUseFailure || keepsWorking(in.Event)):
			d.Context = strings.TrimSpace(out.Reason + "\n" + out.Context)
		}
		records = append(records, d)
	}
	return records
}

// keepsWorking reports whether hooks can keep an agent working at an event.
func keepsWorking(e hook.Event) bool { return e == hook.Stop || e == hook.SubagentStop }

func outcome(out hook.Output, err error) event.HookOutcome {
	switch {
	case out.Stop:
		return event.HookStopped
	case out.Decision == hook.Deny:
		return event.HookBlocked
	case err != nil:
		return event.HookFailed
	case out.Decision == hook.Ask:
		return event.HookAsked
	case out.Input != nil || out.Response != nil:
		return event.HookChanged
	}
	return event.HookOK
}
