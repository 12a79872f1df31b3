package openai

import (
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/wire"
)

// The State of a Text is an object of two objects: "message" holds the members of the message item
// it stands in, and "part" those of the content part it is, in both cases without what the unified
// message says already. Texts of one message have the same "message". The State of a ToolCall is
// the remaining members of its item. That of Thinking and Opaque is the whole item, or the whole
// content part for an Opaque whose Kind starts with contentKind.

// contentKind marks an Opaque that is a content part and not an item.
const contentKind = "content."

// remaining writes the members of v but for those named, as an object; nil if there are none.
func remaining(v wire.Value, skip func(key string, value wire.Value) bool) []byte {
	var e wire.Encoder
	for m := v.Members(); m.Next(); {
		if skip(string(m.Key), m.Value) {
			continue
		}
		if e.Buf == nil {
			e.Open('{')
		}
		member(&e, m.Key, m.Value)
	}
	if e.Buf != nil {
		e.Close('}')
	}
	return e.Buf
}

// messageRest is what a message item says beyond role and content.
func messageRest(item wire.Value) []byte {
	return remaining(item, func(key string, v wire.Value) bool {
		return key == "role" || key == "content" || key == "type" && v.Is("message")
	})
}

// partRest is what a content part says beyond its text.
func partRest(part wire.Value) []byte {
	return remaining(part, func(key string, v wire.Value) bool {
		switch key {
		case "text", "refusal":
			return true
		case "type":
			return !v.Is("refusal")
		}
		return false
	})
}

// answerRest is partRest of an answer, where empty lists say nothing and log probabilities are
// not wanted back.
func answerRest(part wire.Value) []byte {
	return remaining(part, func(key string, v wire.Value) bool {
		switch key {
		case "text", "refusal", "logprobs":
			return true
		case "type":
			return !v.Is("refusal")
		}
		return !v.Exists() || string(v) == "[]"
	})
}

// callRest is what a call's item says beyond the call.
func callRest(item wire.Value) []byte {
	return remaining(item, func(key string, v wire.Value) bool {
		switch key {
		case "type", "call_id", "name", "arguments", "input":
			return true
		}
		return false
	})
}

// resultRest is what a result's item says beyond the result.
func resultRest(item wire.Value) []byte {
	return remaining(item, func(key string, v wire.Value) bool {
		return key == "type" || key == "call_id" || key == "output"
	})
}

// textState joins the two rests; nil if there is nothing in them.
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

// inPlace reports whether a system message was an input item and is to stay one.
func inPlace(m llm.Message) bool {
	for _, p := range m.Parts {
		if t, ok := p.(llm.Text); ok && t.State.Dialect == Name {
			message, _ := split(t.State, t.State.Model)
			return message != nil
		}
	}
	return false
}
