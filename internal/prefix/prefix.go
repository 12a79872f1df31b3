// Package prefix compares the bodies of requests with those before them. What a request repeats from its start can
// come from the provider's prompt cache.
package prefix

import (
	"bytes"
	"fmt"
	"regexp"

	"github.com/reins-agent/reins/internal/wire"
)

// Body is a request in two parts: the conversation, and everything else (the model, tools, instructions and settings).
type Body struct {
	fixed, conversation []byte
	closing             string // end of the last message, which the next request may continue
}

// conversations names the members that are the conversation, in all protocols. Where a protocol takes everything that one
// side says in a row as one message, the last message may be continued, without the brackets that close it.
var conversations = map[string]string{"input": "", "messages": "]}", "contents": "]}"}

// marks are cache_control members. They say how far to cache and move along; the model does not read them.
var marks = regexp.MustCompile(`,"cache_control":\{[^{}]*\}|"cache_control":\{[^{}]*\},`)

// Of reads a request body for any API, without cache_control.
func Of(body []byte) (b Body) {
	body = marks.ReplaceAll(body, nil)
	for m := wire.Value(body).Members(); m.Next(); {
		if closing, ok := conversations[string(m.Key)]; ok {
			b.conversation, b.closing = m.Value, closing
		} else {
			b.fixed = fmt.Appendf(b.fixed, "%q:%s,", m.Key, m.Value)
		}
	}
	return b
}

// Len returns the number of bytes.
func (b Body) Len() int { return len(b.fixed) + len(b.conversation) }

// Shared counts the bytes that are in the same place in the next request, and the bytes that could be: all but what
// closes the conversation. If anything but the conversation changes, nothing is shared.
func (b Body) Shared(next Body) (same, all int) {
	conversation := bytes.TrimSuffix(b.conversation, []byte("]"))
	if !bytes.HasPrefix(next.conversation, conversation) {
		conversation = bytes.TrimSuffix(conversation, []byte(b.closing))
	}
	all = len(b.fixed) + len(conversation)
	if !bytes.Equal(b.fixed, next.fixed) {
		return 0, all
	}
	n := 0
	for n < len(conversation) && n < len(next.conversation) && conversation[n] == next.conversation[n] {
		n++
	}
	return len(b.fixed) + n, all
}

// Share returns the percentage of bytes, in all requests but the first, that repeat the previous request.
func Share(bodies [][]byte) float64 {
	if len(bodies) < 2 {
		return 0
	}
	same, all := 0, 0
	last := Of(bodies[0])
	for _, body := range bodies[1:] {
		next := Of(body)
		n, _ := last.Shared(next)
		same = same + n
		all = all + next.Len()
		last = next
	}
	return 100 * float64(same) / float64(all)
}
