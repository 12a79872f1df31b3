package anthropic

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

const (
	// containerKind is the Kind of the opaque part that stores an answer's container.
	containerKind = "container"
	// resultKind is the Kind of the opaque part in a tool result that stores block members without a field in
	// llm.ToolResult.
	resultKind = "tool_result"
	// compactionKind is the type of the block that the server writes to replace messages.
	compactionKind = "compaction"
)

// blocks writes content blocks.
type blocks struct {
	wire.Encoder
	model  string
	prefix prefix
	late   bool // the model takes system messages among the others
	inline bool // and changes of tools in them
	mark   int  // before the closing brace of the last block that may have a breakpoint, or 0
	manual bool // a block has its own breakpoint
}

// usable returns the state if it is a JSON object that can be sent to the model.
func usable(s llm.State, model string) (wire.Value, bool) {
	if !s.For(Name, model) {
		return nil, false
	}
	v, err := wire.ParseJSON(s.Data)
	return v, err == nil && v.Kind() == '{'
}

// run writes one API message, and after a user message the run's system messages.
func (b *blocks) run(rn run, messages []llm.Message) error {
	b.message(rn.role)
	var err error
	if rn.role == "user" && !rn.user {
		b.systems(messages[rn.from:rn.to], "user") // no user message precedes them
	} else if rn.role == "user" {
		err = b.user(messages[rn.from:rn.to])
	} else {
		for i := rn.from; i < rn.to && err == nil; i++ {
			err = b.answer(&messages[i])
		}
	}
	b.Close(']')
	b.Close('}')
	if rn.system && rn.user {
		b.message("system")
		b.systems(messages[rn.from:rn.to], "system")
		b.Close(']')
		b.Close('}')
	}
	return err
}

// message opens a message.
func (b *blocks) message(role string) {
	b.Open('{')
	b.Field("role", role)
	b.Key("content")
	b.Open('[')
}

// systems writes a run's system messages into one message. The API accepts a system message only after a user message
// and before an answer.
func (b *blocks) systems(messages []llm.Message, role string) {
	for i := range messages {
		if m := &messages[i]; instructs(m.Role) && (b.late || inPlace(m, b.model)) {
			for _, p := range m.Parts {
				start := len(b.Buf)
				b.system(p)
				b.bound(role, start)
			}
		}
	}
}

// user writes the parts of user messages, tool results first.
func (b *blocks) user(messages []llm.Message) error {
	for i := range messages {
		for _, p := range messages[i].Parts {
			if r, ok := p.(llm.ToolResult); ok && fromUser(messages[i].Role) {
				start := len(b.Buf)
				if err := b.result(&r); err != nil {
					return err
				}
				b.bound("user", start)
			}
		}
	}
	for i := range messages {
		if !fromUser(messages[i].Role) {
			continue
		}
		for _, p := range messages[i].Parts {
			start := len(b.Buf)
			if err := b.content(p); err != nil {
				return err
			}
			b.bound("user", start)
		}
	}
	return nil
}

// bound adds the bytes written since start to the prefix that later thinking is bound to.
func (b *blocks) bound(role string, start int) {
	if b.prefix.on {
		b.prefix.add(role, bytes.TrimPrefix(b.Buf[start:], []byte(",")))
	}
}

// instructs reports whether r is a role for instructions.
func instructs(r llm.Role) bool { return r == llm.RoleSystem || r == llm.RoleDeveloper }

func fromUser(r llm.Role) bool { return r == llm.RoleUser || r == llm.RoleTool }

// answer writes an assistant message or a compaction.
func (b *blocks) answer(m *llm.Message) error {
	switch {
	case m.Role == llm.RoleUser:
		if state, ok := compaction(m, b.model); ok {
			b.compaction(state)
		}
		return nil
	case m.Role != llm.RoleAssistant:
		return nil
	}
	for _, p := range m.Parts {
		start := len(b.Buf)
		switch p := p.(type) {
		case llm.ToolCall:
			b.call(&p)
		case llm.Thinking:
			b.thinking(&p)
			continue
		case llm.Image:
			b.text("[image]", nil)
		case llm.Document:
			b.text("[document]", nil)
		default:
			if err := b.content(p); err != nil {
				return err
			}
		}
		b.bound("assistant", start)
	}
	return nil
}

// compaction returns the compaction block in m, if the model can read it.
func compaction(m *llm.Message, model string) (wire.Value, bool) {
	if m.Role != llm.RoleUser || len(m.Parts) == 0 {
		return nil, false
	}
	t, ok := m.Parts[0].(llm.Text)
	if !ok {
		return nil, false
	}
	state, ok := usable(t.State, model)
	return state, ok && state.Get("type").Is(compactionKind)
}

// compaction writes a compaction block.
func (b *blocks) compaction(state wire.Value) {
	start := len(b.Buf)
	b.Open('{')
	b.end(state)
	b.prefix.compacted(state, bytes.TrimPrefix(b.Buf[start:], []byte(",")))
}

// system writes one system message part.
func (b *blocks) system(p llm.Part) {
	switch p := p.(type) {
	case llm.Text:
		state, _ := usable(p.State, b.model)
		b.text(p.Text, state)
	case llm.ToolChange:
		if b.inline {
			b.toolChange(&p)
		}
	case llm.Opaque:
		b.opaque(&p)
	}
}

// content writes one part in a user message or a tool result.
func (b *blocks) content(p llm.Part) error {
	switch p := p.(type) {
	case llm.Text:
		state, _ := usable(p.State, b.model)
		b.text(p.Text, state)
	case llm.Image:
		return b.image(p.Media)
	case llm.Document:
		return b.document(p.Media)
	case llm.Audio:
		b.text("[audio: not supported]", nil)
	case llm.Opaque:
		b.opaque(&p)
	}
	return nil
}

func (b *blocks) begin(kind string) {
	b.Open('{')
	b.Field("type", kind)
}

// end closes a block that may have a breakpoint.
func (b *blocks) end(extra wire.Value) {
	for m := extra.Members(); m.Next(); {
		switch string(m.Key) {
		case boundKey:
			continue
		case "cache_control":
			b.manual = true
		}
		b.Member(m.Key, m.Value)
	}
	b.Close('}')
	b.mark = len(b.Buf) - 1
}

func (b *blocks) text(s string, extra wire.Value) {
	if s == "" {
		return
	}
	b.begin("text")
	b.Field("text", s)
	b.end(extra)
}

// thinking writes a thinking block, which must not have a breakpoint, unless it is bound to another prefix.
func (b *blocks) thinking(t *llm.Thinking) {
	extra, ok := usable(t.State, b.model)
	if !ok || !b.prefix.think(extra) {
		return
	}
	mark := b.mark
	if t.Redacted {
		b.begin("redacted_thinking")
	} else {
		b.begin("thinking")
		b.Field("thinking", t.Text)
	}
	b.end(extra)
	b.mark = mark
}

func (b *blocks) opaque(o *llm.Opaque) {
	if v, ok := usable(o.State, b.model); ok && o.Kind != containerKind {
		b.manual = b.manual || bytes.Contains(v, []byte(`"cache_control"`))
		b.Raw(v)
	}
}

func (b *blocks) call(c *llm.ToolCall) {
	b.begin("tool_use")
	b.Field("id", plainID(c.ID))
	b.Field("name", c.Name)
	b.Key("input")
	b.input(c)
	extra, _ := usable(c.State, b.model)
	b.end(extra)
}

// input writes call arguments, which must be an object.
func (b *blocks) input(c *llm.ToolCall) {
	key := "input"
	if !c.Custom {
		if strings.TrimSpace(c.Arguments) == "" {
			b.Raw([]byte("{}"))
			return
		}
		if v, err := wire.ParseJSON([]byte(c.Arguments)); err == nil && v.Kind() == '{' {
			b.Raw(v)
			return
		}
		key = "_raw"
	}
	b.Open('{')
	b.Field(key, c.Arguments)
	b.Close('}')
}

func (b *blocks) result(r *llm.ToolResult) error {
	b.begin("tool_result")
	b.Field("tool_use_id", plainID(r.ID))
	if r.IsError {
		b.Key("is_error")
		b.Bool(true)
	}
	var extra wire.Value
	start := len(b.Buf)
	b.Key("content")
	b.Open('[')
	empty := len(b.Buf)
	for _, p := range r.Parts {
		if o, ok := p.(llm.Opaque); ok && o.Kind == resultKind {
			extra, _ = usable(o.State, b.model)
			continue
		}
		if err := b.resultContent(p, r.IsError); err != nil {
			return err
		}
	}
	if len(b.Buf) == empty && r.IsError {
		b.text("error", nil)
	}
	if len(b.Buf) == empty {
		b.Buf = b.Buf[:start]
	} else {
		b.Close(']')
	}
	b.end(extra)
	return nil
}

// resultContent writes one result part. The API accepts only text in a failed result.
func (b *blocks) resultContent(p llm.Part, failed bool) error {
	switch p.(type) {
	case llm.Image, llm.Document:
		if failed {
			b.text("[a file that cannot be shown with an error]", nil)
			return nil
		}
	}
	return b.content(p)
}

func (b *blocks) image(m llm.Media) error {
	m, err := wire.Inline(m)
	if err != nil {
		return err
	}
	if m.Data == nil {
		b.source("image", "url", "", func() { b.Field("url", m.URL) })
	} else {
		switch m.MIME {
		case "image/jpeg", "image/png", "image/gif", "image/webp":
			b.source("image", "base64", m.MIME, func() { b.Key("data"); b.Base64("", m.Data) })
		default:
			b.text(fmt.Sprintf("[image of type %s: not supported]", m.MIME), nil)
			return nil
		}
	}
	b.end(nil)
	return nil
}

func (b *blocks) document(m llm.Media) error {
	m, err := wire.Inline(m)
	if err != nil {
		return err
	}
	switch {
	case m.Data == nil:
		b.source("document", "url", "", func() { b.Field("url", m.URL) })
	case m.MIME == "application/pdf":
		b.source("document", "base64", m.MIME, func() { b.Key("data"); b.Base64("", m.Data) })
	case utf8.Valid(m.Data):
		b.source("document", "text", "text/plain", func() { b.Field("data", string(m.Data)) })
	default:
		b.text(fmt.Sprintf("[document %s of type %s: not supported]", m.Name, m.MIME), nil)
		return nil
	}
	b.StrField("title", m.Name)
	b.end(nil)
	return nil
}

// source opens a block and writes its source.
func (b *blocks) source(kind, form, mime string, data func()) {
	b.begin(kind)
	b.Key("source")
	b.begin(form)
	b.StrField("media_type", mime)
	data()
	b.Close('}')
}

// plainID replaces the characters in a tool call ID that the API does not allow. Different IDs stay different.
func plainID(id string) string {
	if id == "" {
		return "call"
	}
	plain := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, id)
	if plain != id {
		plain += "_" + wire.Digest(id)
	}
	return plain
}
