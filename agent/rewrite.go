package agent

import (
	"slices"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// rewrite replaces the conversation. Calls that are open stay so.
func (m *machine) rewrite(messages []llm.Message) {
	m.messages = slices.Clip(messages)
	m.meter.Reset(m.messages)
}

// setSystem replaces the system prompt.
func (m *machine) setSystem(text string) {
	messages := slices.Clone(m.messages)
	if len(messages) > 0 && messages[0].Role == llm.RoleSystem {
		messages[0] = llm.SystemText(text)
	} else {
		messages = slices.Insert(messages, 0, llm.SystemText(text))
	}
	m.rewrite(messages)
}

// quarantine replaces one message.
func (m *machine) quarantine(d event.Quarantine) {
	if d.Position < 0 || d.Position >= len(m.messages) {
		return
	}
	messages := slices.Clone(m.messages)
	messages[d.Position] = d.Message
	m.rewrite(messages)
}

// goOn makes the machine work again that was done, because there is something new.
func (m *machine) goOn() {
	if m.halt != nil && m.halt.status == StatusDone {
		m.resume()
	}
}
