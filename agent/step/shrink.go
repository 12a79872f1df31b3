package step

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/reins-agent/reins/compact"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

const (
	// nearlyFull is the share of the window above which compaction does not wait for a summary.
	nearlyFull = 0.95
	// warnAt is the share of the window that causes a warning.
	warnAt = 0.8
	// maxSummaryFailures limits failed summaries in a row.
	maxSummaryFailures = 2
)

// summary is the progress of a summary.
type summary struct {
	asked    int    // model calls for it
	text     string // of the answer
	finish   llm.FinishReason
	problem  string // why there is none
	warned   bool
	failures int // in a row
}

// Window returns the context window of the model in use, 0 if unknown.
func (s *State) Window() int64 {
	set := s.Effective()
	if r := s.refused; r.Window > 0 && r.Provider == set.Provider && r.Model == set.Model {
		return r.Window
	}
	return set.Window
}

// filled returns the share of the window that the conversation takes, 0 if unknown.
func (s *State) filled() float64 {
	window := s.Window()
	if window <= 0 {
		return 0
	}
	return float64(s.meter.Estimate()) / float64(window)
}

// contextWarning warns once when the conversation fills most of the window.
func (s *State) contextWarning() event.Data {
	share := s.filled()
	if s.warned || share <= warnAt {
		return nil
	}
	return event.Warning{Code: event.WarningContextWindow, Message: fmt.Sprintf("Context usage at ~%.0f%% of context window", share*100)}
}

// compactIfFull compacts the conversation when it reaches the threshold. It returns nil if that is not
// needed or not possible.
func (s *State) compactIfFull() Action {
	if at := s.setup.Rules.CompactAt; at <= 0 || s.filled() < at {
		return nil
	}
	a, _ := s.shrink(event.CompactionThreshold)
	return a
}

// Compact returns the next action to compact the conversation now. A driver calls it until it returns an
// Append with a Compaction, or a Stop if that is not possible. It records the error of the Stop as a warning.
func (s *State) Compact() Action {
	a, problem := s.shrink(event.CompactionManual)
	switch {
	case a != nil:
		return a
	case problem != "":
		return Stop{Status: event.StatusFailed, Error: &event.Error{Class: string(llm.ErrMalformed), Message: "the conversation could not be summarised: " + problem}}
	}
	return Stop{Status: event.StatusDone}
}

// shrink compacts the conversation in the first way that reaches the goal: by clearing old results, by a
// summary, or by a digest made without the model. It returns nil if that is not possible, and what was wrong
// with the summary.
func (s *State) shrink(reason event.CompactionReason) (Action, string) {
	goal := s.goal(reason)
	cleared, ok := compact.Clear(s.meter, s.messages, goal)
	if after, err := cleared.Apply(s.messages); ok && err == nil && reason != event.CompactionManual && goal.Met(s.meter, after) {
		return s.compaction(reason, event.CompactionClear, cleared), ""
	}
	a, problem := s.summarise(reason, goal)
	switch {
	case a != nil:
		return a, ""
	case reason == event.CompactionManual && !s.setup.Rules.NoSummary:
		return nil, problem
	case problem != "" && !s.summary.warned:
		return Append{s.noSummary(problem)}, ""
	}
	if reason != event.CompactionThreshold || s.filled() >= nearlyFull {
		if edit, ok := compact.Fallback(s.meter, s.messages, goal, s.facts); ok {
			return s.compaction(reason, event.CompactionDigest, edit), ""
		}
	}
	if ok {
		return s.compaction(reason, event.CompactionClear, cleared), ""
	}
	return nil, ""
}

// goal returns the size to compact to.
func (s *State) goal(reason event.CompactionReason) compact.Goal {
	rules, window, now := s.setup.Rules, s.Window(), s.meter.Estimate()
	to := cmp.Or(max(rules.CompactTo, 0), max(rules.CompactAt, 0)/2, 0.4)
	g := compact.Goal{Tokens: int64(to * float64(window)), Request: window - min(window/8, 16_000)}
	if window <= 0 {
		g.Tokens = now / 2
	}
	if reason != event.CompactionThreshold { // it is already too long, or the user wants it shorter
		g.Tokens = min(g.Tokens, now/2)
	}
	if reason == event.CompactionContextLength { // the estimate was wrong
		g.Request = min(max(g.Request, 0), now*3/4)
	}
	return g
}

// summarise asks the model for a summary, or returns what is wrong with it. The first request keeps the
// tools, because some providers' caches break without them. If the model calls one, the next request
// switches them off.
func (s *State) summarise(reason event.CompactionReason, goal compact.Goal) (a Action, problem string) {
	now := s.summary
	if reason == event.CompactionManual && now.warned { // by an earlier attempt
		now = summary{}
	}
	plan, ok := compact.Prepare(s.meter, s.messages, goal)
	switch {
	case s.setup.Rules.NoSummary, !ok, now.asked == 0 && now.failures >= maxSummaryFailures && reason != event.CompactionManual:
		return nil, ""
	case now.problem != "":
		return nil, now.problem
	case now.finish != "":
		edit, err := plan.Finish(llm.AssistantText(now.text), now.finish, s.facts)
		if err != nil {
			return nil, err.Error()
		}
		return s.compaction(reason, event.CompactionSummary, edit), ""
	case s.limit() != nil:
		return nil, ""
	case now.asked == 0:
		return CallModel{Purpose: event.PurposeSummary, Messages: plan.Messages}, ""
	}
	return CallModel{Purpose: event.PurposeSummary, Messages: plan.Messages, Choice: llm.ToolChoice{Mode: llm.ToolNone}}, ""
}

func (s *State) noSummary(problem string) event.Warning {
	suffix := ""
	if s.summary.failures+1 >= maxSummaryFailures {
		suffix = "; it will not be tried again automatically"
	}
	return event.Warning{Code: event.WarningSummaryFailed, Message: fmt.Sprintf("The conversation could not be summarised: %s%s", problem, suffix)}
}

// SummaryOf returns the summary in an answer, or "" if the model called a tool instead.
func SummaryOf(resp *llm.Response) string {
	if len(resp.ToolCalls()) > 0 {
		return ""
	}
	return resp.Text()
}

// summarised applies the answer to a call for a summary.
func (s *State) summarised(d event.ModelCallEnd) {
	if s.summary.warned {
		s.summary = summary{failures: s.summary.failures}
	}
	if d.Error != nil && llm.ErrorKind(d.Error.Class) == llm.ErrCancelled {
		return
	}
	s.summary.asked++
	switch finish := d.Finish; {
	case d.Error != nil:
		s.summary.problem = d.Error.Message
	case strings.TrimSpace(d.Summary) != "" || s.summary.asked > 1 || finish == llm.FinishLength || finish == llm.FinishContentFilter:
		s.summary.text, s.summary.finish = d.Summary, finish
	}
}

// compaction returns the record of an edit, nil if it cannot be applied.
func (s *State) compaction(reason event.CompactionReason, method event.CompactionMethod, edit compact.Edit) Action {
	messages, err := edit.Apply(s.messages)
	if err != nil {
		return nil
	}
	m := s.meter
	d := event.Compaction{Reason: reason, Method: method, Before: m.Estimate(), Edit: edit}
	// The provider may count differently; the share that is left is the same.
	share := float64(m.Weigh(messages...)) / float64(m.Weigh(s.messages...))
	beside := min(m.Overhead(), d.Before)
	d.After = beside + int64(float64(d.Before-beside)*share)
	return Append{d}
}

// compacted applies an edit.
func (s *State) compacted(d event.Compaction) {
	if messages, err := d.Apply(s.messages); err == nil {
		s.rewrite(messages, "the conversation was compacted")
	}
	s.read.compactions++
	failures := s.summary.failures
	if d.Method == event.CompactionSummary {
		failures = 0
	}
	s.summary, s.warned = summary{failures: failures}, false
	if d.Reason == event.CompactionContextLength {
		s.failure, s.tried.compacted = nil, true
	}
}

// Size estimates how many tokens the conversation takes.
func (s *State) Size() int64 { return s.meter.Estimate() }

// Facts returns what a summary must not lose.
func (s *State) Facts() compact.Facts { return s.facts }
