package compact

import "github.com/reins-agent/reins/llm"

// Fallback makes a conversation smaller without a model. If clearing old results meets the goal it
// does that; otherwise it puts a mechanical digest in the place of the older part, and keeps less
// and less until the goal is met. It reports whether the conversation gets smaller. The goal is met
// then unless what must stay is too large for it by itself; then the last round stays too, if a
// quarter is saved all the same. If the goal was met before there is no edit.
func Fallback(m Meter, messages []llm.Message, g Goal, f Facts) (Edit, bool) {
	c := divide(m, messages)
	target := g.target(m)
	if c.weight <= target {
		return Edit{}, false
	}
	if e, ok := Clear(m, messages, g); ok {
		if after, _ := c.smaller(e); after <= target {
			return e, true
		}
	}
	room := c.room(target)
	kept, keptWeight := c.digested(g.keeping(room), target, f)
	if keptWeight <= target {
		return kept, true
	}
	best, least := c.digested(g.shares(room), target, f)
	if least > target && keptWeight <= worthIt(c.weight) {
		return kept, true
	}
	return best, least < c.weight
}

// digested is the edit of the first of the shares that meets the target, or else the one that leaves
// least, and what it leaves.
func (c *conversation) digested(shares []share, target int64, f Facts) (best Edit, least int64) {
	least = c.weight
	for _, s := range shares {
		l := c.lay(s)
		e := c.edit(l, c.digest(l.n, s.body), f)
		if after, ok := c.smaller(e); ok && after < least {
			best, least = e, after
			if after <= target {
				break
			}
		}
	}
	return best, least
}
