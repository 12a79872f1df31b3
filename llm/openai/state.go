package openai

import (
	"slices"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// A Text's State has two objects: "message" holds the members of its message item, and "part" the members of its
// content part, both without the members that llm.Message represents. Texts in one message have the same "message". A
// ToolCall's State holds its item's other members. The State of Thinking and Opaque is the whole item, or the whole
// content part for an Opaque whose Kind starts with contentKind. All but content parts may also have a link to the
// reasoning before them.

// contentKind is the Kind prefix for an Opaque that is a content part, not an item.
const contentKind = "content."

// messageRest returns a message item's members except role and content.
func messageRest(item wire.Value) []byte {
	return wire.Rest(item, func(key string, v wire.Value) bool {
		return key == "role" || key == "content" || key == "type" && v.Is("message")
	})
}

// partRest returns a content part's members except its text.
func partRest(part wire.Value) []byte {
	return wire.Rest(part, func(key string, v wire.Value) bool {
		switch key {
		case "text", "refusal":
			return true
		case "type":
			return !v.Is("refusal")
		}
		return false
	})
}

// answerRest is partRest for an answer. It omits empty members and log probabilities.
func answerRest(part wire.Value) []byte {
	return wire.Rest(partRest(part), func(key string, v wire.Value) bool {
		return key == "logprobs" || !v.Exists() || string(v) == "[]"
	})
}

// callRest returns the call item members that ToolCall has no field for.
func callRest(item wire.Value) []byte {
	return wire.Rest(item, func(key string, _ wire.Value) bool {
		return slices.Contains([]string{"type", "call_id", "name", "arguments", "input"}, key)
	})
}

// callState returns a call's state: its rest and a link.
func callState(item wire.Value, after string) []byte {
	rest := callRest(item)
	if after == "" {
		return rest
	}
	var e wire.Encoder
	e.Open('{')
	for m := wire.Value(rest).Members(); m.Next(); {
		e.Member(m.Key, m.Value)
	}
	e.StrField(afterKey, after)
	e.Close('}')
	return e.Buf
}

// withoutID returns the message members that an item without an ID can have.
func withoutID(message wire.Value) wire.Value {
	return wire.Rest(message, func(key string, _ wire.Value) bool { return key == "id" || key == "status" })
}

// textState joins the two rests and a link, or returns nil if all are empty.
func textState(message, part []byte, after string) []byte {
	if message == nil && part == nil && after == "" {
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
	e.StrField(afterKey, after)
	e.Close('}')
	return e.Buf
}

// split is the inverse of textState.
func split(s llm.State, model string) (message, part wire.Value) {
	if !s.For(Name, model) {
		return nil, nil
	}
	v, err := wire.ParseJSON(s.Data)
	if err != nil {
		return nil, nil
	}
	for m := v.Members(); m.Next(); {
		switch string(m.Key) {
		case "message":
			message = m.Value
		case "part":
			part = m.Value
		}
	}
	return message, part
}

// inPlace reports whether a system message was an input item and stays one.
func inPlace(m llm.Message) bool {
	for _, p := range m.Parts {
		if t, ok := p.(llm.Text); ok && t.State.Dialect == Name {
			message, _ := split(t.State, t.State.Model)
			return message != nil
		}
	}
	return false
}
