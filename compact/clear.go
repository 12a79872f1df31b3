package compact

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reins-agent/reins/llm"
)

// Clear replaces old tool results by a line about each, the oldest first, until the goal is met,
// and then images and other files in old messages of the user. The last rounds stay whole, and so
// does the user's newest message. It reports whether that makes the conversation smaller; it need
// not be enough for the goal.
func Clear(m Meter, messages []llm.Message, g Goal) (Edit, bool) {
	c := divide(m, messages)
	e := Edit{Cleared: c.clear(0, c.old(g.rounds()), c.weight-g.target(m))}
	_, ok := c.smaller(e)
	return e, ok && len(e.Cleared) > 0
}

// old is how many units stand before the last rounds.
func (c *conversation) old(rounds int) int {
	n := len(c.units)
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

// clear finds what to clear in the units from i to j so that so many tokens are saved.
func (c *conversation) clear(i, j int, excess int64) (found []Cleared) {
	for _, kind := range []kind{round, spoken} {
		for n := i; n < j && excess > 0; n++ {
			if c.units[n].kind != kind || n == c.newest || n == c.open {
				continue
			}
			for at := c.units[n].from; at < c.units[n].to; at++ {
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

// worthwhile is how many bytes clearing a result must save at least.
const worthwhile = 200

// stub is the text that can stand for a part, and how many tokens that saves; 0 if it is not to be
// cleared.
func (c *conversation) stub(p llm.Part) (text string, saved int64) {
	var before load
	switch p := p.(type) {
	case llm.ToolResult:
		before = partsLoad(p.Parts)
		if before.tokens == 0 && before.bytes < worthwhile {
			return "", 0
		}
		text = resultStub(p)
	case llm.Image, llm.Audio, llm.Document:
		before = partLoad(p)
		text = fmt.Sprintf("[%s left out to save space]", mediaName(p))
	default:
		return "", 0
	}
	if before.tokens == 0 && before.bytes < int64(len(text)+worthwhile) {
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
	fmt.Fprintf(&b, "[%s of %s left out to save space: %d characters in %d lines", what, clip(r.Name, 64), len(text), strings.Count(text, "\n")+1)
	for _, p := range r.Parts {
		if name := mediaName(p); name != "" {
			b.WriteString(", " + name)
		}
	}
	b.WriteString(". Call the tool again if you need it.]")
	if line := firstLine(text, 100); line != "" {
		b.WriteString("\nIt began: " + line)
	}
	return b.String()
}
