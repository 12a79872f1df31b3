package compact

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/reins-agent/reins/llm"
)

// Edit is how a conversation is made smaller. It has a JSON form, to be recorded and applied again.
type Edit struct {
	// Cleared are the places where content is replaced by a text.
	Cleared []Cleared `json:"cleared,omitempty"`
	// So many messages behind the leading system and developer messages are replaced …
	Replaced int `json:"replaced,omitempty"`
	// … by these.
	Messages []llm.Message `json:"messages,omitempty"`
}

// Cleared is a tool result whose content is replaced, or an image or other file that is. It is
// named by its position in the messages before the edit, as ids of calls may repeat in a session.
type Cleared struct {
	Message int    `json:"message"`
	Part    int    `json:"part"`
	Text    string `json:"text"`
}

// Apply makes the edited conversation. The messages given are not changed, and those that the edit
// does not touch are shared with the result. An edit that does not fit the messages is an error.
func (e Edit) Apply(messages []llm.Message) ([]llm.Message, error) {
	head := leading(messages)
	cut, err := e.check(messages, head)
	if err != nil {
		return nil, err
	}
	edited := slices.Clone(messages)
	for i, c := range e.Cleared {
		fresh := i == 0 || e.Cleared[i-1].Message != c.Message
		if err := c.apply(edited, fresh); err != nil {
			return nil, err
		}
	}
	out := make([]llm.Message, 0, len(messages)-e.Replaced+len(e.Messages))
	out = append(out, edited[:head]...)
	out = append(out, e.Messages...)
	return append(out, edited[cut:]...), nil
}

// check says where the replaced messages end, or what makes the edit impossible.
func (e Edit) check(messages []llm.Message, head int) (cut int, err error) {
	if e.Replaced < 0 || e.Replaced > len(messages)-head {
		return 0, fmt.Errorf("compact: the edit replaces %d messages behind the first %d, but the conversation has %d", e.Replaced, head, len(messages))
	}
	cut = head + e.Replaced
	if (e.Replaced > 0) != (len(e.Messages) > 0) {
		return 0, fmt.Errorf("compact: the edit puts %d messages in the place of %d; either both are 0 or none", len(e.Messages), e.Replaced)
	}
	if e.Replaced > 0 && cut < len(messages) && messages[cut].Role == llm.RoleTool {
		return 0, fmt.Errorf("compact: the edit would part the tool results in message %d from their calls", cut)
	}
	for i, msg := range e.Messages {
		if len(msg.Parts) == 0 || msg.Role == llm.RoleAssistant || msg.Role == llm.RoleTool {
			return 0, fmt.Errorf("compact: message %d of the edit is empty or of role %q; only messages of the user and instructions can be put in", i, msg.Role)
		}
	}
	for i, c := range e.Cleared {
		switch {
		case c.Message < cut || c.Message >= len(messages):
			return 0, fmt.Errorf("compact: the edit clears a part of message %d, which is none of those from %d to %d", c.Message, cut, len(messages)-1)
		case i > 0 && e.Cleared[i-1].compare(c) >= 0:
			return 0, fmt.Errorf("compact: the cleared parts are not in order at message %d, part %d", c.Message, c.Part)
		}
	}
	return cut, nil
}

func (c Cleared) compare(d Cleared) int {
	return cmp.Or(cmp.Compare(c.Message, d.Message), cmp.Compare(c.Part, d.Part))
}

// apply replaces the part. The parts are copied first if they are not a fresh copy already.
func (c Cleared) apply(messages []llm.Message, fresh bool) error {
	msg := &messages[c.Message]
	if c.Part < 0 || c.Part >= len(msg.Parts) || c.Text == "" {
		return fmt.Errorf("compact: the edit clears part %d of message %d, which has %d parts, with %d bytes of text", c.Part, c.Message, len(msg.Parts), len(c.Text))
	}
	if fresh {
		msg.Parts = slices.Clone(msg.Parts)
	}
	switch p := msg.Parts[c.Part].(type) {
	case llm.ToolResult:
		p.Parts = []llm.Part{llm.Text{Text: c.Text}}
		msg.Parts[c.Part] = p
	case llm.Image, llm.Audio, llm.Document:
		msg.Parts[c.Part] = llm.Text{Text: c.Text}
	default:
		return fmt.Errorf("compact: the edit clears part %d of message %d, which is a %T; only tool results, images and files can be cleared", c.Part, c.Message, p)
	}
	return nil
}

// leading is how many system and developer messages the conversation begins with.
func leading(messages []llm.Message) int {
	for i, msg := range messages {
		if msg.Role != llm.RoleSystem && msg.Role != llm.RoleDeveloper {
			return i
		}
	}
	return len(messages)
}
