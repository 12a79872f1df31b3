package gemini

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// contentEncoder writes messages as contents, append-only. The last content stays open for the next message.
type contentEncoder struct {
	history wire.History
	out     wire.Encoder
	role    string            // role of the open content, or ""
	called  bool              // the open content has a function call
	calls   map[string]string // names of the calls so far, by ID
}

// encode writes the new messages.
func (e *contentEncoder) encode(m model, messages []llm.Message) error {
	known := e.history.Pending(m.name, messages)
	if known == 0 {
		*e = contentEncoder{history: e.history, calls: make(map[string]string)}
	}
	for i, msg := range messages[known:] {
		if err := e.message(m, msg); err != nil {
			e.history.Forget()
			return fmt.Errorf("cannot encode message %d: %w", known+i+1, err)
		}
	}
	return nil
}

// body returns the contents, which are never overwritten, and what closes them.
func (e *contentEncoder) body() (contents, tail []byte) {
	n := len(e.out.Buf)
	tail = []byte("]}]}")
	if e.role == "" {
		tail = tail[2:]
	}
	return e.out.Buf[:n:n], tail
}

// open opens a content with this role, unless one is open.
func (e *contentEncoder) open(role string) {
	if e.role == role {
		return
	}
	if e.role != "" {
		e.out.Buf = append(e.out.Buf, "]}"...)
	}
	e.out.Open('{')
	e.out.Field("role", role)
	e.out.Key("parts")
	e.out.Open('[')
	e.role, e.called = role, false
}

func (e *contentEncoder) message(m model, msg llm.Message) error {
	role := "user"
	switch msg.Role {
	case llm.RoleSystem, llm.RoleDeveloper:
		return nil
	case llm.RoleAssistant:
		role = "model"
	}
	var late []lateMedia
	for _, p := range msg.Parts {
		if r, ok := p.(llm.ToolResult); ok {
			more, err := e.result(m, r)
			if err != nil {
				return err
			}
			late = append(late, more...)
			continue
		}
		if err := e.part(m, role, p); err != nil {
			return err
		}
	}
	e.late(late)
	return nil
}

func (e *contentEncoder) part(m model, role string, p llm.Part) error {
	switch p := p.(type) {
	case llm.Text:
		e.text(role, p.Text, false, signature(p.State, m))
	case llm.Thinking:
		e.thought(role, m, p)
	case llm.ToolCall:
		e.call(m, p)
	case llm.Image:
		return e.media(role, p.Media)
	case llm.Audio:
		return e.media(role, p.Media)
	case llm.Document:
		return e.media(role, p.Media)
	case llm.Opaque:
		if p.State.For(Name, m.name) {
			e.open(role)
			e.out.Raw(p.State.Data)
		}
	}
	return nil
}

// signature returns the thoughtSignature in a state for this model, or "".
func signature(s llm.State, m model) string {
	if !s.For(Name, m.name) {
		return ""
	}
	return string(s.Data)
}

// text writes a text part, unless it is empty and unsigned: the API refuses that.
func (e *contentEncoder) text(role, text string, thought bool, signature string) {
	if text == "" && signature == "" {
		return
	}
	e.open(role)
	e.out.Open('{')
	e.out.Field("text", text)
	if thought {
		e.out.Key("thought")
		e.out.Bool(true)
	}
	e.out.StrField("thoughtSignature", signature)
	e.out.Close('}')
}

// unsigned is the state of a thought without a signature. It is not valid base64, so it is not a signature.
const unsigned = "!"

// thought writes one of this model's thoughts.
func (e *contentEncoder) thought(role string, m model, t llm.Thinking) {
	sig := signature(t.State, m)
	switch {
	case sig == "":
	case sig == unsigned:
		e.text(role, t.Text, true, "")
	case t.Redacted:
		e.open(role)
		e.out.Open('{')
		e.out.Key("thought")
		e.out.Bool(true)
		e.out.StrField("thoughtSignature", sig)
		e.out.Close('}')
	default:
		e.text(role, t.Text, true, sig)
	}
}

// call writes a function call. The first call in a content needs a signature.
func (e *contentEncoder) call(m model, c llm.ToolCall) {
	e.calls[c.ID] = c.Name
	e.open("model")
	sig := signature(c.State, m)
	if sig == "" && !e.called && m.needsSignatures() {
		sig = standInSignature
	}
	e.called = true
	e.out.Open('{')
	e.out.Key("functionCall")
	e.out.Open('{')
	e.id(c.ID)
	e.out.Field("name", c.Name)
	e.out.Key("args")
	e.arguments(c)
	e.out.Close('}')
	e.out.StrField("thoughtSignature", sig)
	e.out.Close('}')
}

// id writes an id, unless the decoder made it.
func (e *contentEncoder) id(id string) {
	if !strings.HasPrefix(id, callIDPrefix) {
		e.out.StrField("id", id)
	}
}

func (e *contentEncoder) arguments(c llm.ToolCall) {
	v, err := wire.ParseJSON([]byte(c.Arguments))
	switch {
	case c.Custom:
		e.wrapped("input", c.Arguments)
	case strings.TrimSpace(c.Arguments) == "":
		e.out.Raw([]byte("{}"))
	case err != nil || v.Kind() != '{':
		e.wrapped("_raw", c.Arguments)
	default:
		e.out.Raw(v)
	}
}

func (e *contentEncoder) wrapped(key, text string) {
	e.out.Open('{')
	e.out.Field(key, text)
	e.out.Close('}')
}

// media writes a file as a part.
func (e *contentEncoder) media(role string, m llm.Media) error {
	m, err := wire.Inline(m)
	if err != nil {
		return err
	}
	e.open(role)
	e.blob(m)
	return nil
}

// blob writes inlineData or fileData.
func (e *contentEncoder) blob(m llm.Media) {
	e.out.Open('{')
	if m.Data == nil {
		e.out.Key("fileData")
		e.out.Open('{')
		e.out.StrField("mimeType", m.MIME)
		e.out.Field("fileUri", m.URL)
	} else {
		e.out.Key("inlineData")
		e.out.Open('{')
		e.out.Field("mimeType", cmp.Or(m.MIME, "application/octet-stream"))
		e.out.Key("data")
		e.out.Base64("", m.Data)
	}
	e.out.Close('}')
	e.out.Close('}')
}
