package chat

import (
	"cmp"
	"slices"
	"strings"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// fieldsKind is the kind of opaque parts that hold members of their message.
const fieldsKind = "message"

// goesBack lists the kinds of opaque parts that are sent back.
var goesBack = []string{fieldsKind, "extra_content", "refusal"}

// assistant writes an assistant message, unless it is empty.
func (c *conversation) assistant(parts []llm.Part) error {
	text, list := c.content(parts, "")
	calls := hasCalls(parts)
	if text == "" && !list && !calls && !hasText(parts) && !hasFields(parts) && !c.reasons(parts) {
		return nil
	}
	c.open("assistant")
	c.out.Key("content")
	switch {
	case list:
		if err := c.list(parts); err != nil {
			return err
		}
	case text == "" && calls && !hasText(parts):
		c.out.Raw([]byte("null"))
	default:
		c.out.Str(text)
	}
	c.reasoning(parts, calls)
	if calls {
		c.out.Key("tool_calls")
		c.out.Open('[')
		for _, p := range parts {
			if call, ok := p.(llm.ToolCall); ok {
				c.call(call)
			}
		}
		c.out.Close(']')
	}
	c.fields(parts)
	c.out.Close('}')
	return nil
}

func (c *conversation) call(call llm.ToolCall) {
	c.out.Open('{')
	c.out.Key("id")
	c.out.Str(c.toolID(call.ID))
	c.out.Key("type")
	c.out.Str("function")
	var state wire.Value
	if call.State.For(Name, c.model) {
		state = call.State.Data
	}
	if state.Get("function") == nil {
		c.out.Key("function")
		c.out.Open('{')
		c.out.Key("name")
		c.out.Str(call.Name)
		c.out.Key("arguments")
		c.out.Str(arguments(call))
		c.out.Close('}')
	}
	c.members(state)
	c.out.Close('}')
}

// arguments returns a call's arguments as a JSON object, even if the model's were invalid.
func arguments(call llm.ToolCall) string {
	if call.Custom {
		return object("input", call.Arguments)
	}
	if strings.TrimSpace(call.Arguments) == "" {
		return "{}"
	}
	if v, err := wire.ParseJSON([]byte(call.Arguments)); err != nil || v.Kind() != '{' {
		return object("_raw", call.Arguments)
	}
	return call.Arguments
}

func object(key, text string) string {
	b := append([]byte(`{"`), key...)
	b = wire.AppendString(append(b, `":`...), text)
	return string(append(b, '}'))
}

// replays reports whether a thinking part is sent back. Readable reasoning that the server requires goes to all of the
// provider's models.
func (c *conversation) replays(p llm.Thinking) bool {
	if c.quirks.NoReplay || p.State.For(Name, c.model) {
		return !c.quirks.NoReplay
	}
	readable := p.State.Dialect == Name && wire.Value(p.State.Data).Kind() == '"'
	return c.quirks.ReasoningDue && readable && c.serves != nil && c.serves(p.State.Model)
}

// reasons reports whether any thinking is sent back.
func (c *conversation) reasons(parts []llm.Part) bool {
	return slices.ContainsFunc(parts, func(p llm.Part) bool {
		t, ok := p.(llm.Thinking)
		return ok && c.replays(t)
	})
}

// reasoning writes thinking as message members.
func (c *conversation) reasoning(parts []llm.Part, calls bool) {
	var member string
	var text strings.Builder
	whole := false
	for _, p := range parts {
		t, ok := p.(llm.Thinking)
		if !ok || !c.replays(t) {
			continue
		}
		data := wire.Value(t.State.Data)
		switch {
		case data.Kind() == '"':
			member = cmp.Or(c.quirks.Reasoning, data.Str())
			text.WriteString(t.Text)
		case data.Kind() == '{' && !isContentPart(data) && !whole:
			whole = true
			c.members(data)
		}
	}
	switch {
	case whole:
	case member != "":
		c.field(member, text.String())
	case calls && c.quirks.ReasoningDue:
		c.field(cmp.Or(c.quirks.Reasoning, "reasoning_content"), "")
	}
}

func (c *conversation) field(name, text string) {
	c.out.Buf = append(c.out.Buf, ',')
	c.out.Buf = wire.AppendString(c.out.Buf, name)
	c.out.Buf = append(c.out.Buf, ':')
	c.out.Str(text)
}

// members adds an object's members to the open object, which must not be empty.
func (c *conversation) members(object wire.Value) {
	for m := object.Members(); m.Next(); {
		c.out.Buf = append(c.out.Buf, ',')
		c.out.Buf = wire.AppendString(c.out.Buf, string(m.Key))
		c.out.Buf = append(c.out.Buf, ':')
		c.out.Raw(m.Value)
	}
}

// fields writes the message members that opaque parts hold.
func (c *conversation) fields(parts []llm.Part) {
	for _, p := range parts {
		if o, ok := p.(llm.Opaque); ok && isFields(o) && o.State.For(Name, c.model) {
			c.members(o.State.Data)
		}
	}
}

func isFields(o llm.Opaque) bool {
	return slices.Contains(goesBack, o.Kind) && wire.Value(o.State.Data).Kind() == '{'
}

// isContentPart reports whether state is a content part, an object with a type.
func isContentPart(data wire.Value) bool { return data.Get("type").Kind() == '"' }

func hasFields(parts []llm.Part) bool {
	return slices.ContainsFunc(parts, func(p llm.Part) bool {
		o, ok := p.(llm.Opaque)
		return ok && isFields(o)
	})
}

func hasCalls(parts []llm.Part) bool {
	return slices.ContainsFunc(parts, func(p llm.Part) bool { _, ok := p.(llm.ToolCall); return ok })
}

func hasText(parts []llm.Part) bool {
	return slices.ContainsFunc(parts, func(p llm.Part) bool { _, ok := p.(llm.Text); return ok })
}

func holdsResults(parts []llm.Part) bool {
	return slices.ContainsFunc(parts, func(p llm.Part) bool { _, ok := p.(llm.ToolResult); return ok })
}
