package llmtest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reins-agent/reins/llm"
)

// refuses returns the first request item that contains the script's poison, or nil.
func (s *Script) refuses(r *llm.Request) *llm.Item {
	if s.Poison == "" {
		return nil
	}
	for i, m := range r.Messages {
		for j, p := range m.Parts {
			if holds(p, s.Poison) {
				return &llm.Item{Message: i, Part: j, Inner: -1}
			}
			if res, ok := p.(llm.ToolResult); ok {
				inner := slices.IndexFunc(res.Parts, func(p llm.Part) bool { return holds(p, s.Poison) })
				if inner >= 0 {
					return &llm.Item{Message: i, Part: j, Inner: inner}
				}
			}
		}
	}
	return nil
}

// holds reports whether a part contains the text or bytes.
func holds(p llm.Part, poison string) bool {
	switch p := p.(type) {
	case llm.Text:
		return strings.Contains(p.Text, poison)
	case llm.ToolCall:
		return strings.Contains(p.Arguments, poison)
	case llm.Image:
		return bytes.Contains(p.Data, []byte(poison))
	case llm.Document:
		return bytes.Contains(p.Data, []byte(poison))
	case llm.Audio:
		return bytes.Contains(p.Data, []byte(poison))
	}
	return false
}

// poisonError returns the error for a call with poison in memory.
func (s *Script) poisonError(at *llm.Item) error {
	e := llm.Errorf(llm.ErrInvalidRequest, s.Name(), "message %d, part %d: the content cannot be processed", at.Message, at.Part)
	e.Status = 400
	e.Item = at
	e.UsageComplete = true
	return e
}

// poisoned returns the path, as names and indexes, to the first part in a request body that contains poison, or nil.
// Files are compared whole, in base64.
func poisoned(body []byte, list, poison string) []any {
	var request map[string]any
	if poison == "" || json.Unmarshal(body, &request) != nil {
		return nil
	}
	path := pathTo([]any{list}, request[list], poison, base64.StdEncoding.EncodeToString([]byte(poison)))
	for len(path) > 0 {
		if _, isIndex := path[len(path)-1].(int); isIndex {
			break
		}
		path = path[:len(path)-1]
	}
	return path
}

// pathTo returns the path to the first string that contains any text.
func pathTo(path []any, v any, texts ...string) []any {
	switch v := v.(type) {
	case string:
		if slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(v, s) }) {
			return path
		}
	case []any:
		for i, e := range v {
			if found := pathTo(append(slices.Clip(path), i), e, texts...); found != nil {
				return found
			}
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if found := pathTo(append(slices.Clip(path), k), v[k], texts...); found != nil {
				return found
			}
		}
	}
	return nil
}

// bracketed formats a path like OpenAI and Google: messages[2].content[0].
func bracketed(path []any) string {
	var b strings.Builder
	for i, step := range path {
		switch step := step.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", step)
		case string:
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(step)
		}
	}
	return b.String()
}

// dotted formats a path like Anthropic: messages.2.content.0.
func dotted(path []any) string {
	words := make([]string, len(path))
	for i, step := range path {
		words[i] = fmt.Sprint(step)
	}
	return strings.Join(words, ".")
}
