package wire

import (
	"slices"

	"github.com/reins-agent/reins/llm"
)

// History records which messages an encoder has encoded. It identifies a message by its parts' address, so a message
// must not change after it was in a request with a cache.
type History struct {
	key  string
	seen []identity
}

type identity struct {
	role  llm.Role
	first *llm.Part
	n     int
}

// Pending returns how many messages, from the start, are already encoded, and records all of them. It returns 0, and
// the encoder must start over, if the messages do not continue the recorded messages or if key has changed. The key
// represents everything else that the encoding depends on.
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
	h.seen = slices.Grow(h.seen[:known], len(messages)-known)
	for _, m := range messages[known:] {
		h.seen = append(h.seen, identify(m))
	}
	return known
}

// Forget makes the next call of Pending return 0.
func (h *History) Forget() { h.seen, h.key = nil, "" }

func identify(m llm.Message) identity {
	id := identity{role: m.Role, n: len(m.Parts)}
	if len(m.Parts) > 0 {
		id.first = &m.Parts[0]
	}
	return id
}
