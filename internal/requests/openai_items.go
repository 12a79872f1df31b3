package requests

import (
	"encoding/base64"
	"strings"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// input reads the input: a text, or items. Consecutive items of one role become one message, but two
// message items are never merged.
func (p openaiParser) input(v wire.Value) bool {
	switch v.Kind() {
	case '"':
		p.r.Messages = append(p.r.Messages, llm.UserText(v.Str()))
	case '[':
		n := 0
		for it := v.Elements(); it.Next(); n++ {
			p.item(n, it.Value)
		}
	default:
		return false
	}
	return true
}

func (p openaiParser) item(n int, v wire.Value) {
	kind := v.Get("type").Str()
	switch kind {
	case "message", "":
		if p.message(v) {
			return
		}
	case "reasoning":
		p.add(llm.RoleAssistant, llm.Thinking{Text: reasoningText(v), State: p.state(v)})
		return
	case "function_call", "custom_tool_call":
		if call, ok := p.call(v); ok {
			p.add(llm.RoleAssistant, call)
			return
		}
	case "function_call_output", "custom_tool_call_output":
		if r, ok := p.result(n, v); ok {
			p.add(llm.RoleTool, r)
			return
		}
	}
	p.add(opaqueRole(v, kind), llm.Opaque{Kind: kind, State: p.state(v)})
}

// opaqueRole returns the role for an unknown item.
func opaqueRole(v wire.Value, kind string) llm.Role {
	switch {
	case v.Get("role").Is("developer"):
		return llm.RoleDeveloper
	case strings.HasSuffix(kind, "_call_output"):
		return llm.RoleTool
	case strings.HasSuffix(kind, "_response"), kind == "":
		return llm.RoleUser
	}
	return llm.RoleAssistant
}

// add appends a part to the last message if it has the same role, else to a new one.
func (p openaiParser) add(role llm.Role, part llm.Part) {
	msgs := p.r.Messages
	if n := len(msgs); n > 0 && msgs[n-1].Role == role && (role == llm.RoleAssistant || role == llm.RoleTool) {
		msgs[n-1].Parts = append(msgs[n-1].Parts, part)
		return
	}
	p.r.Messages = append(msgs, llm.Message{Role: role, Parts: []llm.Part{part}})
}

// message reads a message item. It reports false if it cannot represent the item.
func (p openaiParser) message(v wire.Value) bool {
	role := llm.Role(v.Get("role").Str())
	switch role {
	case llm.RoleUser, llm.RoleAssistant, llm.RoleDeveloper, llm.RoleSystem:
	default:
		return false
	}
	rest := messageRest(v)
	if role == llm.RoleSystem && rest == nil {
		rest = []byte("{}")
	}
	parts, ok := p.content(v.Get("content"), rest)
	if !ok {
		return false
	}
	for i, part := range parts {
		if t, ok := part.(llm.Text); ok && t.Text == "" && len(t.State.Data) == 0 { // Encode would omit it
			parts[i] = llm.Text{State: p.own([]byte(`{"part":{}}`))}
		}
	}
	msgs := p.r.Messages
	if n := len(msgs); role == llm.RoleAssistant && n > 0 && msgs[n-1].Role == role && !endsInContent(msgs[n-1]) {
		msgs[n-1].Parts = append(msgs[n-1].Parts, parts...)
		return true
	}
	p.r.Messages = append(msgs, llm.Message{Role: role, Parts: parts})
	return true
}

func endsInContent(m llm.Message) bool {
	switch p := m.Parts[len(m.Parts)-1].(type) {
	case llm.Thinking, llm.ToolCall, llm.ToolResult:
		return false
	case llm.Opaque:
		return strings.HasPrefix(p.Kind, "content.")
	}
	return true
}

// content reads a message's content or a tool's output. Every text carries the rest. It reports false without content,
// or without a text to carry the rest.
func (p openaiParser) content(v wire.Value, rest []byte) (parts []llm.Part, ok bool) {
	if v.Kind() == '"' {
		return []llm.Part{llm.Text{Text: v.Str(), State: p.rest(rest, nil)}}, true
	}
	carried := rest == nil
	for it := v.Elements(); it.Next(); {
		part := p.contentPart(it.Value, rest)
		if _, isText := part.(llm.Text); isText {
			carried = true
		} else if !carried {
			return nil, false // the first part must carry the rest
		}
		parts = append(parts, part)
	}
	return parts, carried && len(parts) > 0
}

// rest returns a text's state. Without an ID the model did not write it, and any model may get it.
func (p openaiParser) rest(message, part []byte) llm.State {
	s := p.state(textState(message, part))
	if !wire.Value(message).Get("id").Exists() {
		s.Model = ""
	}
	return s
}

func (p openaiParser) contentPart(v wire.Value, rest []byte) llm.Part {
	switch kind := v.Get("type").Str(); kind {
	case "input_text", "output_text":
		if v.Get("text").Kind() == '"' {
			return llm.Text{Text: v.Get("text").Str(), State: p.rest(rest, partRest(v))}
		}
	case "refusal":
		return llm.Text{Text: v.Get("refusal").Str(), State: p.rest(rest, partRest(v))}
	case "input_image":
		if m, ok := mediaFrom(v, "image_url", "detail"); ok {
			return llm.Image{Media: m, Detail: v.Get("detail").Str()}
		}
	case "input_file":
		if m, ok := mediaFrom(v, "file_data", "filename"); ok && m.Data != nil && v.Get("filename").Exists() {
			m.Name = v.Get("filename").Str()
			return llm.Document{Media: m}
		}
		if m, ok := mediaFrom(v, "file_url", "filename"); ok && m.Data == nil {
			m.Name = v.Get("filename").Str()
			return llm.Document{Media: m}
		}
	}
	s := p.state(v)
	s.Model = ""
	return llm.Opaque{Kind: "content." + v.Get("type").Str(), State: s}
}

// mediaFrom reads a file given by a URL, if the part has no members except that and one other.
func mediaFrom(v wire.Value, url, other string) (llm.Media, bool) {
	for m := v.Members(); m.Next(); {
		switch string(m.Key) {
		case "type", url, other:
		default:
			return llm.Media{}, false
		}
		if m.Value.Kind() != '"' {
			return llm.Media{}, false
		}
	}
	source := v.Get(url).Str()
	if rest, ok := strings.CutPrefix(source, "data:"); ok {
		kind, payload, _ := strings.Cut(rest, ";base64,")
		data, err := base64.StdEncoding.DecodeString(payload)
		if err != nil || len(data) == 0 || kind == "" || base64.StdEncoding.EncodeToString(data) != payload {
			return llm.Media{}, false
		}
		return llm.Media{MIME: kind, Data: data}, strings.IndexFunc(kind, escaped) < 0
	}
	return llm.Media{URL: source}, source != ""
}

func (p openaiParser) call(v wire.Value) (llm.ToolCall, bool) {
	c := llm.ToolCall{ID: v.Get("call_id").Str(), Name: v.Get("name").Str(), Arguments: v.Get("arguments").Str()}
	if v.Get("type").Is("custom_tool_call") {
		c.Custom, c.Arguments = true, v.Get("input").Str()
	}
	c.State = p.state(without(v, "type", "call_id", "name", "arguments", "input"))
	return c, c.ID != "" && c.Name != ""
}

func (p openaiParser) result(n int, v wire.Value) (llm.ToolResult, bool) {
	r := llm.ToolResult{ID: v.Get("call_id").Str(), Custom: v.Get("type").Is("custom_tool_call_output")}
	out, rest := v.Get("output"), without(v, "type", "call_id", "output")
	parts, ok := p.content(out, rest)
	if !ok && rest != nil {
		if parts, ok = p.content(out, nil); ok {
			for m := wire.Value(rest).Members(); m.Next(); {
				p.drop("input[%d].%s", n, m.Key)
			}
		}
	}
	r.Parts = parts
	return r, ok && r.ID != ""
}

// escaped reports whether a character in a MIME type would be escaped.
func escaped(r rune) bool { return r <= ' ' || r >= 0x7f || r == '"' || r == '\\' }

// messageRest returns a message item's members except role and content.
func messageRest(item wire.Value) []byte {
	if item.Get("type").Is("message") {
		return without(item, "role", "content", "type")
	}
	return without(item, "role", "content")
}

// partRest returns a content part's members except its text.
func partRest(part wire.Value) []byte {
	if part.Get("type").Is("refusal") {
		return without(part, "text", "refusal")
	}
	return without(part, "text", "refusal", "type")
}

// textState joins the two rests, or returns nil if both are empty.
func textState(message, part []byte) []byte {
	if message == nil && part == nil {
		return nil
	}
	var e wire.Encoder
	e.Open('{')
	if message != nil {
		e.Key("message")
		e.Raw(message)
	}
	if part != nil {
		e.Key("part")
		e.Raw(part)
	}
	e.Close('}')
	return e.Buf
}

// reasoningText returns a reasoning item's readable text: its summaries, or else its content.
func reasoningText(item wire.Value) string {
	for _, name := range []string{"summary", "content"} {
		var all []string
		for it := item.Get(name).Elements(); it.Next(); {
			if s := it.Value.Get("text").Str(); s != "" {
				all = append(all, s)
			}
		}
		if len(all) > 0 {
			return strings.Join(all, "\n\n")
		}
	}
	return ""
}
