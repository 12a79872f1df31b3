package compact

import (
	"fmt"
	"strings"

	"github.com/reins-agent/reins/llm"
)

// layout is a plan for a conversation: the first n units are replaced by pins and a summary that is not written yet.
// The others stay, some with shortened results.
type layout struct {
	share   share
	n       int
	cleared []Cleared
	pins    []llm.Message
	omitted int // user messages
}

func (c *conversation) lay(s share) layout {
	n, cleared := c.tail(s)
	pins, omitted := c.pins(n, s, true)
	return layout{
		share:   s,
		n:       n,
		cleared: cleared,
		pins:    pins,
		omitted: omitted,
	}
}

// edit returns a layout's edit with a summary.
func (c *conversation) edit(l layout, body string, f Facts) Edit {
	if l.n == 0 {
		return Edit{Cleared: l.cleared}
	}
	r := record{body: body, facts: c.limit(f.merge(c.remembered(l.n).facts), l.share.facts), omitted: l.omitted}
	return Edit{Cleared: l.cleared, Replaced: c.at(l.n) - c.head, Messages: append(l.pins[:len(l.pins):len(l.pins)], r.message())}
}

// limit shortens facts to a number of tokens: two thirds for the plan, one third for the files. A negative
// number is no limit.
func (c *conversation) limit(f Facts, tokens int64) Facts {
	if tokens < 0 {
		return f
	}
	f.Plan = Condense(f.Plan, c.m.bytes(tokens*2/3))
	rest := c.m.bytes(tokens / 3)
	for i := len(f.Files) - 1; i >= 0; i-- {
		if rest -= len(f.Files[i]) + len("\n- "); rest < 0 {
			f.Files = append([]string{fmt.Sprintf("(%d more)", i+1)}, f.Files[i+1:]...)
			break
		}
	}
	return f
}

// tail returns the number of units to replace. It keeps as many of the last units as the share allows, but no earlier
// summary. If the last round does not fit, it is kept with its results shortened.
func (c *conversation) tail(s share) (n int, cleared []Cleared) {
	must := c.mandatory()
	budget := s.tail
	for _, u := range c.units[must:] {
		budget -= u.weight
	}
	kept := 0
	for n = must; n > 0; n-- {
		u := c.units[n-1]
		if u.kind == earlier || u.kind == round && kept == s.rounds {
			break
		}
		room := budget
		if kept == 0 {
			room = max(room, s.minRound)
		}
		if u.weight > room {
			if u.kind == round && kept == 0 {
				if found, ok := c.shorten(u, room, s.minRound > 0); ok {
					n, cleared = n-1, found
				}
			}
			break
		}
		if u.kind == round {
			kept++
		}
		budget -= u.weight
	}
	if len(cleared) > 0 {
		return n, cleared
	}
	return c.begin(n, must), nil
}

// mandatory returns the first unit that must be kept: with calls that have no results, or with the user's newest
// message if nothing came after it.
func (c *conversation) mandatory() int {
	switch {
	case c.open >= 0:
		return c.open
	case c.newest >= 0 && c.newest == len(c.units)-1:
		return c.newest
	}
	return len(c.units)
}

// begin moves the start of the kept part to the first answer with thinking, if the part starts within a turn that has
// one. Providers refuse a turn with thinking that starts with an answer without it.
func (c *conversation) begin(n, must int) int {
	for n < must && c.messages[c.units[n].from].Role == llm.RoleTool {
		n++ // results without calls
	}
	for i := n; i < must; i++ {
		if c.units[i].kind == spoken {
			return n
		}
	}
	for i := n; i < must; i++ {
		if thinks(c.messages[c.units[i].from]) {
			return i
		}
	}
	return n
}

func thinks(msg llm.Message) bool {
	if len(msg.Parts) == 0 {
		return false
	}
	_, ok := msg.Parts[0].(llm.Thinking)
	return ok
}

// minResult is the minimum number of tokens to keep from a result.
const minResult = 50

// shorten fits a round into budget tokens by condensing its results to equal sizes. With must, it may
// exceed the budget.
func (c *conversation) shorten(u unit, budget int64, must bool) (found []Cleared, ok bool) {
	results, rest := int64(0), budget
	for _, msg := range c.of(u) {
		l := messageLoad(msg)
		for _, p := range msg.Parts {
			if r, ok := p.(llm.ToolResult); ok {
				results++
				content := partsLoad(r.Parts)
				l.bytes, l.tokens = l.bytes-content.bytes, l.tokens-content.tokens
			}
		}
		rest -= c.m.tokens(l)
	}
	if results == 0 {
		return nil, must
	}
	each := rest / results
	if each < minResult {
		if !must {
			return nil, false
		}
		each = minResult
	}
	for at := u.from; at < u.to; at++ {
		for part, p := range c.messages[at].Parts {
			if r, ok := p.(llm.ToolResult); ok && c.m.tokens(partsLoad(r.Parts)) > each {
				found = append(found, Cleared{at, part, Condense(plain(r.Parts), c.m.bytes(each))})
			}
		}
	}
	return found, true
}

const (
	briefPin = 120 // tokens to keep from a user message that does not fit
	minPin   = 20  // fewer tokens of it are not worth keeping
)

// pins returns the user messages and instructions in the first n units, in order. They are unchanged as far as the
// budget allows, then shortened, then omitted and counted. With newest, the user's newest message is always unchanged.
func (c *conversation) pins(n int, s share, newest bool) (pins []llm.Message, omitted int) {
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
				omitted++
				return
			}
		}
		chosen[i] = msg
		budget -= c.m.Weigh(msg)
	}
	if first >= 0 {
		choose(first, max(budget/2, s.minFirst))
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
	return pins, omitted
}

// brief shortens a user message to a number of tokens. It reports false if that would leave too little.
func (c *conversation) brief(msg llm.Message, tokens int64) (llm.Message, bool) {
	if tokens < minPin {
		return msg, false
	}
	text := Condense(plain(msg.Parts), c.m.bytes(tokens)-frameBytes)
	return llm.UserText(text), text != ""
}

// plain returns the text of parts, with a note for each file.
func plain(parts []llm.Part) string {
	var b strings.Builder
	for _, p := range parts {
		if t, ok := p.(llm.Text); ok {
			b.WriteString(t.Text)
		} else if name := mediaName(p); name != "" {
			b.WriteString("[" + name + " was removed]")
		}
	}
	return b.String()
}
