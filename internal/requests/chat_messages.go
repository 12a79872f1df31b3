package requests

import (
	"encoding/base64"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// message reads one message. Members without a part type become an opaque part.
func (p chatParser) message(v wire.Value) {
	role := v.Get("role").Str()
	m := llm.Message{Role: llm.Role(role)}
	var fields []byte
	var id, name string
	plain := true // the role is known
	switch m.Role {
	case llm.RoleSystem, llm.RoleDeveloper, llm.RoleUser, llm.RoleAssistant, llm.RoleTool:
	default:
		plain = false
	}
	for it := v.Members(); it.Next(); {
		switch key := string(it.Key); {
		case key == "role" || !it.Value.Exists():
		case key == "content" && plain:
			m.Parts = append(m.Parts, p.content(it.Value, m.Role)...)
		case key == "tool_calls" && m.Role == llm.RoleAssistant && it.Value.Kind() == '[':
			continue
		case isReasoning(key) && m.Role == llm.RoleAssistant:
			continue
		case key == "tool_call_id" && m.Role == llm.RoleTool:
			id = it.Value.Str()
		case key == "name" && m.Role == llm.RoleTool:
			name = it.Value.Str()
			if !p.namesTools() {
				fields = appendMember(fields, it.Key, it.Value)
			}
		default:
			fields = appendMember(fields, it.Key, it.Value)
		}
	}
	switch m.Role {
	case llm.RoleAssistant:
		m.Parts = append(p.thinking(v), m.Parts...)
		for it := v.Get("tool_calls").Elements(); it.Next(); {
			m.Parts = append(m.Parts, p.call(it.Value))
		}
	case llm.RoleTool:
		m.Parts = []llm.Part{llm.ToolResult{ID: id, Name: name, Parts: m.Parts}}
	}
	if len(fields) > 0 {
		part := llm.Opaque{Kind: "message", State: p.state(append(fields, '}'))}
		m.Parts = append([]llm.Part{part}, m.Parts...)
	}
	p.add(m)
}

// add appends the message. Consecutive tool messages become one.
func (p chatParser) add(m llm.Message) {
	if n := len(p.r.Messages); n > 0 && m.Role == llm.RoleTool && p.r.Messages[n-1].Role == llm.RoleTool {
		last := &p.r.Messages[n-1]
		last.Parts = append(last.Parts, m.Parts...)
		return
	}
	p.r.Messages = append(p.r.Messages, m)
}

func isReasoning(key string) bool {
	switch key {
	case "reasoning_content", "reasoning", "thinking", "reasoning_details":
		return true
	}
	return false
}

// thinking reads a message's reasoning members. If it is a single text, the state is its name; otherwise the state
// holds all of them.
func (p chatParser) thinking(v wire.Value) []llm.Part {
	var fields []byte
	var text, member string
	n := 0
	for it := v.Members(); it.Next(); {
		key := string(it.Key)
		if !isReasoning(key) || !it.Value.Exists() {
			continue
		}
		n++
		member = key
		fields = appendMember(fields, it.Key, it.Value)
		if s := it.Value.Str(); s != "" {
			text = s
		}
	}
	switch {
	case n == 0:
		return nil
	case n == 1 && v.Get(member).Kind() == '"':
		name := wire.AppendString(nil, member)
		return []llm.Part{llm.Thinking{Text: text, State: p.state(name)}}
	}
	if text == "" {
		for it := v.Get("reasoning_details").Elements(); it.Next(); {
			text += it.Value.Get("text").Str() + it.Value.Get("summary").Str()
		}
	}
	return []llm.Part{llm.Thinking{Text: text, Redacted: text == "", State: p.state(append(fields, '}'))}}
}

func (p chatParser) call(v wire.Value) llm.Part {
	f := v.Get("function")
	c := llm.ToolCall{ID: v.Get("id").Str(), Name: f.Get("name").Str(), Arguments: f.Get("arguments").Str()}
	if custom := v.Get("custom"); f == nil && custom != nil {
		c.Name = custom.Get("name").Str()
		c.Arguments = custom.Get("input").Str()
		c.Custom = true
	}
	var fields []byte
	for m := v.Members(); m.Next(); {
		switch string(m.Key) {
		case "id", "type", "function", "custom":
		default:
			if m.Value.Exists() {
				fields = appendMember(fields, m.Key, m.Value)
			}
		}
	}
	if args, err := wire.ParseJSON([]byte(c.Arguments)); !c.Custom && (err != nil || args.Kind() != '{') {
		// Keep a recorded request's arguments, even if the encoder would write others.
		fields = appendMember(fields, []byte("function"), f)
	}
	if len(fields) > 0 {
		c.State = p.state(append(fields, '}'))
	}
	return c
}

func (p chatParser) content(v wire.Value, role llm.Role) []llm.Part {
	if v.Kind() == '"' {
		return []llm.Part{llm.Text{Text: v.Str()}}
	}
	var parts []llm.Part
	mixed := false
	for it := v.Elements(); it.Next(); {
		part := p.part(it.Value)
		_, text := part.(llm.Text)
		mixed = mixed || !text
		parts = append(parts, part)
	}
	inTool := role == llm.RoleTool && !same(p.sent(llm.RoleTool, llm.ToolResult{ID: "call", Parts: parts}).Get("content"), v)
	if mixed && !inTool {
		return parts
	}
	// Without this state, a list of texts would become a string, and media in a tool message would move.
	i := 0
	for it := v.Elements(); it.Next(); i++ {
		switch part := parts[i].(type) {
		case llm.Text:
			part.State = p.state(it.Value)
			parts[i] = part
		case llm.Image, llm.Audio, llm.Document:
			parts[i] = llm.Opaque{Kind: it.Value.Get("type").Str(), State: p.state(it.Value)}
		}
	}
	return parts
}

// part reads a content part. If its encoding would differ, the original becomes a text's state, or else an opaque part.
func (p chatParser) part(v wire.Value) llm.Part {
	part := understand(v)
	if part != nil {
		content := p.sent(llm.RoleUser, part, part).Get("content").Elements()
		if content.Next() && Equal(content.Value, v) {
			return part
		}
	}
	if v.Get("type").Is("thinking") {
		return llm.Thinking{Text: thinkingText(v.Get("thinking")), State: p.state(v)}
	}
	if t, ok := part.(llm.Text); ok {
		t.State = p.state(v)
		return t
	}
	return llm.Opaque{Kind: v.Get("type").Str(), State: p.state(v)}
}

func thinkingText(v wire.Value) string {
	text := v.Str()
	for it := v.Elements(); it.Next(); {
		text += it.Value.Get("text").Str()
	}
	return text
}

func understand(v wire.Value) llm.Part {
	switch v.Get("type").Str() {
	case "text":
		return llm.Text{Text: v.Get("text").Str()}
	case "image_url":
		u := v.Get("image_url")
		return llm.Image{Media: llm.Media{URL: u.Get("url").Str()}, Detail: u.Get("detail").Str()}
	case "input_audio":
		a := v.Get("input_audio")
		data, err := base64.StdEncoding.DecodeString(a.Get("data").Str())
		if err != nil {
			return nil
		}
		kind := "audio/" + a.Get("format").Str()
		if kind == "audio/mp3" {
			kind = "audio/mpeg"
		}
		return llm.Audio{Media: llm.Media{Data: data, MIME: kind}}
	case "file":
		f := v.Get("file")
		if url := f.Get("file_data").Str(); url != "" {
			return llm.Document{Media: llm.Media{URL: url, Name: f.Get("filename").Str()}}
		}
	case "document_url":
		return llm.Document{Media: llm.Media{URL: v.Get("document_url").Str(), Name: v.Get("document_name").Str()}}
	}
	return nil
}

// sent returns the message that the adapter encodes for parts, nil if none.
func (p chatParser) sent(role llm.Role, parts ...llm.Part) wire.Value {
	body := p.encoded(&llm.Request{Model: p.r.Model, NoCache: true, Messages: []llm.Message{{Role: role, Parts: parts}}})
	messages := body.Get("messages").Elements()
	messages.Next()
	return messages.Value
}

// namesTools reports whether results have the names of their tools.
func (p chatParser) namesTools() bool {
	return p.sent(llm.RoleTool, llm.ToolResult{ID: "call", Name: "tool"}).Get("name").Exists()
}

// appendMember adds a member to an object without its closing brace.
func appendMember(object, key []byte, v wire.Value) []byte {
	if len(object) == 0 {
		object = append(object, '{')
	} else {
		object = append(object, ',')
	}
	object = append(wire.AppendString(object, string(key)), ':')
	return append(object, v...)
}
