package compact

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/reins-agent/reins/llm"
)

// Edit describes how to make a conversation smaller. Its JSON form can be recorded and applied again.
type Edit struct {
	// Cleared lists parts to replace with a text.
	Cleared []Cleared `json:"cleared,omitempty"`
	// Replaced is the number of messages after the leading system and developer messages to replace with
	// Messages.
	Replaced int           `json:"replaced,omitempty"`
	Messages []llm.Message `json:"messages,omitempty"`
	// Appended is added at the end.
	Appended []llm.Message `json:"appended,omitempty"`
}

// Cleared is a tool result whose content is replaced, or a replaced image or other file. It is
// identified by its position before the edit, because call IDs may repeat in a session.
type Cleared struct {
	Message int    `json:"message"`
	Part    int    `json:"part"`
	Text    string `json:"text"`
}

// Apply returns the edited conversation. It does not change the given messages, and the result shares
// those that are not edited. It fails if the edit does not fit the messages.
func (e Edit) Apply(messages []llm.Message) ([]llm.Message, error) {
	head := leading(messages)
	cut, err := e.check(messages, head)
	if err != nil {
		return nil, err
	}
	edited := slices.Clone(messages)
	for i, c := range e.Cleared {
		first := i == 0 || e.Cleared[i-1].Message != c.Message
		if err := c.apply(edited, first); err != nil {
			return nil, err
		}
	}
	out := make([]llm.Message, 0, len(messages)-e.Replaced+len(e.Messages)+len(e.Appended))
	out = append(out, edited[:head]...)
	out = append(out, e.Messages...)
	out = append(out, edited[cut:]...)
	return append(out, e.Appended...), nil
}

// check validates the edit and returns where the replaced messages end.
func (e Edit) check(messages []llm.Message, head int) (cut int, err error) {
	if e.Replaced < 0 || e.Replaced > len(messages)-head {
		return 0, fmt.Errorf(
			"compact: the edit replaces %d messages after the first %d, but the conversation has %d",
			e.Replaced, head, len(messages),
		)
	}
	cut = head + e.Replaced
	if (e.Replaced > 0) != (len(e.Messages) > 0) {
		return 0, fmt.Errorf("compact: the edit replaces %d messages by %d; both or neither must be 0", e.Replaced, len(e.Messages))
	}
	if e.Replaced > 0 && cut < len(messages) && messages[cut].Role == llm.RoleTool {
		return 0, fmt.Errorf("compact: the edit separates the tool results in message %d from their calls", cut)
	}
	for i, msg := range slices.Concat(e.Messages, e.Appended) {
		if len(msg.Parts) == 0 || msg.Role == llm.RoleAssistant || msg.Role == llm.RoleTool {
			return 0, fmt.Errorf(
				"compact: message %d of the edit is empty or has role %q; only user, system and developer messages can be inserted",
				i, msg.Role,
			)
		}
	}
	for i, c := range e.Cleared {
		switch {
		case c.Message < cut || c.Message >= len(messages):
			return 0, fmt.Errorf(
				"compact: the edit clears part of message %d, which is not between %d and %d",
				c.Message, cut, len(messages)-1,
			)
		case i > 0 && e.Cleared[i-1].compare(c) >= 0:
			return 0, fmt.Errorf("compact: the cleared parts are not sorted at message %d, part %d", c.Message, c.Part)
		}
	}
	return cut, nil
}

func (c Cleared) compare(d Cleared) int {
	return cmp.Or(cmp.Compare(c.Message, d.Message), cmp.Compare(c.Part, d.Part))
}

// apply replaces the part. It copies the parts first, unless a previous call has.
func (c Cleared) apply(messages []llm.Message, first bool) error {
	msg := &messages[c.Message]
	if c.Part < 0 || c.Part >= len(msg.Parts) || c.Text == "" {
		return fmt.Errorf(
			"compact: the edit clears part %d of message %d, which has %d parts, with a text of %d bytes",
			c.Part, c.Message, len(msg.Parts), len(c.Text),
		)
	}
	if first {
		msg.Parts = slices.Clone(msg.Parts)
	}
	switch p := msg.Parts[c.Part].(type) {
	case llm.ToolResult:
		p.Parts = []llm.Part{llm.Text{Text: c.Text}}
		msg.Parts[c.Part] = p
	case llm.Image, llm.Audio, llm.Document:
		msg.Parts[c.Part] = llm.Text{Text: c.Text}
	default:
		return fmt.Errorf("compact: the edit clears part %d of message %d, which is a %T; only tool results, images and files "+
			"can be cleared", c.Part, c.Message, p)
	}
	return nil
}
