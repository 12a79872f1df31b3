package bedrock

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// messageEncoder writes messages append-only. The last one stays open for the next parts.
type messageEncoder struct {
	history wire.History
	out     wire.Encoder
	role    string // role of the open message, or ""
	model   string
}

// encode writes the new messages.
func (e *messageEncoder) encode(r *llm.Request) error {
	known := e.history.Pending(r.Model, r.Messages)
	if known == 0 {
		*e = messageEncoder{history: e.history, model: r.Model}
	}
	for i, m := range r.Messages[known:] {
		if err := e.message(m); err != nil {
			e.history.Forget()
			return fmt.Errorf("cannot encode message %d: %w", known+i+1, err)
		}
	}
	return nil
}

// body returns the messages, which are never overwritten, and what closes them.
func (e *messageEncoder) body() (messages, tail []byte) {
	n := len(e.out.Buf)
	tail = []byte("]}]}")
	if e.role == "" {
		tail = tail[2:]
	}
	return e.out.Buf[:n:n], tail
}

func (e *messageEncoder) message(m llm.Message) error {
	role := "user"
	switch m.Role {
	case llm.RoleSystem, llm.RoleDeveloper:
		return nil
	case llm.RoleAssistant:
		role = "assistant"
	}
	for _, p := range m.Parts {
		var b wire.Encoder
		if err := e.block(&b, p); err != nil {
			return err
		}
		if len(b.Buf) == 0 {
			continue
		}
		if e.role != role {
			if e.role != "" {
				e.out.Buf = append(e.out.Buf, "]}"...)
			}
			e.out.Open('{')
			e.out.Field("role", role)
			e.out.Key("content")
			e.out.Open('[')
			e.role = role
		}
		e.out.Raw(b.Buf)
	}
	return nil
}

// block writes a part as a content block. It writes nothing for a part that is not sent.
func (e *messageEncoder) block(b *wire.Encoder, p llm.Part) error {
	switch p := p.(type) {
	case llm.Text:
		if p.State.For(Name, e.model) {
			b.Raw(p.State.Data)
		} else if !blank(p.Text) {
			text(b, p.Text)
		}
	case llm.Image:
		return image(b, p.Media)
	case llm.Document:
		return document(b, p.Media)
	case llm.Audio:
		text(b, "[audio: not supported]")
	case llm.ToolCall:
		call(b, p)
	case llm.ToolResult:
		return e.result(b, p)
	case llm.Thinking:
		e.thinking(b, p)
	case llm.Opaque:
		if p.State.For(Name, e.model) {
			b.Raw(p.State.Data)
		}
	}
	return nil
}

func text(b *wire.Encoder, s string) {
	b.Open('{')
	b.Field("text", s)
	b.Close('}')
}

// thinking writes thinking with a signature or redacted content.
func (e *messageEncoder) thinking(b *wire.Encoder, t llm.Thinking) {
	state, err := wire.ParseJSON(t.State.Data)
	if err != nil || !t.State.For(Name, e.model) {
		return
	}
	b.Open('{')
	b.Key("reasoningContent")
	b.Open('{')
	if redacted := state.Get("redactedContent"); redacted.Exists() {
		b.Member([]byte("redactedContent"), redacted)
	} else {
		b.Key("reasoningText")
		b.Open('{')
		b.Field("text", t.Text)
		b.Field("signature", state.Get("signature").Str())
		b.Close('}')
	}
	b.Buf = append(b.Buf, "}}"...)
}

func call(b *wire.Encoder, c llm.ToolCall) {
	b.Open('{')
	b.Key("toolUse")
	b.Open('{')
	b.Field("toolUseId", plainID(c.ID))
	b.Field("name", c.Name)
	b.Key("input")
	v, err := wire.ParseJSON([]byte(c.Arguments))
	switch {
	case c.Custom:
		wrapped(b, "input", c.Arguments)
	case blank(c.Arguments):
		b.Raw([]byte("{}"))
	case err != nil || v.Kind() != '{':
		wrapped(b, "_raw", c.Arguments)
	default:
		b.Raw(v)
	}
	b.Buf = append(b.Buf, "}}"...)
}

func wrapped(b *wire.Encoder, key, text string) {
	b.Open('{')
	b.Field(key, text)
	b.Close('}')
}

func (e *messageEncoder) result(b *wire.Encoder, r llm.ToolResult) error {
	b.Open('{')
	b.Key("toolResult")
	b.Open('{')
	b.Field("toolUseId", plainID(r.ID))
	b.Key("content")
	b.Open('[')
	empty := len(b.Buf)
	for _, p := range r.Parts {
		if err := e.block(b, p); err != nil {
			return err
		}
	}
	if len(b.Buf) == empty {
		text(b, "[no output]")
	}
	b.Close(']')
	if r.IsError {
		b.Field("status", "error")
	}
	b.Buf = append(b.Buf, "}}"...)
	return nil
}

// image writes an image, or a text if the API does not support it.
func image(b *wire.Encoder, m llm.Media) error {
	m, err := wire.Inline(m)
	if err != nil {
		return err
	}
	format := strings.TrimPrefix(m.MIME, "image/")
	switch {
	case m.Data == nil:
		text(b, "[image at "+m.URL+"]")
	case format == "png", format == "jpeg", format == "gif", format == "webp":
		source(b, "image", format, "", m.Data)
	default:
		text(b, "[image of type "+m.MIME+": not supported]")
	}
	return nil
}

// formats maps types of documents to the API's names.
var formats = map[string]string{
	"application/pdf": "pdf", "text/plain": "txt", "text/markdown": "md", "text/html": "html", "text/csv": "csv",
	"application/msword": "doc", "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
	"application/vnd.ms-excel": "xls", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
}

// document writes a document, or a text if the API does not support it.
func document(b *wire.Encoder, m llm.Media) error {
	m, err := wire.Inline(m)
	if err != nil {
		return err
	}
	kind, _, _ := strings.Cut(m.MIME, ";")
	switch format := formats[kind]; {
	case m.Data == nil:
		text(b, "[document at "+m.URL+"]")
	case format == "":
		text(b, "[document "+m.Name+" of type "+m.MIME+": not supported]")
	default:
		source(b, "document", format, documentName(m.Name), m.Data)
	}
	return nil
}

func source(b *wire.Encoder, kind, format, name string, data []byte) {
	b.Open('{')
	b.Key(kind)
	b.Open('{')
	b.Field("format", format)
	b.StrField("name", name)
	b.Key("source")
	b.Open('{')
	b.Key("bytes")
	b.Base64("", data)
	b.Buf = append(b.Buf, "}}}"...)
}

// documentName returns a name in the characters that the API allows, without the extension.
func documentName(name string) string {
	name = strings.TrimSuffix(name, path.Ext(name))
	name = strings.Map(func(r rune) rune {
		if letter(r) || strings.ContainsRune("-()[]", r) {
			return r
		}
		return '-'
	}, name)
	return cmp.Or(name, "document")
}

func letter(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

// plainID replaces the characters in a tool call ID that the API does not allow. Different IDs stay different.
func plainID(id string) string {
	const longest = 64
	plain := strings.Map(func(r rune) rune {
		if letter(r) || strings.ContainsRune("_.:-", r) {
			return r
		}
		return '_'
	}, id)
	if plain == id && id != "" && len(id) <= longest {
		return id
	}
	return plain[:min(len(plain), longest-12)] + "_" + wire.Digest(id)
}
