package compact

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reins-agent/reins/llm"
)

// Clear replaces old tool results with a note, the oldest first, and then images and other files in old user
// messages, until the goal is met. It leaves the last three rounds and the user's newest message alone. It
// reports whether the conversation becomes smaller, which may not be enough for the goal.
func Clear(m Meter, messages []llm.Message, g Goal) (Edit, bool) {
	c := divide(m, messages)
	e := Edit{Cleared: c.clear(c.old(), c.weight-g.target(m))}
	_, ok := c.smaller(e)
	return e, ok && len(e.Cleared) > 0
}

// old returns the number of units before the last rounds.
func (c *conversation) old() int {
	n, rounds := len(c.units), keptRounds
	for n > 0 {
		if c.units[n-1].kind == round {
			if rounds--; rounds < 0 && c.open != n-1 {
				break
			}
		}
		n--
	}
	return n
}

// clear returns what to clear in the first n units to save excess tokens.
func (c *conversation) clear(n int, excess int64) (found []Cleared) {
	for _, kind := range []kind{round, spoken} {
		for i, u := range c.units[:n] {
			if u.kind != kind || i == c.newest || i == c.open || excess <= 0 {
				continue
			}
			for at := u.from; at < u.to; at++ {
				for part, p := range c.messages[at].Parts {
					if text, saved := c.stub(p); saved > 0 && excess > 0 {
						found = append(found, Cleared{at, part, text})
						excess -= saved
					}
				}
			}
		}
	}
	slices.SortFunc(found, Cleared.compare)
	return found
}

// minSaved is the minimum number of bytes that clearing a result must save.
const minSaved = 200

// stub returns the text to replace a part with and the number of tokens saved; 0 if the part must not be
// cleared.
func (c *conversation) stub(p llm.Part) (text string, saved int64) {
	before := partLoad(p)
	if r, ok := p.(llm.ToolResult); ok {
		before, text = partsLoad(r.Parts), resultStub(r)
	} else if name := mediaName(p); name != "" {
		text = fmt.Sprintf("[%s was removed to save space]", name)
	} else {
		return "", 0
	}
	if before.tokens == 0 && before.bytes < int64(len(text)+minSaved) {
		return "", 0
	}
	return text, c.m.tokens(before) - c.m.tokens(load{bytes: int64(len(text))})
}

func resultStub(r llm.ToolResult) string {
	text := r.Text()
	what := "Old output"
	if r.IsError {
		what = "Old error output"
	}
	var b strings.Builder
	fmt.Fprintf(
		&b,
		"[%s of %s removed to save space: %d characters in %d lines",
		what,
		clip(r.Name, 64),
		len(text),
		strings.Count(text, "\n")+1,
	)
	for _, p := range r.Parts {
		if name := mediaName(p); name != "" {
			b.WriteString(", " + name)
		}
	}
	b.WriteString(". Call the tool again if you need it.]")
	if line := firstLine(text, 100); line != "" {
		b.WriteString("\nFirst line: " + line)
	}
	return b.String()
}
