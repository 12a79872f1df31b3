package chat

import (
	"strings"

	"github.com/reins-agent/reins/llm"
)

// results writes a tool message for each result, and returns the other parts. Opaque members before a result belong to
// its message.
func (c *conversation) results(parts []llm.Part) (rest []llm.Part, err error) {
	var fields []llm.Part
	for _, p := range parts {
		switch p := p.(type) {
		case llm.ToolResult:
			if err := c.result(p, fields); err != nil {
				return nil, err
			}
			fields = nil
		case llm.Opaque:
			if isFields(p) {
				fields = append(fields, p)
			}
		default:
			rest = append(rest, p)
		}
	}
	return rest, nil
}

func (c *conversation) result(r llm.ToolResult, fields []llm.Part) error {
	c.open("tool")
	c.out.Key("tool_call_id")
	c.out.Str(c.toolID(r.ID))
	if c.quirks.ToolNames {
		c.out.StrField("name", r.Name)
	}
	c.out.Key("content")
	if err := c.resultContent(r); err != nil {
		return err
	}
	c.fields(fields)
	c.out.Close('}')
	return nil
}

func (c *conversation) resultContent(r llm.ToolResult) error {
	media, raw := 0, false
	for _, p := range r.Parts {
		switch p := p.(type) {
		case llm.Image, llm.Audio, llm.Document:
			media++
		case llm.Text:
			raw = raw || p.State.For(Name, c.model)
		case llm.Opaque:
			raw = raw || p.State.For(Name, c.model) && isContentPart(p.State.Data)
		}
	}
	if raw || media > 0 && c.quirks.ToolMedia {
		parts := r.Parts
		if r.IsError {
			parts = append([]llm.Part{llm.Text{Text: "Error:"}}, parts...)
		}
		return c.list(parts)
	}
	text := c.resultText(r)
	if media > 0 {
		for _, p := range r.Parts {
			switch p.(type) {
			case llm.Image, llm.Audio, llm.Document:
				c.media = append(c.media, p)
			}
		}
		text = join(text, "(The tool also returned files; they follow in the next user message.)")
	}
	c.out.Str(text)
	return nil
}

func (c *conversation) resultText(r llm.ToolResult) string {
	var text string
	for _, p := range r.Parts {
		if t, ok := p.(llm.Text); ok {
			text = join(text, t.Text)
		}
	}
	if r.IsError && !strings.HasPrefix(strings.ToLower(text), "error") {
		text = "Error: " + text
	}
	return text
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}
