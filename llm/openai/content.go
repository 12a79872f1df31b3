package openai

import (
	"fmt"
	"strings"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/wire"
)

// begin makes sure that a message item is open. A message with members of its own is another
// message than one with others; a nil rest fits into any that is open.
func (e *itemEncoder) begin(role llm.Role, rest wire.Value) {
	if e.open {
		return
	}
	e.open, e.message = true, rest
	e.Open('{')
	e.Key("type")
	e.Str("message")
	e.Key("role")
	switch role {
	case llm.RoleAssistant, llm.RoleDeveloper, llm.RoleSystem:
		e.Str(string(role))
	default:
		e.Str(string(llm.RoleUser))
	}
	e.rest(rest)
	e.Key("content")
	e.Open('[')
}

// end closes the message item that is open, if any.
func (e *itemEncoder) end() {
	if e.open {
		e.open, e.message = false, nil
		e.Close(']')
		e.Close('}')
	}
}

// content writes a part into a message item.
func (e *itemEncoder) content(role llm.Role, p llm.Part) error {
	var message, part wire.Value
	if t, ok := p.(llm.Text); ok {
		if message, part = split(t.State, e.model); e.open && string(message) != string(e.message) {
			e.end()
		}
	}
	e.begin(role, message)
	return e.contentPart(role, p, part)
}

// partOf is what the state of a text says of its content part.
func (e *itemEncoder) partOf(p llm.Part) wire.Value {
	if t, ok := p.(llm.Text); ok {
		_, part := split(t.State, e.model)
		return part
	}
	return nil
}

func (e *itemEncoder) contentPart(role llm.Role, p llm.Part, rest wire.Value) error {
	switch p := p.(type) {
	case llm.Text:
		e.text(role, p.Text, rest)
	case llm.Image:
		if role != llm.RoleAssistant {
			return e.image(p)
		}
		e.text(role, "[image]", nil)
	case llm.Document:
		if role != llm.RoleAssistant {
			return e.document(p)
		}
		e.text(role, "[document]", nil)
	case llm.Audio:
		e.text(role, "[audio, which cannot be sent here]", nil)
	case llm.Thinking, llm.ToolCall, llm.ToolResult:
		return fmt.Errorf("a %T cannot stand inside a tool result", p)
	}
	return nil
}

func (e *itemEncoder) text(role llm.Role, text string, rest wire.Value) {
	kind, key := "input_text", "text"
	switch {
	case rest.Get("type").Is("refusal"):
		kind, key = "refusal", "refusal"
	case role == llm.RoleAssistant:
		kind = "output_text"
	}
	e.Open('{')
	e.Key("type")
	e.Str(kind)
	e.Key(key)
	e.Str(text)
	for m := rest.Members(); m.Next(); {
		if string(m.Key) != "type" {
			member(&e.Encoder, m.Key, m.Value)
		}
	}
	e.Close('}')
}

func (e *itemEncoder) image(p llm.Image) error {
	m, err := wire.Inline(p.Media)
	if err != nil {
		return err
	}
	e.Open('{')
	e.Key("type")
	e.Str("input_image")
	e.Key("image_url")
	e.source(m)
	e.StrField("detail", p.Detail)
	e.Close('}')
	return nil
}

func (e *itemEncoder) document(p llm.Document) error {
	m, err := wire.Inline(p.Media)
	if err != nil {
		return err
	}
	e.Open('{')
	e.Key("type")
	e.Str("input_file")
	if m.Data == nil {
		e.Key("file_url")
	} else {
		e.Key("file_data")
		if m.Name == "" {
			m.Name = fileName(m.MIME)
		}
	}
	e.source(m)
	e.StrField("filename", m.Name)
	e.Close('}')
	return nil
}

// source writes a URL, or data as a data URI.
func (e *itemEncoder) source(m llm.Media) {
	if m.Data == nil {
		e.Str(m.URL)
		return
	}
	kind := m.MIME
	if kind == "" || strings.IndexFunc(kind, mustEscape) >= 0 {
		kind = "application/octet-stream"
	}
	e.Base64("data:"+kind+";base64,", m.Data)
}

// mustEscape reports whether a character of a MIME type would have to be escaped.
func mustEscape(r rune) bool { return r <= ' ' || r >= 0x7f || r == '"' || r == '\\' }

// fileName is a name for a file that has none: the API wants to see one, with the right ending.
func fileName(kind string) string {
	_, ending, _ := strings.Cut(kind, "/")
	switch {
	case ending == "plain":
		ending = "txt"
	case ending == "" || strings.ContainsAny(ending, ".-+;"):
		return "file"
	}
	return "file." + ending
}
