package openai

import (
	"fmt"
	"strings"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// begin opens a message item with these additional members, unless one is open.
func (e *itemEncoder) begin(role llm.Role, rest wire.Value) {
	if e.open {
		return
	}
	e.open, e.message = true, rest
	switch role {
	case llm.RoleAssistant, llm.RoleDeveloper, llm.RoleSystem:
	default:
		role = llm.RoleUser
	}
	e.Open('{')
	e.Field("type", "message")
	e.Field("role", string(role))
	e.rest(rest)
	e.Key("content")
	e.Open('[')
}

// end closes the open message item, if any.
func (e *itemEncoder) end() {
	if e.open {
		e.open, e.message = false, nil
		e.Close(']')
		e.Close('}')
	}
}

// content writes a part into a message item. A text whose message had other members begins a new one. The item has no
// id if the part is not whole.
func (e *itemEncoder) content(role llm.Role, p llm.Part, whole bool) error {
	var message, part wire.Value
	if t, ok := p.(llm.Text); ok {
		message, part = split(t.State, e.model)
		if !whole {
			message = withoutID(message)
		}
		if e.open && string(message) != string(e.message) {
			e.end()
		}
	}
	e.begin(role, message)
	return e.contentPart(role, p, part)
}

// partOf returns the additional members for a text's content part.
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
		e.text(role, "[audio: not supported]", nil)
	case llm.Thinking, llm.ToolCall, llm.ToolResult:
		return fmt.Errorf("a tool result cannot contain a %T", p)
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
	e.Field("type", kind)
	e.Field(key, text)
	for m := rest.Members(); m.Next(); {
		if string(m.Key) != "type" {
			e.Member(m.Key, m.Value)
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
	e.Field("type", "input_image")
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
	e.Field("type", "input_file")
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

// mustEscape reports whether a character in a MIME type needs escaping.
func mustEscape(r rune) bool { return r <= ' ' || r >= 0x7f || r == '"' || r == '\\' }

// fileName returns a name for a file without one: the API requires one with the right extension.
func fileName(kind string) string {
	_, extension, _ := strings.Cut(kind, "/")
	switch {
	case extension == "plain":
		extension = "txt"
	case extension == "" || strings.ContainsAny(extension, ".-+;"):
		return "file"
	}
	return "file." + extension
}
