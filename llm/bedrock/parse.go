package bedrock

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/wire"
)

// Parse reads the body of a request, the inverse of Encode. The model is in the path, so the request has none. Members
// and blocks that llm.Request cannot represent are stored whole, as options and opaque parts.
func (d dialect) Parse(body []byte) (r *llm.Request, dropped []string, err error) {
	v, err := wire.ParseJSON(body)
	if err != nil {
		return nil, nil, err
	}
	if v.Kind() != '{' {
		return nil, nil, errors.New("the request is not a JSON object")
	}
	r = &llm.Request{}
	options := map[string]json.RawMessage{}
	var system, messages []llm.Message
	for m := v.Members(); m.Next(); {
		switch key := string(m.Key); {
		case key == "system" && onlyTexts(m.Value):
			for it := m.Value.Elements(); it.Next(); {
				system = append(system, llm.SystemText(it.Value.Get("text").Str()))
			}
		case key == "messages":
			messages = parseMessages(m.Value)
		case key == "inferenceConfig" && parseInference(r, m.Value), key == "toolConfig" && parseTools(r, m.Value):
		default:
			options[key] = json.RawMessage(m.Value.Clone())
		}
	}
	r.Messages = append(system, messages...)
	if len(options) > 0 {
		r.Options = map[string]llm.Options{Name: {Body: options}}
	}
	return r, nil, nil
}

// only reports whether an object has no members but these.
func only(v wire.Value, names ...string) bool {
	for m := v.Members(); m.Next(); {
		if !slices.Contains(names, string(m.Key)) {
			return false
		}
	}
	return v.Kind() == '{'
}

func onlyTexts(list wire.Value) bool {
	for it := list.Elements(); it.Next(); {
		if !only(it.Value, "text") || blank(it.Value.Get("text").Str()) {
			return false
		}
	}
	return list.Kind() == '['
}

func parseInference(r *llm.Request, v wire.Value) bool {
	if !only(v, "maxTokens", "temperature", "topP", "stopSequences") {
		return false
	}
	r.MaxTokens = int(v.Get("maxTokens").Int())
	number := func(name string) *float64 {
		if n := v.Get(name); n.Kind() == '0' {
			f := n.Float()
			return &f
		}
		return nil
	}
	r.Temperature, r.TopP = number("temperature"), number("topP")
	for it := v.Get("stopSequences").Elements(); it.Next(); {
		r.Stop = append(r.Stop, it.Value.Str())
	}
	return true
}

func parseTools(r *llm.Request, v wire.Value) bool {
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
			tools = append(tools, llm.ToolDef{Hosted: llm.State{Dialect: Name, Data: it.Value.Clone()}})
			continue
		}
		tools = append(tools, llm.ToolDef{Name: spec.Get("name").Str(), Description: spec.Get("description").Str(),
			Parameters: json.RawMessage(spec.Get("inputSchema", "json").Clone())})
	}
	r.Tools, r.ToolChoice = tools, choice
	return only(v, "tools", "toolChoice")
}

func parseMessages(list wire.Value) (messages []llm.Message) {
	for it := list.Elements(); it.Next(); {
		m := llm.Message{Role: llm.Role(it.Value.Get("role").Str())}
		for b := it.Value.Get("content").Elements(); b.Next(); {
			m.Parts = append(m.Parts, parseBlock(b.Value))
		}
		messages = append(messages, m)
	}
	return messages
}

func parseBlock(v wire.Value) llm.Part {
	k := kind(v)
	inner := v.Get(k)
	switch {
	case k == "text" && !blank(inner.Str()):
		return llm.Text{Text: inner.Str()}
	case k == "toolUse" && only(inner, "toolUseId", "name", "input"):
		return llm.ToolCall{ID: inner.Get("toolUseId").Str(), Name: inner.Get("name").Str(), Arguments: string(inner.Get("input"))}
	case k == "toolResult" && only(inner, "toolUseId", "content", "status"):
		r := llm.ToolResult{ID: inner.Get("toolUseId").Str(), IsError: inner.Get("status").Is("error")}
		for it := inner.Get("content").Elements(); it.Next(); {
			r.Parts = append(r.Parts, parseBlock(it.Value))
		}
		return r
	case k == "image" && only(inner, "format", "source"):
		if data, err := base64.StdEncoding.DecodeString(inner.Get("source", "bytes").Str()); err == nil && len(data) > 0 {
			return llm.Image{Media: llm.Media{MIME: "image/" + inner.Get("format").Str(), Data: data}}
		}
	case k == "reasoningContent":
		if text := inner.Get("reasoningText"); text.Get("signature").Exists() {
			state := wire.Rest(text, func(name string, _ wire.Value) bool { return name == "text" })
			return llm.Thinking{Text: text.Get("text").Str(), State: llm.State{Dialect: Name, Data: state}}
		} else if inner.Get("redactedContent").Exists() {
			return llm.Thinking{Redacted: true, State: llm.State{Dialect: Name, Data: inner.Clone()}}
		}
	}
	return llm.Opaque{Kind: strings.Clone(k), State: llm.State{Dialect: Name, Data: v.Clone()}}
}
