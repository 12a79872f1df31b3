package anthropic

import (
	"encoding/base64"
	"fmt"
	"slices"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/wire"
)

// system reads the system member, a string or blocks.
func (p *parser) system(v wire.Value) {
	var parts []llm.Part
	switch v.Kind() {
	case '"':
		if s := v.Str(); s != "" {
			parts = append(parts, llm.Text{Text: s})
		} else {
			p.drop("system")
		}
	case '[':
		for it := v.Elements(); it.Next(); {
			parts = append(parts, p.block("system", it.Value))
		}
	}
	if len(parts) > 0 {
		p.r.Messages = append(p.r.Messages, llm.Message{Role: llm.RoleSystem, Parts: parts})
	}
}

func (p *parser) message(path string, v wire.Value) {
	for m := v.Members(); m.Next(); {
		if key := string(m.Key); key != "role" && key != "content" {
			p.drop(path + "." + key)
		}
	}
	role := v.Get("role").Str()
	var parts []llm.Part
	switch content := v.Get("content"); content.Kind() {
	case '"':
		if s := content.Str(); s != "" {
			parts = append(parts, llm.Text{Text: s})
		}
	case '[':
		i := 0
		for it := content.Elements(); it.Next(); i++ {
			if it.Value.Get("type").Is("text") && it.Value.Get("text").Str() == "" {
				p.drop(fmt.Sprintf("%s.content[%d]", path, i))
				continue
			}
			parts = append(parts, p.block(role, it.Value))
		}
	}
	if len(parts) == 0 {
		p.drop(path)
		return
	}
	switch role {
	case "user":
		p.userMessages(parts)
	case "assistant":
		p.r.Messages = append(p.r.Messages, llm.Message{Role: llm.RoleAssistant, Parts: parts})
	case "system":
		p.inPlace(parts)
	default:
		p.drop(path)
	}
}

// userMessages splits a user message into messages of tool results and of other parts.
func (p *parser) userMessages(parts []llm.Part) {
	var last llm.Role
	for _, part := range parts {
		role := llm.RoleUser
		if _, ok := part.(llm.ToolResult); ok {
			role = llm.RoleTool
		}
		if role != last {
			p.r.Messages = append(p.r.Messages, llm.Message{Role: role})
			last = role
		}
		m := &p.r.Messages[len(p.r.Messages)-1]
		m.Parts = append(m.Parts, part)
	}
}

// inPlace adds a system message from among the messages. Its parts get state, if only an empty object, to
// mark it as such.
func (p *parser) inPlace(parts []llm.Part) {
	for i, part := range parts {
		if t, ok := part.(llm.Text); ok && t.State.Dialect == "" {
			t.State = p.state([]byte("{}"))
			parts[i] = t
		}
	}
	p.r.Messages = append(p.r.Messages, llm.Message{Role: llm.RoleSystem, Parts: parts})
}

// block reads a content block. A block that would not be encoded as it was becomes opaque.
func (p *parser) block(role string, v wire.Value) llm.Part {
	kind := v.Get("type").Str()
	if kind == "tool_result" && role == "user" {
		return p.result(v)
	}
	if part := p.part(role, kind, v); part != nil {
		b := blocks{model: p.r.Model}
		m := llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{part}}
		var err error
		if role == "assistant" {
			err = b.answer(&m)
		} else {
			err = b.content(part)
		}
		if err == nil && same(b.Buf, v) {
			return part
		}
	}
	return llm.Opaque{Kind: kind, State: p.state(v)}
}

// part returns the part for a block, or nil.
func (p *parser) part(role, kind string, v wire.Value) llm.Part {
	switch kind {
	case "text":
		return llm.Text{Text: v.Get("text").Str(), State: p.rest(v, "type", "text")}
	case "thinking":
		return llm.Thinking{Text: v.Get("thinking").Str(), State: p.rest(v, "type", "thinking")}
	case "redacted_thinking":
		return llm.Thinking{Redacted: true, State: p.rest(v, "type")}
	case "tool_use":
		if v.Get("input").Kind() != '{' || role != "assistant" {
			return nil
		}
		return llm.ToolCall{
			ID:        v.Get("id").Str(),
			Name:      v.Get("name").Str(),
			Arguments: string(v.Get("input")),
			State:     p.rest(v, "type", "id", "name", "input"),
		}
	case "image":
		if m, ok := media(v); ok {
			return llm.Image{Media: m}
		}
	case "document":
		if m, ok := media(v); ok {
			m.Name = v.Get("title").Str()
			return llm.Document{Media: m}
		}
	}
	return nil
}

// rest returns the state with the members of a block that are not known.
func (p *parser) rest(v wire.Value, known ...string) llm.State {
	rest := wire.Rest(v, func(key string, _ wire.Value) bool { return slices.Contains(known, key) })
	if rest == nil {
		return llm.State{}
	}
	return p.state(rest)
}

func media(v wire.Value) (llm.Media, bool) {
	source := v.Get("source")
	m := llm.Media{MIME: source.Get("media_type").Str()}
	switch kind := source.Get("type"); {
	case kind.Is("base64"):
		data, err := base64.StdEncoding.DecodeString(source.Get("data").Str())
		if err != nil || len(data) == 0 {
			return m, false
		}
		m.Data = data
	case kind.Is("text"):
		m.Data = []byte(source.Get("data").Str())
	case kind.Is("url"):
		m.URL = source.Get("url").Str()
	default:
		return m, false
	}
	return m, true
}

// result reads a tool result. Members without a field become an opaque part of it.
func (p *parser) result(v wire.Value) llm.Part {
	r := llm.ToolResult{ID: v.Get("tool_use_id").Str(), IsError: v.Get("is_error").Bool()}
	known := []string{"type", "tool_use_id"}
	if r.IsError {
		known = append(known, "is_error")
	}
	switch content := v.Get("content"); content.Kind() {
	case '"':
		if s := content.Str(); s != "" {
			r.Parts = append(r.Parts, llm.Text{Text: s})
			known = append(known, "content")
		}
	case '[':
		for it := content.Elements(); it.Next(); {
			r.Parts = append(r.Parts, p.block("result", it.Value))
		}
		if len(r.Parts) > 0 {
			known = append(known, "content")
		}
	}
	if s := p.rest(v, known...); s.Dialect != "" {
		r.Parts = append(r.Parts, llm.Opaque{Kind: resultKind, State: s})
	}
	r.Name = p.nameOf(r.ID)
	return r
}

// nameOf returns the name of the tool in the call with this id.
func (p *parser) nameOf(id string) string {
	for i := len(p.r.Messages) - 1; i >= 0; i-- {
		for _, part := range p.r.Messages[i].Parts {
			if c, ok := part.(llm.ToolCall); ok && c.ID == id {
				return c.Name
			}
		}
	}
	return ""
}
