package wire

import (
	"github.com/reins-agent/reins/llm"
)

// History remembers which messages an encoder has encoded already. It knows a message by its
// parts' place in memory, which is why messages must not change once they were in a request with
// a cache.
type History struct {
	key  string
	seen []identity
}

type identity struct {
	role  llm.Role
	first *llm.Part
	n     int
}

// Pending compares the messages with those seen before and returns how many of them, from the
// start, are already encoded. If the messages are no continuation of what was seen, or if key,
// which stands for everything else that the encoding depends on, has changed, that is none of
// them and the encoder must start afresh. All messages count as seen from then on.
func (h *History) Pending(key string, messages []llm.Message) (known int) {
	known = len(h.seen)
	if key != h.key || known > len(messages) {
		known = 0
	}
	for i := range known {
		if h.seen[i] != identify(messages[i]) {
			known = 0
			break
		}
	}
	h.key = key
	h.seen = h.seen[:known]
	for _, m := range messages[known:] {
		h.seen = append(h.seen, identify(m))
	}
	return known
}

// Forget makes the next call of Pending start afresh.
func (h *History) Forget() { h.seen, h.key = nil, "" }

func identify(m llm.Message) identity {
	id := identity{role: m.Role, n: len(m.Parts)}
	if len(m.Parts) > 0 {
		id.first = &m.Parts[0]
	}
	return id
}
