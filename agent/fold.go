package agent

import (
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// Messages is the conversation of one agent as the records of a session tell it; "" is the root.
// It is what the model was sent, or will be sent next, but for what hooks change in requests. A
// tool call that has no result yet is in it without one.
func Messages(records []event.Record, agent string) []llm.Message {
	var f fold
	for _, r := range records {
		if r.Agent == agent {
			f.take(r.Data)
		}
	}
	return f.messages
}

// Messages is the conversation so far.
func (s *Session) Messages() []llm.Message { return Messages(s.log.Records(0), s.path) }

type fold struct {
	messages []llm.Message
	calls    []llm.ToolCall // that have no result yet
	results  []llm.ToolResult
}

func (f *fold) take(d event.Data) {
	switch d := d.(type) {
	case event.SessionStart:
		if d.System != "" {
			f.say(llm.SystemText(d.System))
		}
	case event.UserInput:
		if d.Answers == "" {
			f.say(d.Message)
		}
	case event.SteeringInjected:
		f.say(d.Message)
	case event.TextEnd:
		if len(d.Message.Parts) > 0 {
			f.say(d.Message)
		}
		f.calls, f.results = d.Message.ToolCalls(), nil
	case event.ToolCallEnd:
		f.answer(d)
	}
}

func (f *fold) say(m llm.Message) { f.messages = append(f.messages, m) }

// answer takes a result; they come in the order of the calls.
func (f *fold) answer(end event.ToolCallEnd) {
	if len(f.calls) == 0 {
		return
	}
	f.results = append(f.results, resultOf(f.calls[0], end))
	if f.calls = f.calls[1:]; len(f.calls) == 0 {
		f.say(llm.ToolResults(f.results...))
	}
}
