package gemini

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/reins-agent/reins/internal/wire"
)

// streamedCall is a function call whose arguments arrive in pieces, each with its JSON path. Vertex AI sends
// them on request.
type streamedCall struct {
	index int
	size  int
	root  node
}

// node is one argument value: a scalar, a string that may grow, or a container with its children in order of arrival.
type node struct {
	scalar   string
	text     []byte
	isText   bool
	isArray  bool
	keys     []string
	children []*node
	byKey    map[string]int
}

// nodeCost approximates a node's memory without its content.
const nodeCost = 512

// maxPath limits the depth of arguments, and so the stack that writing them needs.
const maxPath = 200

func (d *decoder) streamedCall(v, sig wire.Value) error {
	if name := v.Get("name"); name != nil || d.streamed == nil {
		d.endStreamed()
		d.streamed = &streamedCall{index: d.beginCall(v.Get("id").Str(), name.Str(), sig)}
	}
	for it := v.Get("partialArgs").Elements(); it.Next(); {
		before := d.streamed.size
		if err := d.streamed.add(it.Value); err != nil {
			return err
		}
		if !d.a.Hold(d.streamed.size - before) {
			return nil
		}
	}
	if !v.Get("willContinue").Bool() {
		d.endStreamed()
	}
	return nil
}

func (d *decoder) endStreamed() {
	if d.streamed == nil {
		return
	}
	var e wire.Encoder
	d.streamed.root.write(&e)
	d.a.Delta(d.streamed.index, string(e.Buf))
	d.a.End(d.streamed.index)
	d.streamed = nil
}

// add applies one piece.
func (c *streamedCall) add(v wire.Value) error {
	steps, err := pathSteps(v.Get("jsonPath").Str())
	if err != nil {
		return err
	}
	n := &c.root
	for _, s := range steps {
		n = c.child(n, s)
	}
	for m := v.Members(); m.Next(); {
		switch string(m.Key) {
		case "stringValue":
			n.isText = true
			n.text = append(n.text, m.Value.Str()...)
			c.size += len(m.Value)
		case "numberValue", "boolValue":
			n.scalar = string(m.Value)
			c.size += len(m.Value)
		case "nullValue":
			n.scalar = "null"
		}
	}
	return nil
}

// child returns the node one step below n. It creates a missing node.
func (c *streamedCall) child(n *node, s step) *node {
	if i, ok := n.byKey[s.key]; ok {
		return n.children[i]
	}
	c.size += nodeCost + len(s.key)
	if n.byKey == nil {
		n.byKey = make(map[string]int)
	}
	n.isArray = s.index
	n.byKey[s.key] = len(n.children)
	n.keys = append(n.keys, s.key)
	n.children = append(n.children, new(node))
	return n.children[len(n.children)-1]
}

func (n *node) write(e *wire.Encoder) {
	switch {
	case n.isText:
		e.Str(string(n.text))
	case n.scalar != "":
		e.Raw([]byte(n.scalar))
	case n.isArray:
		e.Open('[')
		for _, c := range n.children {
			c.write(e)
		}
		e.Close(']')
	default:
		e.Open('{')
		for i, c := range n.children {
			e.Str(n.keys[i])
			e.Buf = append(e.Buf, ':')
			c.write(e)
		}
		e.Close('}')
	}
}

// step is one step in a path: a member name or an index.
type step struct {
	key   string
	index bool
}

// pathSteps reads a path such as $.files[0].name or $['a b'].
func pathSteps(path string) ([]step, error) {
	malformed := fmt.Errorf("invalid path %q in a function call", path)
	rest, ok := strings.CutPrefix(path, "$")
	if !ok {
		return nil, malformed
	}
	var steps []step
	for rest != "" {
		var s step
		switch rest[0] {
		case '.':
			end := strings.IndexAny(rest[1:], ".[") + 1
			if end == 0 {
				end = len(rest)
			}
			s.key, rest = rest[1:end], rest[end:]
		case '[':
			s, rest, ok = bracketStep(rest)
		default:
			ok = false
		}
		if !ok || len(steps) == maxPath {
			return nil, malformed
		}
		steps = append(steps, s)
	}
	return steps, nil
}

// bracketStep reads [0], ['name'] or ["name"].
func bracketStep(path string) (s step, rest string, ok bool) {
	if len(path) > 2 && (path[1] == '\'' || path[1] == '"') {
		var key strings.Builder
		for i := 2; i < len(path); i++ {
			switch {
			case path[i] == '\\' && i+1 < len(path):
				i++
				key.WriteByte(path[i])
			case path[i] == path[1]:
				rest, ok = strings.CutPrefix(path[i+1:], "]")
				return step{key: key.String()}, rest, ok
			default:
				key.WriteByte(path[i])
			}
		}
		return step{}, "", false
	}
	inner, rest, ok := strings.Cut(path[1:], "]")
	if _, err := strconv.ParseUint(inner, 10, 32); err != nil {
		return step{}, "", false
	}
	return step{key: inner, index: true}, rest, ok
}
