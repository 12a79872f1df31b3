package agent

import (
	"slices"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// mend makes up for what must stand before a record and does not: the end of a call of the model if
// a crash came before it, and what records that are lost have told. What the host does, and what
// subagents do, may be recorded between any two steps and says nothing.
func (p *replay) mend(d event.Data) {
	switch d := d.(type) {
	case event.SessionResume, event.ToolCallStart, event.ProcessingEnd, event.Compaction, event.Quarantine, event.RewindStart, event.Rewind:
		p.end()
	case event.UserInput:
		p.end()
		if d.Answers == "" {
			p.missing(len(p.m.calls))
		}
	case event.ModelCallStart:
		p.end()
		if d.Purpose == string(forConversation) {
			p.missing(len(p.m.calls))
		}
	case event.SteeringInjected:
		p.end()
		p.missing(len(p.m.calls))
	case event.TextEnd:
		p.end()
		p.missing(len(p.m.calls))
		if !slices.ContainsFunc(p.m.messages, func(m llm.Message) bool { return m.Role == llm.RoleUser }) {
			p.m.say(llm.UserText("[what the user said here is lost]")) // every conversation begins with that
		}
	}
}

// end takes an answer in whose call did not come to its end in the log.
func (p *replay) end() {
	if p.answer == nil {
		return
	}
	reason := llm.FinishStop
	if len(p.answer.Message.ToolCalls()) > 0 {
		reason = llm.FinishToolCalls
	}
	p.answered(reason, llm.Usage{})
}

// missing gives the first n calls a result that have none.
func (p *replay) missing(n int) {
	for len(p.results) < n && len(p.results) < len(p.m.calls) {
		p.answerCall(llm.TextResult(p.m.calls[len(p.results)], lostResult, true))
	}
}
