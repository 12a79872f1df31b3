package compact

import (
	"slices"

	"github.com/reins-agent/reins/llm"
)

// request makes the messages that ask for a summary of the first n units in so many tokens, if that
// can be done; 0 is no limit. What does not fit loses old results first and then its oldest part.
func (c *conversation) request(n int, limit int64, prompt llm.Message) (messages []llm.Message, trimmed, ok bool) {
	prefix := c.messages[:c.at(n)]
	whole := c.m.Weigh(prefix...) + c.m.Weigh(prompt)
	if limit <= 0 || whole <= limit-c.m.overhead {
		return append(slices.Clone(prefix), prompt), false, true
	}
	limit = max(0, limit-c.m.overhead)
	cleared, err := Edit{Cleared: c.clear(0, n, whole-limit)}.Apply(prefix)
	if err != nil {
		return nil, true, false
	}
	if c.m.Weigh(cleared...)+c.m.Weigh(prompt) > limit {
		cleared = c.dropOldest(cleared, n, limit-c.m.Weigh(prompt))
	}
	messages = append(cleared, prompt)
	return messages, true, c.m.Weigh(messages...) <= limit
}

// dropOldest puts a digest in the place of the oldest of the first n units, whose messages are given
// with their results cleared, so that all comes down to so many tokens.
func (c *conversation) dropOldest(cleared []llm.Message, n int, limit int64) []llm.Message {
	room := max(0, limit-c.m.Weigh(cleared[:c.head]...))
	k, rest := n, room/2
	for k > 0 {
		if rest -= c.m.Weigh(cleared[c.at(k-1):c.at(k)]...); rest < 0 {
			break
		}
		k--
	}
	for k < n && cleared[c.at(k)].Role == llm.RoleTool {
		k++
	}
	pins, _ := c.pins(k, share{pins: room / 4}, false)
	note := llm.UserText(trimmedNote + c.digest(k, room/8))
	return slices.Concat(cleared[:c.head], pins, []llm.Message{note}, cleared[c.at(k):])
}
