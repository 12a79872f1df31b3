package agent

import (
	"slices"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// rewrite replaces the conversation, for a reason. Calls that are open stay so.
func (m *machine) rewrite(messages []llm.Message, reason string) {
	m.messages, m.rewritten = slices.Clip(messages), reason
	m.meter.Reset(m.messages)
}

// systemOf is the system prompt of a conversation.
func systemOf(messages []llm.Message) string {
	if len(messages) == 0 || messages[0].Role != llm.RoleSystem {
		return ""
	}
	return messages[0].Text()
}

// setSystem replaces the system prompt.
func (m *machine) setSystem(text string) {
	messages := slices.Clone(m.messages)
	if len(messages) > 0 && messages[0].Role == llm.RoleSystem {
		messages[0] = llm.SystemText(text)
	} else {
		messages = slices.Insert(messages, 0, llm.SystemText(text))
	}
	m.rewrite(messages, "the system prompt was changed")
}

// quarantine replaces one message. If it is not there, because records are lost, nothing is.
func (m *machine) quarantine(d event.Quarantine) {
	if d.Position < 0 || d.Position >= len(m.messages) || shape(m.messages[d.Position]) != shape(d.Message) {
		return
	}
	messages := slices.Clone(m.messages)
	messages[d.Position] = d.Message
	m.rewrite(messages, "something was taken out that the provider refused")
}

// shape is what must stay of a message when its content changes: its role, calls and results.
func shape(msg llm.Message) string {
	s := string(msg.Role)
	for _, p := range msg.Parts {
		switch p := p.(type) {
		case llm.ToolCall:
			s += "\x00call " + p.ID
		case llm.ToolResult:
			s += "\x00result " + p.ID
		}
	}
	return s
}

// goOn makes the machine work again that was done, because there is something new.
func (m *machine) goOn() {
	if m.halt != nil && m.halt.status == StatusDone {
		m.resume()
	}
}
