package step

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// Results for calls that were not run, or whose end is unknown.
const (
	notRun      = "interrupted: this tool call was not run"
	notAnswered = "not run: the call was made before the user answered"
	interrupted = "interrupted: the session stopped while this tool call ran. It may have taken effect, fully or in part; " +
		"check before you run it again"
	lostResult = "the result of this tool call was lost. It may have taken effect; check before you run it again"
)

// Call is a tool call to run, with its approval request and an answer that was recorded earlier, if any.
type Call struct {
	llm.ToolCall
	Request  *event.ApprovalRequested
	Approval *event.ApprovalResolved
	Hooked   bool // PreToolUse hooks have run
}

// call is a tool call in the last answer.
type call struct {
	llm.ToolCall
	started  bool // it has a ToolCallStart
	begun    bool // it may have taken effect
	question string
	asks     []event.Question // the question in parts, if any
	request  *event.ApprovalRequested
	approval *event.ApprovalResolved
	hooked   bool // PreToolUse hooks have run
	notes    []event.Data
	lapsed   string // why it will not run
	result   *llm.ToolResult
}

// waits reports whether the call waits for approval.
func (c *call) waits() bool { return c.result == nil && c.request != nil && c.approval == nil }

// denied reports whether the call was refused.
func (c *call) denied() bool { return c.approval != nil && !c.approval.Allowed }

// asking returns the call that asks the user, or nil.
func (s *State) asking() *call {
	for i := range s.calls {
		if c := &s.calls[i]; c.result == nil && c.question != "" && c.lapsed == "" && s.reply == nil {
			return c
		}
	}
	return nil
}

// Pending lists the calls that wait for approval.
func (s *State) Pending() (pending []Call) {
	for i := range s.calls {
		if c := &s.calls[i]; c.waits() {
			pending = append(pending, c.view())
		}
	}
	return pending
}

// Call returns an open call in the last answer.
func (s *State) Call(id string) (Call, bool) {
	for i := range s.calls {
		if c := &s.calls[i]; c.ID == id && c.result == nil {
			return c.view(), true
		}
	}
	return Call{}, false
}

func (c *call) view() Call { return Call{c.ToolCall, c.request, c.approval, c.hooked} }

// round returns the action for the last answer's calls, or nil if there is nothing to do now.
func (s *State) round() Action {
	var run []Call
	for i := range s.calls {
		c := &s.calls[i]
		if c.result != nil {
			continue
		}
		if d := s.settle(c); d != nil {
			if len(run) > 0 {
				break
			}
			return Append{d}
		}
		if c.question != "" || c.waits() {
			if len(run) == 0 {
				return s.await(c)
			}
			break
		}
		run = append(run, c.view())
	}
	if len(run) == 0 || s.halt != nil && s.halt.Status == event.StatusInterrupted {
		return nil
	}
	return RunTools{run}
}

// Settle returns the next record for calls that will no longer run. They get their results before the next input.
func (s *State) Settle() (event.Data, bool) {
	if s.answer != nil {
		return s.lostEnd(), true
	}
	a, ok := s.round().(Append)
	return a.Data, ok
}

// Halting reports whether the work is over, or about to be.
func (s *State) Halting() bool { return s.halt != nil || !s.open }

func (s *State) await(c *call) Action {
	switch {
	case s.halt != nil:
		return nil
	case c.question != "":
		return Await{Question: c.question, End: s.end(event.StatusAwaitingInput)}
	}
	return Await{Approvals: s.Pending(), End: s.end(event.StatusAwaitingApproval)}
}

// settle returns the next record for a call that will not run, or nil if it may run.
func (s *State) settle(c *call) event.Data {
	var d event.ToolCallEnd
	switch {
	case s.reply != nil && c.question != "":
		return s.replied(c)
	case s.object.answering:
		d = s.received(c)
	case c.denied():
		d = refused(c)
	case c.lapsed != "":
		d = skipped(c, c.lapsed)
	case c.begun && c.question == "":
		d = skipped(c, interrupted)
	default:
		return nil
	}
	if !c.started {
		return event.ToolCallStart{ID: c.ID, Name: c.Name, Arguments: Arguments(c.ToolCall)}
	}
	return d
}

// Arguments returns a call's arguments for a record: as JSON, or as a string if they are not JSON.
func Arguments(c llm.ToolCall) json.RawMessage {
	if args := json.RawMessage(c.Arguments); len(args) == 0 || json.Valid(args) {
		return args
	}
	args, _ := json.Marshal(c.Arguments)
	return args
}

// skipped returns the end for a call that is not run, or not run again.
func skipped(c *call, reason string) event.ToolCallEnd {
	res := tool.Failure(tool.Cancelled, "%s", reason)
	if reason == interrupted {
		res.Artifacts.Untraced = tool.UntracedInterrupted
	}
	return ended(c, res, policy.Decision{Verdict: policy.Deny, Rule: "interrupted", Reason: reason})
}

func refused(c *call) event.ToolCallEnd {
	text := c.Name + " was refused"
	if c.approval.Reason != "" {
		text += ": " + c.approval.Reason
	}
	return ended(c, tool.Failure(tool.PermissionDenied, "%s", text), policy.Decision{Verdict: policy.Deny, Rule: "approval", Reason: text})
}

// ended returns the end for a call that the agent answers itself.
func ended(c *call, res tool.Result, d policy.Decision) event.ToolCallEnd {
	end := event.ToolCallEnd{
		ID:       c.ID,
		Name:     c.Name,
		Output:   res.Output,
		Model:    tool.String(res.Output),
		Images:   res.Images,
		Error:    res.Error,
		Decision: d,
	}
	if res.Error != nil {
		end.Model = res.Error.Message
	}
	if c.request != nil {
		end.Accesses = c.request.Accesses
	}
	return end
}

// tool applies a tool call record.
func (s *State) tool(d event.Data) {
	switch d := d.(type) {
	case event.ToolCallStart:
		if c := s.find(d.ID); c != nil {
			c.started = true
			c.begun = true
			c.question = d.Question
			c.asks = d.Questions
		}
	case event.ApprovalRequested:
		if c := s.find(d.ID); c != nil {
			c.started = true
			c.begun = false
			c.request = &d
			c.approval = nil
		}
	case event.ApprovalResolved:
		if c := s.find(d.ID); c != nil {
			c.begun, c.approval = !d.Deferred, &d
			s.tree.grant(c)
		}
	case event.ToolCallEnd:
		s.finished(d)
	}
}

func (s *State) find(id string) *call {
	i := slices.IndexFunc(s.calls, func(c call) bool { return c.ID == id && c.result == nil })
	if i < 0 {
		return nil
	}
	return &s.calls[i]
}

// finished applies a call's result.
func (s *State) finished(d event.ToolCallEnd) {
	c := s.find(d.ID)
	if c == nil {
		return
	}
	if r, ok := s.refusal(c, d); ok {
		s.tree.refused = append(s.tree.refused, r)
	}
	if d.Error == nil && d.Plan {
		s.facts.Plan = c.Arguments
	}
	s.facts = s.facts.WithFiles(d.Artifacts.FilesChanged...)
	r := llm.TextResult(c.ToolCall, d.Model, d.Error != nil)
	for _, img := range d.Images {
		r.Parts = append(r.Parts, img)
	}
	c.result = &r
	if s.reply != nil && c.question != "" {
		s.reply = nil
	}
	s.endRound()
}

// endRound adds the results to the conversation, in order, when all calls have one.
func (s *State) endRound() {
	if slices.ContainsFunc(s.calls, func(c call) bool { return c.result == nil }) {
		return
	}
	results := make([]llm.ToolResult, len(s.calls))
	for i, c := range s.calls {
		results[i] = *c.result
		s.loop.add(c.ToolCall, results[i].Text())
		s.notes = append(s.notes, c.notes...)
	}
	s.say(llm.ToolResults(results...))
	s.calls = nil
	s.rounds++
	s.continues, s.object.answering = 0, false
	if s.phase == event.StateAwaitingInput || s.phase == event.StateAwaitingApproval { // the wait was given up
		s.phase = event.StateIdle
	}
	if !s.loop.tripped() {
		return
	}
	warning := s.loop.warning()
	s.notes = append(
		s.notes,
		event.LoopDetection{Message: warning, Length: s.loop.length, Trips: s.loop.trips},
		note(warning, event.SourceLoop),
	)
	if s.loop.trips > 1 && s.halt == nil {
		s.halt = &Stop{Status: event.StatusLoop}
	}
}

// lapse marks the calls that will not run after the work was stopped. If a call waits for approval or an answer, all
// calls keep waiting, unless they are abandoned.
func (s *State) lapse(abandon bool) {
	waiting := slices.ContainsFunc(s.calls, func(c call) bool { return c.waits() || c.result == nil && c.question != "" || c.deferred() })
	for i := range s.calls {
		c := &s.calls[i]
		if c.result == nil && c.lapsed == "" && (abandon || !waiting && !c.begun) {
			c.lapsed = notRun
			if c.begun && c.question == "" {
				c.lapsed = interrupted
			}
		}
	}
}

// deferred reports whether the call was approved and has not started.
func (c *call) deferred() bool {
	return c.result == nil && c.approval != nil && c.approval.Allowed && !c.begun
}

// lose gives the first n calls a result if they have none.
func (s *State) lose(n int) {
	for i := range min(n, len(s.calls)) {
		if c := &s.calls[i]; c.result == nil {
			r := llm.TextResult(c.ToolCall, lostResult, true)
			c.result = &r
		}
	}
	if n > 0 && len(s.calls) > 0 {
		s.endRound()
	}
}

// answered applies the user's answer to a question. Calls after the question will not run.
func (s *State) answered(d event.UserInput) {
	s.reply = &d.Message
	at := slices.IndexFunc(s.calls, func(c call) bool { return c.ID == d.Answers })
	if at < 0 {
		s.reply = nil
		return
	}
	if s.calls[at].question == "" { // its start record is lost
		s.calls[at].question = "?"
	}
	for i := at + 1; i < len(s.calls); i++ {
		if c := &s.calls[i]; c.result == nil {
			c.lapsed = notAnswered
		}
	}
	if slices.ContainsFunc(d.Message.Parts, func(p llm.Part) bool {
		switch p.(type) {
		case llm.Text, llm.Image:
			return false
		}
		return true
	}) {
		s.notes = append(s.notes, event.SteeringInjected{Message: d.Message, Source: event.SourceAnswer}) // a tool result cannot hold it
	}
}

// replied returns the end for a question, with the user's answer as its result.
func (s *State) replied(c *call) event.Data {
	if !c.started {
		return event.ToolCallStart{
			ID:        c.ID,
			Name:      c.Name,
			Arguments: Arguments(c.ToolCall),
			Question:  c.question,
			Questions: c.asks,
		}
	}
	res := tool.Success("%s", s.reply.Text())
	for _, p := range s.reply.Parts {
		if img, ok := p.(llm.Image); ok {
			res.Images = append(res.Images, img)
		}
	}
	return ended(c, res, policy.Decision{Verdict: policy.Allow, Rule: "question", Reason: "the user answered"})
}

// Distinct makes call IDs in a message unique. Some servers repeat them in every answer, which others do not accept.
func (s *State) Distinct(msg llm.Message) llm.Message {
	seen := make(map[string]bool)
	for i, p := range msg.Parts {
		c, ok := p.(llm.ToolCall)
		if !ok {
			continue
		}
		id := c.ID
		for n := 2; s.ids[c.ID] || seen[c.ID]; n++ {
			c.ID = fmt.Sprintf("%s_%d", id, n)
		}
		seen[c.ID] = true
		if c.ID != id {
			c.State = llm.State{}
			msg.Parts = slices.Clone(msg.Parts)
			msg.Parts[i] = c
		}
	}
	return msg
}

// Safe reports whether all calls have their results, so that tools may be replaced.
func (s *State) Safe() bool { return len(s.calls) == 0 && s.answer == nil }

// Deferred reports whether a call was answered by Resolve and has not run yet.
func (s *State) Deferred() bool {
	return slices.ContainsFunc(s.calls, func(c call) bool { return c.result == nil && c.approval != nil && c.approval.Deferred })
}
