package agent

import (
	"cmp"
	"context"
	"slices"

	"github.com/reins-agent/reins/agent/step"
	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/hook"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy"
)

// BlockedError reports that a hook refused input. The input is not recorded.
type BlockedError struct{ Reason string }

func (e *BlockedError) Error() string {
	return "the input was blocked by a hook: " + cmp.Or(e.Reason, "no reason given")
}

// StoppedError is the cause of an interruption by a hook.
type StoppedError struct{ Reason string }

func (e *StoppedError) Error() string {
	return "stopped by a hook: " + cmp.Or(e.Reason, "no reason given")
}

// fire runs an event's hooks and records their runs. If a tool call's hook stops the work, running calls finish first.
func (s *Session) fire(ctx context.Context, in hook.Input) hook.Output {
	hooks := s.config.Hooks
	if !hooks.Has(in.Event) { // the usual case
		return hook.Output{}
	}
	in.Session = s.id
	in.Dir = s.dir()
	in.Mode = string(cmp.Or(s.Mode(), policy.ModeDefault))
	in.Agent = s.path
	in.AgentType = s.config.kind
	r := hooks.Run(ctx, s.hookEnv(), in)
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	for _, d := range step.Ran(in, r) {
		s.note(d)
	}
	if in.Call != "" && r.Stop {
		s.work.halted = cmp.Or(s.work.halted, r.StopReason, "no reason given")
	}
	return r.Output
}

// Fire runs hooks for an event that the host causes, such as WorktreeCreate, and records their runs.
func (s *Session) Fire(ctx context.Context, in hook.Input) hook.Output { return s.fire(ctx, in) }

// hookEnv returns the root's environment: a subagent's may be confined.
func (s *Session) hookEnv() env.Environment {
	for s.parent != nil {
		s = s.parent
	}
	return s.config.Env
}

// startHooks runs Setup hooks, if the session is new, and SessionStart hooks before the first work in this process. It
// returns a *StoppedError if a hook stops the work.
func (s *Session) startHooks(ctx context.Context) error {
	if s.started || s.depth > 0 {
		return nil
	}
	s.started = true
	if !s.resumed {
		s.fire(ctx, hook.Input{Event: hook.Setup, Trigger: "init"})
	}
	s.tree.mu.Lock()
	in := hook.Input{Event: hook.SessionStart, Source: "startup", Model: s.now.Model}
	s.tree.mu.Unlock()
	if s.resumed {
		in.Source = "resume"
	}
	if out := s.fire(ctx, in); out.Stop {
		return &StoppedError{out.StopReason}
	}
	return nil
}

// submitHooks runs UserPromptSubmit hooks. It returns a *BlockedError if they refuse the input.
func (s *Session) submitHooks(ctx context.Context, msg llm.Message) error {
	out := s.fire(ctx, hook.Input{Event: hook.UserPromptSubmit, Prompt: msg.Text()})
	if out.Refuses() {
		return &BlockedError{cmp.Or(out.Reason, out.StopReason)}
	}
	return nil
}

func stopEvent(depth int) hook.Event {
	if depth > 0 {
		return hook.SubagentStop
	}
	return hook.Stop
}

// updateHooks records whether hooks decide on the end of work, which may have changed since a subagent was spawned.
func (s *Session) updateHooks() {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	if set := s.setup(); set.Rules.StopHooks != s.state.Setup().Rules.StopHooks {
		s.note(event.Settings{Setup: set})
	}
}

// stopHooks runs the hooks that decide whether the work may end.
func (s *Session) stopHooks(ctx context.Context, a step.RunHooks) {
	s.fire(ctx, hook.Input{Event: stopEvent(s.depth), StopActive: &a.Active, Answer: a.Answer})
}

// endHooks runs the hooks after the work on an input.
func (s *Session) endHooks(ctx context.Context, out Outcome, err error) {
	defer s.idleHooks(ctx)
	switch {
	case out.Status == StatusFailed && err != nil:
		s.fire(ctx, hook.Input{Event: hook.StopFailure, Error: err.Error(), Answer: out.Text})
	case out.Status == StatusAwaitingInput:
		s.fire(
			ctx,
			hook.Input{Event: hook.Notification, Kind: "idle_prompt", Message: cmp.Or(out.Question, "Reins is waiting for your input")},
		)
	}
}

// idleHooks runs TeammateIdle hooks for each team that a subagent is a member of.
func (s *Session) idleHooks(ctx context.Context) {
	if s.depth == 0 || !s.config.Hooks.Has(hook.TeammateIdle) {
		return
	}
	s.tree.mu.Lock()
	name, teams := s.tree.fold.Name(s.path), slices.Clone(s.tree.fold.Teams())
	s.tree.mu.Unlock()
	for _, team := range teams {
		member := func(m event.Member) bool { return m.Name == name }
		if team.Status == event.TeamActive && slices.ContainsFunc(team.Members, member) {
			s.fire(ctx, hook.Input{Event: hook.TeammateIdle, Teammate: name, Team: team.Name})
		}
	}
}

// Compaction triggers.
const (
	autoCompact   = "auto"
	manualCompact = "manual"
)

// watchesCompaction reports whether hooks must run when the conversation is compacted.
func (s *Session) watchesCompaction() bool {
	return s.config.Hooks.Has(hook.PreCompact) || s.config.Hooks.Has(hook.PostCompact)
}

// beforeShrinking runs PreCompact hooks once per compaction.
func (s *Session) beforeShrinking(ctx context.Context, trigger string) {
	if !s.shrinking {
		s.shrinking = true
		s.fire(ctx, hook.Input{Event: hook.PreCompact, Trigger: trigger})
	}
}

// shrink compacts the conversation, with the hooks before and after.
func (s *Session) shrink(ctx context.Context, d event.Compaction) {
	trigger := autoCompact
	if d.Reason == event.CompactionManual {
		trigger = manualCompact
	}
	s.beforeShrinking(ctx, trigger)
	s.record(d)
	s.shrinking = false
	s.fire(ctx, hook.Input{Event: hook.PostCompact, Trigger: trigger})
}
