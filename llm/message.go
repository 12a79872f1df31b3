package llm

import "strings"

// Role says who speaks in a message.
type Role string

// The roles of a conversation.
const (
	RoleSystem    Role = "system"
	RoleDeveloper Role = "developer"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one entry of a conversation. A message that was part of a request with a [Cache]
// must not be changed afterwards, nor its parts.
type Message struct {
	Role  Role
	Parts []Part
}

// SystemText, UserText and AssistantText make a message of one text part.
func SystemText(s string) Message    { return Message{RoleSystem, []Part{Text{Text: s}}} }
func UserText(s string) Message      { return Message{RoleUser, []Part{Text{Text: s}}} }
func AssistantText(s string) Message { return Message{RoleAssistant, []Part{Text{Text: s}}} }

// ToolResults makes the message that answers the tool calls of an assistant message.
func ToolResults(results ...ToolResult) Message {
	parts := make([]Part, len(results))
	for i, r := range results {
		parts[i] = r
	}
	return Message{RoleTool, parts}
}

// Text is the text of the message: its text parts, joined without separator.
func (m Message) Text() string { return joinText(m.Parts) }

// Thinking is the readable thinking of the message, blocks separated by a blank line.
func (m Message) Thinking() string {
	var b strings.Builder
	for _, p := range m.Parts {
		if t, ok := p.(Thinking); ok && t.Text != "" {
			if b.Len() > 0 {
				b.WriteString("\n\n")
			}
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

// ToolCalls lists the tool calls of the message in order.
func (m Message) ToolCalls() []ToolCall {
	var calls []ToolCall
	for _, p := range m.Parts {
		if c, ok := p.(ToolCall); ok {
			calls = append(calls, c)
		}
	}
	return calls
}

func joinText(parts []Part) string {
	var one string
	n := 0
	for _, p := range parts {
		if t, ok := p.(Text); ok {
			one = t.Text
			n++
		}
	}
	if n <= 1 {
		return one
	}
	var b strings.Builder
	for _, p := range parts {
		if t, ok := p.(Text); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}
