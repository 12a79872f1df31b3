package step

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/reins-agent/reins/compact"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

const (
	// nearlyFull is the window share above which compaction does not wait for a summary.
	nearlyFull = 0.95
	// warnAt is the window share that causes a warning.
	warnAt = 0.8
	// maxSummaryFailures limits failed summaries in a row.
	maxSummaryFailures = 2
)

// summary is the progress towards a summary.
type summary struct {
	asked    int    // model calls for it
	text     string // answer text
	finish   llm.FinishReason
	problem  string // why there is none
	warned   bool
	failures int // in a row

	signed   llm.Text // by the provider
	covers   int      // messages it replaces
	unsigned bool     // the provider did not sign one
}

// Window returns the current model's context window, or 0 if unknown.
func (s *State) Window() int64 {
	set := s.Effective()
	if r := s.refused; r.Window > 0 && r.Provider == set.Provider && r.Model == set.Model {
		return r.Window
	}
	return set.Window
}

// beforeStep is the share of a price step at which the conversation is compacted.
const beforeStep = 0.95

// bound returns the window to compact in: the model's, or less if tokens cost more above a price step.
func (s *State) bound() int64 {
	window := s.Window()
	step := s.Effective().PriceStep
	at := s.setup.Rules.CompactAt
	if step <= 0 || at <= 0 || s.setup.Rules.PastStep {
		return window
	}
	if limit := int64(beforeStep * float64(step) / at); window <= 0 || limit < window {
		return limit
	}
	return window
}

// filled returns the window share that the conversation takes, or 0 if unknown.
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
	at, bound := s.setup.Rules.CompactAt, s.bound()
	if at <= 0 || bound <= 0 || float64(s.meter.Estimate()) < at*float64(bound) {
		return nil
	}
	a, _ := s.shrink(event.CompactionThreshold)
	return a
}

// Compact returns the next action to compact the conversation now. A driver calls it until it returns an Append with a
// Compaction, or a Stop if that is not possible. The driver records the Stop's error as a warning.
func (s *State) Compact() Action {
	a, problem := s.shrink(event.CompactionManual)
	switch {
	case a != nil:
		return a
	case problem != "":
		return Stop{
			Status: event.StatusFailed,
			Error:  &event.Error{Class: string(llm.ErrMalformed), Message: "the conversation could not be summarised: " + problem},
		}
	}
	return Stop{Status: event.StatusDone}
}

// shrink compacts the conversation in the first way that reaches the goal: by clearing old results, by a summary, or by
// a digest made without the model. It returns nil if that is not possible, and why the summary failed.
func (s *State) shrink(reason event.CompactionReason) (Action, string) {
	goal := s.goal(reason)
	if a := s.sign(reason, goal); a != nil {
		return a, ""
	}
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
	rules := s.setup.Rules
	window := s.Window()
	now := s.meter.Estimate()
	to := cmp.Or(max(rules.CompactTo, 0), max(rules.CompactAt, 0)/2, 0.4)
	g := compact.Goal{Tokens: int64(to * float64(s.bound())), Request: window - min(window/8, 16_000)}
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

// sign asks the provider for a summary that it signs, where our own would cost the kept part's thinking, or applies it.
// It returns nil if the provider does not write one.
func (s *State) sign(reason event.CompactionReason, goal compact.Goal) Action {
	rules, now := s.setup.Rules, s.summary
	if !s.Effective().Compacts || rules.NoSummary || now.unsigned || reason == event.CompactionContextLength {
		return nil
	}
	if now.signed.Text == "" {
		plan, ok := compact.PrepareServer(s.meter, s.messages, goal, s.facts)
		if !ok || s.limit() != nil {
			return nil
		}
		return CallModel{Purpose: event.PurposeCompaction, Messages: plan.Messages, Compact: plan.Instructions}
	}
	plan, ok := compact.Signed(s.meter, s.messages, now.covers, goal) // messages may have arrived since
	if !ok {
		return nil
	}
	edit, err := plan.Finish(now.signed, s.facts)
	if err != nil {
		return nil
	}
	return s.compaction(reason, event.CompactionServer, edit)
}

// signed applies the answer to a call for a summary that the provider signs.
func (s *State) signed(d event.ModelCallEnd, covers int) {
	switch {
	case d.Error != nil && llm.ErrorKind(d.Error.Class) == llm.ErrCancelled:
	case d.Error != nil || d.Finish != llm.FinishCompaction || d.Summary == "":
		s.summary.unsigned = true
	default:
		s.summary.signed, s.summary.covers = llm.Text{Text: d.Summary, State: d.Signed}, covers
	}
}

// summarise asks the model for a summary, or returns why it cannot. The first request keeps the tools, because some
// providers' caches break without them. If the model calls a tool, the next request switches them off.
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
	return event.Warning{
		Code:    event.WarningSummaryFailed,
		Message: fmt.Sprintf("The conversation could not be summarised: %s%s", problem, suffix),
	}
}

// SummaryOf returns the summary in an answer, or "" if the model called a tool instead.
func SummaryOf(resp *llm.Response) string {
	if len(resp.ToolCalls()) > 0 {
		return ""
	}
	return resp.Text()
}

// SignedOf returns the summary in the answer to a PurposeCompaction, and what the provider wants back with it.
func SignedOf(resp *llm.Response) (summary string, signed llm.State) {
	for _, p := range resp.Message.Parts {
		if t, ok := p.(llm.Text); ok && t.Text != "" && len(t.State.Data) > 0 {
			return t.Text, t.State
		}
	}
	return "", llm.State{}
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

// compaction returns the record for an edit, or nil if it cannot be applied.
func (s *State) compaction(reason event.CompactionReason, method event.CompactionMethod, edit compact.Edit) Action {
	messages, err := edit.Apply(s.messages)
	if err != nil {
		return nil
	}
	m := s.meter
	d := event.Compaction{Reason: reason, Method: method, Before: m.Estimate(), Edit: edit}
	// The provider may count differently; the remaining share is the same.
	share := float64(m.Weigh(messages...)) / float64(m.Weigh(s.messages...))
	beside := min(m.Overhead(), d.Before)
	d.After = beside + int64(float64(d.Before-beside)*share)
	return Append{d}
}

// compacted applies an edit.
func (s *State) compacted(d event.Compaction) {
	if messages, err := d.Apply(s.messages); err == nil {
		if d.Method == event.CompactionSummary || d.Method == event.CompactionDigest {
			messages = s.settled(messages)
		}
		s.rewrite(messages, "the conversation was compacted")
	}
	s.read.compactions++
	failures := s.summary.failures
	if d.Method == event.CompactionSummary || d.Method == event.CompactionServer {
		failures = 0
	}
	s.summary, s.warned = summary{failures: failures}, false
	if d.Reason == event.CompactionContextLength {
		s.failure, s.tried.compacted = nil, true
	}
}

// settled returns a conversation whose start has changed, with the current instructions there instead of all earlier
// ones, and without tool changes: no thinking is left that would miss them.
func (s *State) settled(messages []llm.Message) []llm.Message {
	messages = slices.DeleteFunc(slices.Clone(messages), func(m llm.Message) bool { return m.Role == llm.RoleSystem })
	if s.told != "" {
		messages = append([]llm.Message{llm.SystemText(s.told)}, messages...)
	}
	return messages
}

// Size estimates how many tokens the conversation takes.
func (s *State) Size() int64 { return s.meter.Estimate() }

// Facts returns the facts that a summary must contain.
func (s *State) Facts() compact.Facts { return s.facts }
