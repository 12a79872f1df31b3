package wire

import (
	"slices"
	"strconv"
	"strings"
)

var (
	wordIn     = lazily(`[A-Za-z0-9_|][A-Za-z0-9_|.:\-]{3,199}`)
	positionIn = lazily("function call `?(?:default_api:)?([A-Za-z0-9_.:\\-]{1,128})`?\\s*, position (\\d{1,9})")
)

// maxWords bounds how many words of an error are looked up as ids.
const maxWords = 200

// idWords lists the words of an error that have the look of an id.
func idWords(message string) (words []string) {
	for _, w := range wordIn().FindAllString(message, maxWords) {
		if w = strings.TrimRight(w, ".:-"); strings.ContainsAny(w, "_-|0123456789") {
			words = append(words, w)
		}
	}
	return words
}

// position reads which function call of which content Gemini misses a signature in. It counts
// contents from 1.
func position(message string) (call string, content int) {
	found := positionIn().FindStringSubmatch(message)
	if found == nil {
		return "", -1
	}
	n, _ := strconv.Atoi(found[2])
	return found[1], n - 1
}

// identified is something in a body that has an id.
type identified struct {
	value  Value
	result bool // it answers the call with the id
}

// byID is what the first id that the error names stands for below v, or nil. Where two things have
// the id it is the later one, for that is the one too many.
func (m *tagMap) byID(v Value, c *complaint) Value {
	if len(c.words) == 0 {
		return nil
	}
	ids := map[string][]identified{}
	collectIDs(v, ids)
	for _, w := range c.words {
		if found := ids[w]; len(found) > 0 {
			best := found[0]
			for _, f := range found[1:] {
				if f.result == c.result || best.result != c.result {
					best = f
				}
			}
			return best.value
		}
	}
	return nil
}

func collectIDs(v Value, ids map[string][]identified) {
	switch v.Kind() {
	case '[':
		for it := v.Elements(); it.Next(); {
			collectIDs(it.Value, ids)
		}
	case '{':
		output := strings.HasSuffix(v.Get("type").Str(), "_output")
		for m := v.Members(); m.Next(); {
			switch key := string(m.Key); key {
			case "id", "call_id", "tool_use_id", "tool_call_id":
				result := key[0] == 't' || key == "call_id" && output
				if id := m.Value.Str(); id != "" {
					ids[id] = append(ids[id], identified{v, result})
				}
			case "functionCall", "functionResponse":
				if id := m.Value.Get("id").Str(); id != "" {
					ids[id] = append(ids[id], identified{v, key == "functionResponse"})
				}
			default:
				if structural(key) {
					collectIDs(m.Value, ids)
				}
			}
		}
	}
}

// callAt is the function call that the error names by its content and its name.
func (m *tagMap) callAt(c *complaint) Value {
	content := element(m.body.Get("contents"), c.content)
	for it := content.Get("parts").Elements(); it.Next(); {
		if it.Value.Get("functionCall", "name").Is(c.call) {
			return it.Value
		}
	}
	return nil
}

// orphan is the first tool message whose call is not in the assistant message before it.
func (m *tagMap) orphan() Value {
	var open []string
	for it := m.body.Get("messages").Elements(); it.Next(); {
		if !it.Value.Get("role").Is("tool") {
			open = nil
		}
		for call := it.Value.Get("tool_calls").Elements(); call.Next(); {
			open = append(open, call.Value.Get("id").Str())
		}
		if it.Value.Get("role").Is("tool") && !slices.Contains(open, it.Value.Get("tool_call_id").Str()) {
			return it.Value
		}
	}
	return nil
}
