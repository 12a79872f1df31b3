package requests

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// readBedrock reads a request of Bedrock Converse. The model is in the path, so the request has none. Members and blocks
// that llm.Request cannot represent are stored whole, as options and opaque parts.
func readBedrock(p *parser, v wire.Value) error {
	var system, messages []llm.Message
	for m := v.Members(); m.Next(); {
		switch key := string(m.Key); {
		case key == "system" && onlyTexts(m.Value):
			for it := m.Value.Elements(); it.Next(); {
				system = append(system, llm.SystemText(it.Value.Get("text").Str()))
			}
		case key == "messages":
			messages = p.turns(m.Value)
		case key == "inferenceConfig" && inference(p.r, m.Value), key == "toolConfig" && p.toolConfig(m.Value):
		default:
			p.option(key, m.Value)
		}
	}
	p.r.Messages = append(system, messages...)
	return nil
}

func onlyTexts(list wire.Value) bool {
	for it := list.Elements(); it.Next(); {
		if !only(it.Value, "text") || blank(it.Value.Get("text").Str()) {
			return false
		}
	}
	return list.Kind() == '['
}

// inference reads a request's settings, if llm.Request has a field for each.
func inference(r *llm.Request, v wire.Value) bool {
	if !only(v, "maxTokens", "temperature", "topP", "stopSequences") {
		return false
	}
	r.MaxTokens = int(v.Get("maxTokens").Int())
	r.Temperature, r.TopP = number(v.Get("temperature")), number(v.Get("topP"))
	r.Stop = texts(v.Get("stopSequences"))
	return true
}

// toolConfig reads the tools and the tool choice, if llm.ToolChoice represents it.
func (p *parser) toolConfig(v wire.Value) bool {
	choice := llm.ToolChoice{}
	switch c := v.Get("toolChoice"); {
	case !c.Exists():
	case c.Get("any").Exists():
		choice.Mode = llm.ToolRequired
	case c.Get("tool").Exists():
		choice = llm.ToolChoice{Mode: llm.ToolNamed, Name: c.Get("tool", "name").Str()}
	default:
		return false
	}
	var tools []llm.ToolDef
	for it := v.Get("tools").Elements(); it.Next(); {
		spec := it.Value.Get("toolSpec")
		if !only(spec, "name", "description", "inputSchema") {
			tools = append(tools, llm.ToolDef{Hosted: p.own(it.Value)})
			continue
		}
		tools = append(tools, llm.ToolDef{
			Name:        spec.Get("name").Str(),
			Description: spec.Get("description").Str(),
			Parameters:  json.RawMessage(spec.Get("inputSchema", "json").Clone()),
		})
	}
	p.r.Tools, p.r.ToolChoice = tools, choice
	return only(v, "tools", "toolChoice")
}

// turns reads messages.
func (p *parser) turns(list wire.Value) (messages []llm.Message) {
	for it := list.Elements(); it.Next(); {
		m := llm.Message{Role: llm.Role(it.Value.Get("role").Str())}
		for b := it.Value.Get("content").Elements(); b.Next(); {
			m.Parts = append(m.Parts, p.converseBlock(b.Value))
		}
		messages = append(messages, m)
	}
	return messages
}

func (p *parser) converseBlock(v wire.Value) llm.Part {
	k := firstKey(v)
	inner := v.Get(k)
	switch {
	case k == "text" && !blank(inner.Str()):
		return llm.Text{Text: inner.Str()}
	case k == "toolUse" && only(inner, "toolUseId", "name", "input"):
		return llm.ToolCall{ID: inner.Get("toolUseId").Str(), Name: inner.Get("name").Str(), Arguments: string(inner.Get("input"))}
	case k == "toolResult" && only(inner, "toolUseId", "content", "status"):
		r := llm.ToolResult{ID: inner.Get("toolUseId").Str(), IsError: inner.Get("status").Is("error")}
		for it := inner.Get("content").Elements(); it.Next(); {
			r.Parts = append(r.Parts, p.converseBlock(it.Value))
		}
		return r
	case k == "image" && only(inner, "format", "source"):
		if data, err := base64.StdEncoding.DecodeString(inner.Get("source", "bytes").Str()); err == nil && len(data) > 0 {
			return llm.Image{Media: llm.Media{MIME: "image/" + inner.Get("format").Str(), Data: data}}
		}
	case k == "reasoningContent":
		if text := inner.Get("reasoningText"); text.Get("signature").Exists() {
			return llm.Thinking{Text: text.Get("text").Str(), State: p.own(without(text, "text"))}
		} else if inner.Get("redactedContent").Exists() {
			return llm.Thinking{Redacted: true, State: p.own(inner)}
		}
	}
	return llm.Opaque{Kind: strings.Clone(k), State: p.own(v)}
}

// firstKey returns the name of an object's first member.
func firstKey(v wire.Value) string {
	m := v.Members()
	m.Next()
	return string(m.Key)
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }
