package requests

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

func (p *geminiParser) contents(v wire.Value) {
	i := -1
	for it := v.Elements(); it.Next(); {
		i++
		p.content(it.Value, fmt.Sprintf("contents[%d]", i))
	}
}

// content reads one content. Its function responses become a message with role tool.
func (p *geminiParser) content(v wire.Value, path string) {
	role := llm.RoleUser
	for m := v.Members(); m.Next(); {
		switch key := string(m.Key); {
		case key == "parts":
		case key == "role" && m.Value.Is("model"):
			role = llm.RoleAssistant
		case key == "role" && (m.Value.Is("user") || m.Value.Is("function") || m.Value.Is("tool")):
		default:
			p.drop("%s.%s", path, key)
		}
	}
	var msg llm.Message
	flush := func() {
		if len(msg.Parts) > 0 {
			p.r.Messages = append(p.r.Messages, msg)
		}
		msg = llm.Message{}
	}
	n := -1
	for it := v.Get("parts").Elements(); it.Next(); {
		n++
		part := p.part(it.Value, fmt.Sprintf("%s.parts[%d]", path, n))
		want := role
		if _, ok := part.(llm.ToolResult); ok {
			want = llm.RoleTool
		}
		if msg.Role != want {
			flush()
			msg.Role = want
		}
		if part != nil {
			msg.Parts = append(msg.Parts, part)
		}
	}
	flush()
}

// part reads one part. A part with an unknown member becomes opaque, unless it is a call or a response: then the
// member is dropped and listed.
func (p *geminiParser) part(v wire.Value, path string) llm.Part {
	f := wire.CamelMembers(v)
	if call, ok := f["functionCall"]; ok && call.Kind() == '{' {
		p.extras(f, path, "functionCall", "thoughtSignature")
		return p.call(call, f["thoughtSignature"], path+".functionCall")
	}
	if response, ok := f["functionResponse"]; ok && response.Kind() == '{' {
		p.extras(f, path, "functionResponse")
		return p.response(response, path+".functionResponse")
	}
	if part := p.modelled(f); part != nil {
		return part
	}
	if v.Kind() != '{' {
		p.drop("%s", path)
		return nil
	}
	return llm.Opaque{Kind: memberName(v), State: p.own(v)}
}

// extras lists a part's unknown members as dropped.
func (p *geminiParser) extras(f map[string]wire.Value, path string, known ...string) {
	for _, key := range slices.Sorted(maps.Keys(f)) {
		if !slices.Contains(known, key) {
			p.drop("%s.%s", path, key)
		}
	}
}

// modelled returns a part that is only a text, a thought or a file, or nil.
func (p *geminiParser) modelled(f map[string]wire.Value) llm.Part {
	sig, text := f["thoughtSignature"], f["text"]
	thought := f["thought"].Bool()
	n := len(f)
	for _, key := range []string{"thoughtSignature", "thought", "text"} {
		if _, ok := f[key]; ok {
			n--
		}
	}
	var state llm.State
	if sig.Kind() == '"' {
		state = p.own([]byte(sig.Str()))
	}
	switch {
	case n == 0 && text.Kind() == '"' && thought:
		if len(state.Data) == 0 {
			state = p.own([]byte(unsigned))
		}
		return llm.Thinking{Text: text.Str(), State: state}
	case n == 0 && text.Kind() == '"' && f["thought"] == nil:
		return llm.Text{Text: text.Str(), State: state}
	case n == 0 && text == nil && thought && len(state.Data) > 0:
		return llm.Thinking{Redacted: true, State: state}
	case n == 1 && len(f) == 1:
		for _, key := range []string{"inlineData", "fileData"} {
			if part, ok := wire.GoogleMedia(f[key]); ok {
				return part
			}
		}
	}
	return nil
}

func (p *geminiParser) call(v, sig wire.Value, path string) llm.Part {
	var c llm.ToolCall
	for m := v.Members(); m.Next(); {
		switch wire.Camel(m.Key) {
		case "id":
			c.ID = m.Value.Str()
		case "name":
			c.Name = m.Value.Str()
		case "args":
			c.Arguments = string(m.Value)
		default:
			p.drop("%s.%s", path, m.Key)
		}
	}
	if c.ID == "" {
		c.ID = p.newID()
	}
	if sig.Kind() == '"' {
		c.State = p.own([]byte(sig.Str()))
	}
	p.pending = append(p.pending, c)
	return c
}

func (p *geminiParser) newID() string {
	p.calls++
	return callIDPrefix + strconv.Itoa(p.calls)
}

func (p *geminiParser) response(v wire.Value, path string) llm.Part {
	var r llm.ToolResult
	for m := v.Members(); m.Next(); {
		switch wire.Camel(m.Key) {
		case "id":
			r.ID = m.Value.Str()
		case "name":
			r.Name = m.Value.Str()
		case "response":
			r.Parts = append(r.Parts, p.returned(m.Value))
			r.IsError = m.Value.Get("error").Exists()
		case "parts":
			for it := m.Value.Elements(); it.Next(); {
				part := p.modelled(wire.CamelMembers(it.Value))
				switch part.(type) {
				case llm.Image, llm.Audio, llm.Document:
				default:
					part = llm.Opaque{Kind: memberName(it.Value), State: p.own(it.Value)}
				}
				r.Parts = append(r.Parts, part)
			}
		default:
			p.drop("%s.%s", path, m.Key)
		}
	}
	r.ID = p.answered(r)
	return r
}

// returned reads a function's response: the text in a result or error that Encode writes in the same form, or else the
// whole object.
func (p *geminiParser) returned(v wire.Value) llm.Text {
	f := wire.CamelMembers(v)
	for _, key := range []string{"result", "error"} {
		if text := v.Get(key); text.Kind() == '"' && len(f) == 1 {
			return llm.Text{Text: text.Str()}
		}
	}
	return llm.Text{Text: string(v), State: p.own(v)}
}

// answered returns the ID of the call that a response belongs to, found by its ID or else by its name or position.
func (p *geminiParser) answered(r llm.ToolResult) string {
	for _, byName := range []bool{true, false} {
		for i, c := range p.pending {
			if r.ID != "" && c.ID == r.ID || r.ID == "" && (c.Name == r.Name || !byName) {
				p.pending = append(p.pending[:i:i], p.pending[i+1:]...)
				return c.ID
			}
		}
	}
	if r.ID == "" {
		return p.newID()
	}
	return r.ID
}

// memberName returns the name of the member that determines a part's type.
func memberName(v wire.Value) string {
	found := ""
	for m := v.Members(); m.Next(); {
		switch key := string(m.Key); {
		case key != "thought" && key != "thoughtSignature" && key != "thought_signature":
			return key
		case found == "":
			found = key
		}
	}
	return found
}
