package llm

import "strings"

// Role is a message's author.
type Role string

// Conversation roles.
const (
	RoleSystem    Role = "system"
	RoleDeveloper Role = "developer"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one conversation entry. Once it was sent in a request with a [Cache], neither it nor its parts may be
// changed.
type Message struct {
	Role  Role
	Parts []Part
}

// SystemText returns a system message with one text part.
func SystemText(s string) Message { return Message{RoleSystem, []Part{Text{Text: s}}} }

// NewText returns a part with a text.
func NewText(s string) Text { return Text{Text: s} }

// UserText returns a user message with one text part.
func UserText(s string) Message { return Message{RoleUser, []Part{Text{Text: s}}} }

// AssistantText returns an assistant message with one text part.
func AssistantText(s string) Message { return Message{RoleAssistant, []Part{Text{Text: s}}} }

// ToolResults returns the message with the results of tool calls.
func ToolResults(results ...ToolResult) Message {
	parts := make([]Part, len(results))
	for i, r := range results {
		parts[i] = r
	}
	return Message{RoleTool, parts}
}

// Text returns the message's text parts, joined without separator.
func (m Message) Text() string { return joinText(m.Parts) }

// Thinking returns the message's readable thinking, with blank lines between blocks.
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

// ToolCalls returns the message's tool calls in order.
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
	texts := make([]string, 0, 8)
	for _, p := range parts {
		if t, ok := p.(Text); ok {
			texts = append(texts, t.Text)
		}
	}
	return strings.Join(texts, "")
}
