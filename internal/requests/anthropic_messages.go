package requests

import (
	"encoding/base64"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// system reads the system member, a string or blocks.
func (p anthropicParser) system(v wire.Value) {
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

func (p anthropicParser) message(path string, v wire.Value) {
	for m := v.Members(); m.Next(); {
		if key := string(m.Key); key != "role" && key != "content" {
			p.drop("%s.%s", path, key)
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
				p.drop("%s.content[%d]", path, i)
				continue
			}
			parts = append(parts, p.block(role, it.Value))
		}
	}
	if len(parts) == 0 {
		p.drop("%s", path)
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
		p.drop("%s", path)
	}
}

// userMessages splits a user message into messages of tool results and of other parts.
func (p anthropicParser) userMessages(parts []llm.Part) {
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
func (p anthropicParser) inPlace(parts []llm.Part) {
	for i, part := range parts {
		if t, ok := part.(llm.Text); ok && t.State.Dialect == "" {
			t.State = p.state([]byte("{}"))
			parts[i] = t
		}
	}
	p.r.Messages = append(p.r.Messages, llm.Message{Role: llm.RoleSystem, Parts: parts})
}

// block reads a content block. A block that would not be encoded as it was becomes opaque.
func (p anthropicParser) block(role string, v wire.Value) llm.Part {
	kind := v.Get("type").Str()
	if kind == "tool_result" && role == "user" {
		return p.result(v)
	}
	if part := p.part(role, kind, v); part != nil {
		return part
	}
	return llm.Opaque{Kind: kind, State: p.state(v)}
}

// part returns the part for a block, or nil.
func (p anthropicParser) part(role, kind string, v wire.Value) llm.Part {
	var part llm.Part
	switch text := v.Get(kind); kind {
	case "text":
		if text.Str() == "" {
			return nil
		}
		return llm.Text{Text: text.Str(), State: p.state(without(v, "type", "text"))}
	case "thinking", "redacted_thinking":
		t := llm.Thinking{Text: text.Str(), Redacted: kind != "thinking", State: p.state(without(v, "type", "thinking"))}
		if role != "assistant" || t.State.Data == nil || t.Redacted == (text.Kind() == '"') {
			return nil
		}
		return t
	case "tool_use":
		if v.Get("input").Kind() != '{' || role != "assistant" {
			return nil
		}
		part = llm.ToolCall{
			ID:        v.Get("id").Str(),
			Name:      v.Get("name").Str(),
			Arguments: string(v.Get("input")),
			State:     p.state(without(v, "type", "id", "name", "input")),
		}
	case "image", "document":
		m, ok := media(v)
		switch {
		case !ok || role == "assistant":
			return nil
		case kind == "image":
			part = llm.Image{Media: m}
		default:
			m.Name = v.Get("title").Str()
			part = llm.Document{Media: m}
		}
	}
	if part == nil || !same(p.sent(role, part), v) {
		return nil
	}
	return part
}

// sent returns the block that the adapter encodes for a part, nil if none.
func (p anthropicParser) sent(role string, part llm.Part) wire.Value {
	m := llm.Message{Role: llm.RoleUser, Parts: []llm.Part{part}}
	if role == "assistant" {
		m.Role = llm.RoleAssistant
	}
	body := p.encoded(&llm.Request{Model: p.r.Model, NoCache: true, Messages: []llm.Message{m, llm.UserText(".")}})
	messages := body.Get("messages").Elements()
	messages.Next()
	blocks := messages.Value.Get("content").Elements()
	blocks.Next()
	return blocks.Value
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
func (p anthropicParser) result(v wire.Value) llm.Part {
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
	if s := p.state(without(v, known...)); s.Dialect != "" {
		r.Parts = append(r.Parts, llm.Opaque{Kind: "tool_result", State: s})
	}
	r.Name = p.nameOf(r.ID)
	return r
}

// nameOf returns the tool name in the call with this ID.
func (p anthropicParser) nameOf(id string) string {
	for i := len(p.r.Messages) - 1; i >= 0; i-- {
		for _, part := range p.r.Messages[i].Parts {
			if c, ok := part.(llm.ToolCall); ok && c.ID == id {
				return c.Name
			}
		}
	}
	return ""
}
