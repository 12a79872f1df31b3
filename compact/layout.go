package compact

import (
	"fmt"

	"github.com/reins-agent/reins/llm"
)

// layout says what becomes of a conversation: the first n units are replaced, by pins and a summary
// that is not written yet; the others stay, some of their results shortened.
type layout struct {
	share   share
	n       int
	cleared []Cleared
	pins    []llm.Message
	left    int // so many messages of the user are left out
}

func (c *conversation) lay(s share) layout {
	n, cleared := c.tail(s)
	pins, left := c.pins(n, s, true)
	return layout{share: s, n: n, cleared: cleared, pins: pins, left: left}
}

// edit is the layout with the summary written.
func (c *conversation) edit(l layout, body string, f Facts) Edit {
	if l.n == 0 {
		return Edit{Cleared: l.cleared}
	}
	r := record{body: body, facts: c.limit(f.under(c.remembered(l.n).facts), l.share)}
	if l.left > 0 {
		r.left = fmt.Sprintf("%d earlier messages of the user.", l.left)
	}
	return Edit{Cleared: l.cleared, Replaced: c.at(l.n) - c.head, Messages: append(l.pins[:len(l.pins):len(l.pins)], r.message())}
}

// limit cuts the facts short where the share has limits for them.
func (c *conversation) limit(f Facts, s share) Facts {
	if s.plan >= 0 {
		f.Plan = Condense(f.Plan, c.m.bytes(s.plan))
	}
	if s.files < 0 {
		return f
	}
	left := c.m.bytes(s.files)
	for i := len(f.Files) - 1; i >= 0; i-- {
		if left -= len(f.Files[i]) + len("\n- "); left < 0 {
			f.Files = append([]string{fmt.Sprintf("(%d more)", i+1)}, f.Files[i+1:]...)
			break
		}
	}
	return f
}

// tail says where the part begins that is kept: as many of the last units as the share allows, but
// no earlier summary. The last round is kept with its results shortened rather than not at all.
func (c *conversation) tail(s share) (n int, cleared []Cleared) {
	must := c.mandatory()
	budget, rounds := s.tail, s.rounds
	for _, u := range c.units[must:] {
		budget -= u.weight
	}
	kept := 0
	for n = must; n > 0; n-- {
		u := c.units[n-1]
		if u.kind == earlier || u.kind == round && kept == rounds {
			break
		}
		room := budget
		if kept == 0 {
			room = max(room, s.least)
		}
		if u.weight > room {
			if u.kind == round && kept == 0 {
				if found, ok := c.shorten(u, room, s.least > 0); ok {
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
		return n, cleared // a single round, which needs no other beginning
	}
	return c.begin(n, must), nil
}

// mandatory is the first of the units that are kept in any case: calls that wait for results, and
// the user's newest message if nothing came after it.
func (c *conversation) mandatory() int {
	switch {
	case c.open >= 0:
		return c.open
	case c.newest >= 0 && c.newest == len(c.units)-1:
		return c.newest
	}
	return len(c.units)
}

// begin moves the beginning of the kept part to where a thought begins, if the turn that it cuts
// into has one: a turn with thinking must not go on from an answer without.
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

// leastResult is how many tokens of a result are worth keeping.
const leastResult = 50

// shorten makes a round fit into so many tokens by condensing its results, each to an equal share. A
// round that must be kept takes more than that if need be.
func (c *conversation) shorten(u unit, budget int64, must bool) (found []Cleared, ok bool) {
	results, rest := int64(0), budget
	for _, msg := range c.of(u) {
		l := messageLoad(msg)
		for _, p := range msg.Parts {
			if r, ok := p.(llm.ToolResult); ok {
				results++
				content := partsLoad(r.Parts)
				l = load{l.bytes - content.bytes, l.tokens - content.tokens}
			}
		}
		rest -= c.m.tokens(l)
	}
	if results == 0 {
		return nil, must
	}
	each := rest / results
	if each < leastResult {
		if !must {
			return nil, false
		}
		each = leastResult
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
