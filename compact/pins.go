package compact

import (
	"strings"

	"github.com/reins-agent/reins/llm"
)

// briefPin is how many tokens are left of a user's message that has no room.
const briefPin = 120

// pins are the messages of the user, and instructions, from the first n units, in their order. They
// are as they were as far as the budget goes; then they are cut short, and then left out, which is
// counted. The newest message of the user is verbatim in any case if that is wanted.
func (c *conversation) pins(n int, s share, newest bool) (pins []llm.Message, left int) {
	budget := s.pins
	chosen := make(map[int]llm.Message)
	first := -1
	for i, u := range c.units[:n] {
		switch {
		case u.kind == instruction, newest && i == c.newest:
			chosen[i] = c.messages[u.from]
		case u.kind == spoken && first < 0:
			first = i
		}
	}
	choose := func(i int, short int64) {
		msg := c.messages[c.units[i].from]
		if c.units[i].weight > budget {
			var ok bool
			if msg, ok = c.brief(msg, short); !ok {
				left++
				return
			}
		}
		chosen[i] = msg
		budget -= c.m.Weigh(msg)
	}
	if first >= 0 {
		choose(first, max(budget/2, s.shortestFirst))
	}
	for i := n - 1; i > first && first >= 0; i-- {
		if _, done := chosen[i]; !done && c.units[i].kind == spoken {
			choose(i, min(budget, briefPin))
		}
	}
	for i := range n {
		if msg, ok := chosen[i]; ok {
			pins = append(pins, msg)
		}
	}
	return pins, left
}

// leastPin is how many tokens of a message are worth keeping.
const leastPin = 20

// brief is a message of the user cut down to so many tokens, if that is enough to say anything.
func (c *conversation) brief(msg llm.Message, tokens int64) (llm.Message, bool) {
	if tokens < leastPin {
		return msg, false
	}
	text := Condense(plain(msg.Parts), c.m.bytes(tokens)-frameBytes)
	return llm.UserText(text), text != ""
}

// plain is the text of parts, with a word for those that are files.
func plain(parts []llm.Part) string {
	var b strings.Builder
	for _, p := range parts {
		if t, ok := p.(llm.Text); ok {
			b.WriteString(t.Text)
		} else if name := mediaName(p); name != "" {
			b.WriteString("[" + name + " left out]")
		}
	}
	return b.String()
}
