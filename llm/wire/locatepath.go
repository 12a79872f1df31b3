package wire

import (
	"slices"
	"strconv"
	"strings"
)

// path is a place in a request body as an error names it. The first step is a member of the body
// and the second an index.
type path []step

// step is a member's name, or an index if the name is empty.
type step struct {
	name  string
	index int
}

var (
	// pathIn finds paths in the forms that providers write them: messages.3.content.0.image,
	// messages.[3].role, input[5].content[1], contents[3].parts[1].inline_data, and, in lists of
	// what a validator found, "messages", 3, "content".
	pathIn = lazily(`\b(?:messages|input|contents|system|system_instruction|systemInstruction)` +
		`(?:\.?\[\d{1,9}\]|\.\d{1,9}\b|['"\\]+, ?\d{1,9}\b)` +
		`(?:\.?\[\d{1,9}\]|\.\d{1,9}\b|\.[A-Za-z_]\w{0,63}|['"\\]*, ?\d{1,9}\b|['"\\]*, ?['"\\]+[A-Za-z_]\w{0,63})*`)
	stepIn = lazily(`\d+|[A-Za-z_]\w*`)
)

// maxPaths bounds how many paths of a text are looked at.
const maxPaths = 8

func paths(text string) (found []path) {
	for _, s := range pathIn().FindAllString(text, maxPaths) {
		var p path
		for _, word := range stepIn().FindAllString(s, 32) {
			n, err := strconv.Atoi(word)
			if err == nil {
				p = append(p, step{index: n})
			} else {
				p = append(p, step{name: word})
			}
		}
		found = append(found, p)
	}
	return found
}

// follow goes along a path as far as it leads and returns the last list element on it that has
// tags. Exact reports whether that is a part of an item, and not an item. The value is nil if the
// path leads nowhere, or looks like one of another protocol, to which a gateway passed the request on.
func (m *tagMap) follow(p path) (at Value, exact bool) {
	v := m.body
	depth := 0
	for i, s := range p {
		if s.name == "" {
			if v = element(v, s.index); v == nil {
				return nil, false
			}
			if depth++; len(m.tags(v)) > 0 {
				at, exact = v, depth > 1
			}
			continue
		}
		next := lookUp(v, s.name)
		switch {
		case next != nil:
			v = next
		case v.Get("type").Is(s.name):
			// Anthropic names the type of a block where others name its members.
		case i < len(p)-1 && blockType(s.name):
			return nil, false
		default:
			return at, exact
		}
	}
	return at, exact
}

// blockType reports whether a step is the type of a content block in Anthropic's paths.
func blockType(name string) bool {
	return slices.Contains([]string{"text", "image", "document", "thinking", "redacted_thinking", "tool_use", "tool_result"}, name)
}

func element(v Value, index int) Value {
	it := v.Elements()
	for n := 0; it.Next(); n++ {
		if n == index {
			return it.Value
		}
	}
	return nil
}

// lookUp is the member with this name, in Google's case also if it is written_like_this there and
// likeThis here.
func lookUp(v Value, name string) Value {
	if found := v.Get(name); found != nil {
		return found
	}
	fold := func(s string) string { return strings.ToLower(strings.ReplaceAll(s, "_", "")) }
	for m := v.Members(); m.Next(); {
		if fold(string(m.Key)) == fold(name) {
			return m.Value
		}
	}
	return nil
}
