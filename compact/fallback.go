package compact

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reins-agent/reins/llm"
)

// Fallback makes a conversation smaller without a model, and reports whether it does. If clearing old results meets the
// goal, it does only that. Otherwise it replaces the older part with a digest, and keeps less and less until the goal
// is met. If the goal cannot be met, it keeps the last round if the conversation still shrinks by a quarter. If the
// goal is already met, it returns no edit.
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
	kept, keptWeight := c.digested(sharesWithRound(room), target, f)
	if keptWeight <= target {
		return kept, true
	}
	best, least := c.digested(shares(room), target, f)
	if least > target && keptWeight <= worthIt(c.weight) {
		return kept, true
	}
	return best, least < c.weight
}

// digested returns the edit for the first share that meets the target, or else the edit that leaves the least, and the
// weight after it.
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

// digest describes the first n units in a number of tokens: an earlier summary's text, and a line for each answer and
// call since. If they do not all fit, it keeps the last lines.
func (c *conversation) digest(n int, tokens int64) string {
	budget := c.m.bytes(tokens)
	old := c.remembered(n).body
	lines, omitted := c.steps(n, budget-min(len(old), budget/2))
	text := strings.Join(lines, "\n")
	if omitted > 0 {
		text = strings.TrimSuffix(fmt.Sprintf("(%d steps omitted)\n%s", omitted, text), "\n")
	}
	if rest := budget - len(text); old != "" && rest > 0 {
		text = strings.TrimSuffix(Condense(old, rest)+"\n\n"+text, "\n\n")
	}
	return text
}

// steps returns the last lines about the first n units that fit into budget bytes, and the number of
// lines omitted.
func (c *conversation) steps(n, budget int) (lines []string, omitted int) {
	for i := n - 1; i >= 0; i-- {
		if c.units[i].kind != round {
			continue
		}
		if budget <= 0 {
			omitted += max(1, len(c.messages[c.units[i].from].ToolCalls()))
			continue
		}
		for _, line := range slices.Backward(c.roundLines(c.units[i])) {
			if budget -= len(line) + 1; budget < 0 {
				omitted++
			} else {
				lines = append(lines, line)
			}
		}
	}
	slices.Reverse(lines)
	return lines, omitted
}

// roundLines returns a line for a round's text and a line for each of its calls.
func (c *conversation) roundLines(u unit) (lines []string) {
	answer := c.messages[u.from]
	if text := firstLine(answer.Text(), 160); text != "" {
		lines = append(lines, "- said: "+text)
	}
	var results []llm.ToolResult
	for _, msg := range c.of(u) {
		for _, p := range msg.Parts {
			if r, ok := p.(llm.ToolResult); ok {
				results = append(results, r)
			}
		}
	}
	for _, call := range answer.ToolCalls() {
		line := "- " + clip(call.Name, 64) + " " + clip(call.Arguments, 120)
		if i := slices.IndexFunc(results, func(r llm.ToolResult) bool { return r.ID == call.ID }); i >= 0 {
			line += outcome(results[i])
			results = slices.Delete(results, i, i+1)
		}
		lines = append(lines, line)
	}
	return lines
}

func outcome(r llm.ToolResult) string {
	arrow := " → "
	if r.IsError {
		arrow = " → error: "
	}
	return arrow + firstLine(r.Text(), 80)
}
