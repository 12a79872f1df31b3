package chat

import (
	"bytes"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// reason adds to the thinking. Member is the message member that contains more, or "" if it is in the text.
func (s *stream) reason(member, text string) {
	if text == "" {
		return
	}
	if s.thinking < 0 {
		s.endText()
		s.thinking = s.a.BeginThinking()
		s.member = member
	}
	s.a.Delta(s.thinking, text)
}

func (s *stream) endText() {
	if s.text >= 0 {
		s.a.End(s.text)
		s.text = -1
	}
}

// endThinking ends the thinking when another part starts. With details it stays open, because some arrive last.
func (s *stream) endThinking() {
	if s.thinking >= 0 && len(s.details.items) == 0 {
		s.a.SetState(s.thinking, s.state())
		s.a.End(s.thinking)
		s.thinking = -1
	}
}

// state returns the open thinking part's state.
func (s *stream) state() llm.State {
	text := s.a.SoFar(s.thinking)
	var b []byte
	switch {
	case len(s.details.items) > 0:
		b = append(b, '{')
		if s.thinking >= 0 && s.member != "reasoning_details" {
			b = append(wire.AppendString(b, s.member), ':')
			b = append(wire.AppendString(b, text), ',')
		}
		b = append(b, `"reasoning_details":`...)
		b = append(s.details.append(b), '}')
	case s.mistral:
		b = append(b, `{"type":"thinking","thinking":[{"type":"text","text":`...)
		b = append(wire.AppendString(b, text), `}],"closed":true}`...)
	case s.member != "": // thinking from the text is not sent back
		b = wire.AppendString(b, s.member)
	}
	return s.a.State(b)
}

// detail decodes reasoning_details. Their text is the thinking if no other member has it. Servers repeat summaries in the
// other member.
func (s *stream) detail(v wire.Value, reasoned bool) {
	for it := v.Elements(); it.Next(); {
		if !reasoned {
			s.reason("reasoning_details", it.Value.Get("text").Str())
		}
		if !s.a.Hold(s.details.add(it.Value)) {
			return
		}
	}
}

// memberCost approximates a member's memory without its content. It also limits the time to find a member.
const memberCost = 1024

// details collects reasoning details and joins their pieces.
type details struct{ items []detail }

type detail struct {
	kind, index string
	members     []member
}

type member struct {
	key  string
	raw  []byte // the value, unless grow is set
	text []byte
	grow bool
}

// add adds a detail, or a piece of one, and returns its memory in bytes. A piece has the same type and index as the
// previous detail. Encrypted data arrives whole.
func (d *details) add(v wire.Value) (size int) {
	kind, index := v.Get("type").Str(), string(v.Get("index"))
	var to *detail
	if n := len(d.items); n > 0 && d.items[n-1].kind == kind && d.items[n-1].index == index && kind != "reasoning.encrypted" {
		to = &d.items[n-1]
	} else {
		d.items = append(d.items, detail{kind: kind, index: index})
		to = &d.items[n]
		size = memberCost
	}
	for m := v.Members(); m.Next(); {
		size += to.set(string(m.Key), m.Value)
	}
	return size
}

// set sets a member, or adds to its text. It returns how many bytes that needs.
func (d *detail) set(key string, v wire.Value) (size int) {
	grow := (key == "text" || key == "summary") && v.Kind() == '"'
	for i := range d.members {
		m := &d.members[i]
		switch {
		case m.key != key:
			continue
		case grow && m.grow:
			m.text = append(m.text, v.Str()...)
			return len(v)
		case v.Exists():
			size = max(0, len(v)-len(m.raw))
			m.raw, m.grow = bytes.Clone(v), false
		}
		return size
	}
	m := member{key: key, grow: grow}
	if grow {
		m.text = []byte(v.Str())
	} else {
		m.raw = bytes.Clone(v)
	}
	d.members = append(d.members, m)
	return memberCost + len(key) + len(v)
}

// append encodes the details as a JSON array.
func (d *details) append(b []byte) []byte {
	b = append(b, '[')
	for i, item := range d.items {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '{')
		for j, m := range item.members {
			if j > 0 {
				b = append(b, ',')
			}
			b = append(wire.AppendString(b, m.key), ':')
			if m.grow {
				b = wire.AppendString(b, string(m.text))
			} else {
				b = append(b, m.raw...)
			}
		}
		b = append(b, '}')
	}
	return append(b, ']')
}
