package openai

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// itemEncoder writes the input items of one conversation, append-only.
type itemEncoder struct {
	wire.Encoder
	history wire.History
	model   string
	form    form
	started bool            // a message that is not a system message was written
	custom  map[string]bool // ids of custom tool calls
	lost    map[string]bool // ids of opaque calls that were omitted

	open    bool       // a message item is open
	message wire.Value // additional members for the open message
	fates   []fate     // fates of the current message's parts
}

// input encodes the messages.
func (d *dialect) input(r *llm.Request, form form) (items []byte, err error) {
	r.Cache.Encoder(Name, func() any { return new(itemEncoder) }, func(encoder any) {
		items, err = encoder.(*itemEncoder).resume(r, form)
	})
	return items, err
}

// resume encodes the messages of r that are new. The bytes it returns never change: later requests append
// after them or use a new buffer.
func (e *itemEncoder) resume(r *llm.Request, form form) ([]byte, error) {
	key := fmt.Sprintf("%s\x00%t %t %t", r.Model, form.stored, form.late, form.inline)
	known := e.history.Pending(key, r.Messages)
	if known == 0 {
		*e = itemEncoder{history: e.history, model: r.Model, form: form}
	}
	items, err := e.encode(r.Messages[known:])
	if err != nil {
		e.history.Forget()
	}
	return items, err
}

func (e *itemEncoder) encode(messages []llm.Message) ([]byte, error) {
	if e.Buf == nil {
		e.Buf = make([]byte, 0, room(messages))
	}
	for _, m := range messages {
		if m.Role != llm.RoleSystem {
			e.started = true
		} else if !inPlace(m) {
			m = e.late(m)
		}
		if err := e.parts(m); err != nil {
			return nil, err
		}
	}
	return e.Buf[:len(e.Buf):len(e.Buf)], nil
}

// late returns the parts that stay in place of a system message: everything, as a developer message, or only tool
// changes.
func (e *itemEncoder) late(m llm.Message) llm.Message {
	m.Role = llm.RoleDeveloper
	if e.form.late && e.started {
		return m
	}
	changes := llm.Message{Role: llm.RoleDeveloper}
	for _, p := range m.Parts {
		if _, ok := p.(llm.ToolChange); ok {
			changes.Parts = append(changes.Parts, p)
		}
	}
	return changes
}

// room estimates the messages' encoded size, so that the buffer need not grow.
func room(messages []llm.Message) int {
	n := 64
	for _, m := range messages {
		for _, p := range m.Parts {
			n += 160
			switch p := p.(type) {
			case llm.Text:
				n += len(p.Text) + len(p.State.Data)
			case llm.Thinking:
				n += len(p.State.Data)
			case llm.ToolCall:
				n += len(p.Arguments) + len(p.State.Data)
			case llm.ToolResult:
				for _, p := range p.Parts {
					if t, ok := p.(llm.Text); ok {
						n += len(t.Text)
					}
				}
			case llm.Opaque:
				n += len(p.State.Data)
			}
		}
	}
	return n + n/8
}

// parts writes the items of one message. Consecutive content parts share a message item.
func (e *itemEncoder) parts(m llm.Message) error {
	e.decide(m.Parts)
	for i, p := range m.Parts {
		whole := e.fates[i] == whole
		switch p := p.(type) {
		case llm.Thinking:
			if whole {
				e.end()
				e.Raw(unlinked(p.State.Data))
			}
		case llm.ToolCall:
			e.end()
			e.call(p, whole)
		case llm.ToolResult:
			e.end()
			if err := e.result(p); err != nil {
				return err
			}
		case llm.Opaque:
			e.opaque(m.Role, p, whole)
		case llm.ToolChange:
			if err := e.change(p); err != nil {
				return err
			}
		default:
			if silent(p) && len(m.Parts) > 1 {
				continue
			}
			if err := e.content(m.Role, p, whole); err != nil {
				return err
			}
		}
	}
	e.end()
	return nil
}

// change writes the tools that were added here.
func (e *itemEncoder) change(c llm.ToolChange) error {
	if !e.form.inline || !slices.ContainsFunc(c.Add, usable) {
		return nil
	}
	e.end()
	e.Open('{')
	e.Field("type", "additional_tools")
	e.Field("role", "developer")
	e.Key("tools")
	if err := toolList(&e.Encoder, c.Add); err != nil {
		return err
	}
	e.Close('}')
	return nil
}

// silent reports whether a part is empty text, which is omitted if there are other parts.
func silent(p llm.Part) bool {
	t, ok := p.(llm.Text)
	return ok && t.Text == "" && len(t.State.Data) == 0
}

// replays reports whether a reasoning item can be sent back: this model made it, and it has content or the
// provider stored it.
func (e *itemEncoder) replays(t llm.Thinking) bool {
	if !t.State.For(Name, e.model) {
		return false
	}
	item, err := wire.ParseJSON(t.State.Data)
	if err != nil || item.Kind() != '{' {
		return false
	}
	for m := item.Members(); m.Next() && !e.form.stored; {
		switch string(m.Key) {
		case "encrypted_content":
			if m.Value.Exists() {
				return true
			}
		case "content":
			if len(m.Value) > len("[]") && m.Value.Kind() == '[' {
				return true
			}
		}
	}
	return e.form.stored
}

// opaque writes an item or content part that is not modelled, unless it is omitted.
func (e *itemEncoder) opaque(role llm.Role, o llm.Opaque, whole bool) {
	if o.State.Dialect != Name {
		return
	}
	item, err := wire.ParseJSON(o.State.Data)
	if err != nil || item.Kind() != '{' {
		return
	}
	id := item.Get("call_id").Str()
	if !o.State.For(Name, e.model) || !whole {
		if id != "" {
			e.lost = mark(e.lost, id)
		}
		return
	}
	switch {
	case strings.HasPrefix(o.Kind, contentKind):
		e.begin(role, nil)
		e.Raw(item)
	case id == "" || !e.lost[id]:
		e.end()
		e.Raw(unlinked(item))
	}
}

func mark(set map[string]bool, id string) map[string]bool {
	if set == nil {
		set = make(map[string]bool)
	}
	set[id] = true
	return set
}

// call writes a tool call, without its id if it is not whole.
func (e *itemEncoder) call(c llm.ToolCall, whole bool) {
	kind := "function_call"
	key := "arguments"
	text := c.Arguments
	if c.Custom {
		kind, key = "custom_tool_call", "input"
		e.custom = mark(e.custom, c.ID)
	} else {
		text = arguments(text)
	}
	e.Open('{')
	e.Field("type", kind)
	e.Field("call_id", sentID(c.ID))
	e.Field("name", c.Name)
	e.Field(key, text)
	if c.State.For(Name, e.model) {
		rest, _ := wire.ParseJSON(c.State.Data)
		for m := rest.Members(); m.Next(); {
			if key := string(m.Key); key != afterKey && (whole || key != "id") {
				e.Member(m.Key, m.Value)
			}
		}
	}
	e.Close('}')
}

// sentID returns a call ID in the form that the API requires: not empty, at most 64 characters.
func sentID(id string) string {
	switch {
	case id == "":
		return "call"
	case len(id) > 64:
		return "call_" + wire.Digest(id)
	}
	return id
}

// arguments returns arguments as a JSON object, because some servers parse them.
func arguments(text string) string {
	if strings.TrimSpace(text) == "" {
		return "{}"
	}
	if v, err := wire.ParseJSON([]byte(text)); err == nil && v.Kind() == '{' {
		return text
	}
	return string(append(wire.AppendString([]byte(`{"_raw":`), text), '}'))
}

// rest writes an object's members into the open object.
func (e *itemEncoder) rest(object wire.Value) {
	for m := object.Members(); m.Next(); {
		e.Member(m.Key, m.Value)
	}
}

func (e *itemEncoder) result(r llm.ToolResult) error {
	kind := "function_call_output"
	if r.Custom || e.custom[r.ID] {
		kind = "custom_tool_call_output"
	}
	e.Open('{')
	e.Field("type", kind)
	e.Field("call_id", sentID(r.ID))
	e.Key("output")
	if err := e.output(r); err != nil {
		return err
	}
	if t, ok := first(r.Parts).(llm.Text); ok {
		rest, _ := split(t.State, e.model)
		e.rest(rest)
	}
	e.Close('}')
	return nil
}

func first(parts []llm.Part) llm.Part {
	if len(parts) == 0 {
		return nil
	}
	return parts[0]
}

// output writes a result as a string if it is one text, else as a list.
func (e *itemEncoder) output(r llm.ToolResult) error {
	parts := r.Parts
	if r.IsError {
		parts = asError(parts)
	}
	if len(parts) == 0 {
		e.Str("")
		return nil
	}
	if t, ok := parts[0].(llm.Text); ok && len(parts) == 1 {
		if _, rest := split(t.State, e.model); rest == nil {
			e.Str(t.Text)
			return nil
		}
	}
	e.Open('[')
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Opaque:
			if p.State.For(Name, e.model) && strings.HasPrefix(p.Kind, contentKind) {
				e.Raw(p.State.Data)
			}
		default:
			if err := e.contentPart(llm.RoleTool, p, e.partOf(p)); err != nil {
				return err
			}
		}
	}
	e.Close(']')
	return nil
}

// asError makes a result start with "Error".
func asError(parts []llm.Part) []llm.Part {
	const sign = "Error"
	t, ok := first(parts).(llm.Text)
	if !ok {
		return append([]llm.Part{llm.Text{Text: sign}}, parts...)
	}
	if len(t.Text) >= len(sign) && strings.EqualFold(t.Text[:len(sign)], sign) {
		return parts
	}
	t.Text = strings.TrimSuffix(sign+": "+t.Text, ": ")
	return append([]llm.Part{t}, parts[1:]...)
}
