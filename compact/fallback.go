package compact

import "github.com/reins-agent/reins/llm"

// Fallback makes a conversation smaller without a model. If clearing old results meets the goal it
// does that; otherwise it puts a mechanical digest in the place of the older part, and keeps less
// and less until the goal is met. It reports whether the conversation gets smaller. The goal is met
// then unless what must stay is too large for it by itself; if it was met before there is no edit.
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
	var best Edit
	least := c.weight
	for _, s := range g.shares(c.room(target)) {
		l := c.lay(s)
		e := c.edit(l, c.digest(l.n, s.body), f)
		after, ok := c.smaller(e)
		if ok && after < least {
			best, least = e, after
		}
		if ok && after <= target {
			break
		}
	}
	return best, least < c.weight
}
