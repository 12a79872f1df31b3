package chat

import (
	"strconv"

	"github.com/reins-agent/reins/internal/wire"
)

// call decodes a tool call, or a piece of one.
func (s *stream) call(v, chunk wire.Value) {
	var id, name, args, extra wire.Value
	index := int64(-1)
	var fields []byte
	for m := v.Members(); m.Next(); {
		switch string(m.Key) {
		case "index":
			if m.Value.Kind() == '0' {
				index = m.Value.Int()
			}
		case "id":
			id = m.Value
		case "function":
			name, args = m.Value.Get("name"), m.Value.Get("arguments")
		case "custom":
			extra = m.Value
		case "type":
		default:
			fields = appendMember(fields, m.Key, m.Value)
		}
	}
	custom := name == nil && extra.Kind() == '{'
	if custom {
		name, args = extra.Get("name"), extra.Get("input")
	}
	c := s.find(index, id.Str(), name.Str())
	if c == nil {
		c = s.begin(index, id.Str(), name.Str(), custom, chunk)
	} else if c.name == "" && len(name) > 2 || c.made && len(id) > 2 {
		s.rename(c, id.Str(), name.Str())
	}
	if len(fields) > 0 {
		s.a.SetState(c.part, s.a.State(append(fields, '}')))
	}
	if args.Kind() == '"' {
		s.a.Delta(c.part, args.Str())
	} else if args.Exists() {
		s.a.Delta(c.part, string(args))
	}
}

// appendMember adds a member to an object without its closing brace.
func appendMember(object, key []byte, v wire.Value) []byte {
	if len(object) == 0 {
		object = append(object, '{')
	} else {
		object = append(object, ',')
	}
	object = append(wire.AppendString(object, string(key)), ':')
	return append(object, v...)
}

// find returns the call that a piece belongs to, or nil for a new call. Servers identify calls by index, by id, by
// neither, or give every call the same index.
func (s *stream) find(index int64, id, name string) *call {
	for i := len(s.calls) - 1; i >= 0; i-- {
		c := &s.calls[i]
		switch {
		case index >= 0 && c.index >= 0 && c.index != index:
		case id != "" && !c.made && c.id != "":
			if c.id == id || name == "" {
				return c
			}
		case index >= 0:
			return c
		case name == "":
			return c
		}
	}
	return nil
}

func (s *stream) begin(index int64, id, name string, custom bool, chunk wire.Value) *call {
	s.flush()
	s.endText()
	s.endThinking()
	c := call{index: index, id: id, name: name}
	if id == "" || s.taken(id) {
		c.id, c.made = s.makeID(chunk), true
	}
	c.part = s.a.BeginCall(c.id, name, custom)
	s.calls = append(s.calls, c)
	return &s.calls[len(s.calls)-1]
}

// rename sets an id or a name that arrived late.
func (s *stream) rename(c *call, id, name string) {
	if c.made && id != "" && !s.taken(id) {
		c.id, c.made = id, false
	}
	if c.name == "" {
		c.name = name
	}
	s.a.SetCall(c.part, c.id, c.name)
}

func (s *stream) taken(id string) bool {
	for _, c := range s.calls {
		if c.id == id {
			return true
		}
	}
	return false
}

// makeID returns an id for a call without one. It depends only on the answer, so decoding it again gives the same id.
func (s *stream) makeID(chunk wire.Value) string {
	n := strconv.Itoa(len(s.calls))
	return "call_" + wire.Digest(string(chunk)+n) + n
}

// function decodes a call in the older form. An answer has at most one.
func (s *stream) function(v, chunk wire.Value) {
	name, args := v.Get("name"), v.Get("arguments")
	if s.legacy < 0 {
		if name.Str() == "" && args.Str() == "" {
			return
		}
		s.legacy = s.begin(-2, "", name.Str(), false, chunk).part
	}
	s.a.Delta(s.legacy, args.Str())
}
