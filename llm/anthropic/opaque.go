package anthropic

import (
	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// opaque is a block that is not modelled, or redacted thinking.
type opaque struct {
	kind    string
	members []member
	partial []byte // input deltas
}

// member is a block member: JSON, or a string that grows by deltas.
type member struct {
	key         string
	value, text []byte
}

func newOpaque(v wire.Value) *opaque {
	o := &opaque{kind: v.Get("type").Str()}
	for m := v.Members(); m.Next(); {
		o.members = append(o.members, member{key: string(m.Key), value: m.Value.Clone()})
	}
	return o
}

// add applies a delta: strings are appended, other members replaced, citations collected, and partial JSON becomes the
// input.
func (o *opaque) add(delta wire.Value) {
	for it := delta.Members(); it.Next(); {
		switch key := string(it.Key); {
		case key == "type":
		case key == "partial_json":
			o.partial = append(o.partial, it.Value.Str()...)
		case key == "citation":
			m := o.member("citations")
			if n := len(m.value); wire.Value(m.value).Kind() != '[' || string(m.value) == "[]" {
				m.value = append([]byte{'['}, it.Value...)
			} else {
				m.value = append(append(m.value[:n-1], ','), it.Value...)
			}
			m.value = append(m.value, ']')
		case it.Value.Kind() == '"':
			m := o.member(key)
			if m.value != nil {
				m.text, m.value = []byte(wire.Value(m.value).Str()), nil
			}
			m.text = append(m.text, it.Value.Str()...)
		default:
			o.member(key).value = it.Value.Clone()
		}
	}
}

// member returns the member named key. It adds one if necessary.
func (o *opaque) member(key string) *member {
	for i := range o.members {
		if o.members[i].key == key {
			return &o.members[i]
		}
	}
	o.members = append(o.members, member{key: key})
	return &o.members[len(o.members)-1]
}

// part returns the finished block.
func (o *opaque) part(a *wire.Assembler) llm.Part {
	if in, err := wire.ParseJSON(o.partial); err == nil && in.Kind() == '{' {
		o.member("input").value = in
	}
	var e wire.Encoder
	e.Open('{')
	for _, m := range o.members {
		if m.value == nil {
			m.value = wire.AppendString(nil, string(m.text))
		}
		e.Member([]byte(m.key), m.value)
	}
	e.Close('}')
	if o.kind == "redacted_thinking" {
		return llm.Thinking{Redacted: true, State: a.State(extras(e.Buf, "type"))}
	}
	return llm.Opaque{Kind: o.kind, State: a.State(e.Buf)}
}
