package compact

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reins-agent/reins/llm"
)

// digest tells what happened in the first n units in so many tokens, without a model: what an
// earlier summary said, and a line for each thing that was said or done since, the last ones if
// not all have room.
func (c *conversation) digest(n int, tokens int64) string {
	budget := c.m.bytes(tokens)
	old := c.remembered(n).body
	lines, left := c.steps(n, budget-min(len(old), budget/2))
	text := strings.Join(lines, "\n")
	if left > 0 {
		text = strings.TrimSuffix(fmt.Sprintf("(%d steps are not listed.)\n%s", left, text), "\n")
	}
	if rest := budget - len(text); old != "" && rest > 0 {
		text = strings.TrimSuffix(Condense(old, rest)+"\n\n"+text, "\n\n")
	}
	return text
}

// steps lists what was said and done in the first n units, the last lines that fit into so many
// bytes, and how many more there are.
func (c *conversation) steps(n, budget int) (lines []string, left int) {
	for i := n - 1; i >= 0; i-- {
		if c.units[i].kind != round {
			continue
		}
		if budget <= 0 {
			left += max(1, len(c.messages[c.units[i].from].ToolCalls()))
			continue
		}
		for _, line := range slices.Backward(c.told(c.units[i])) {
			if budget -= len(line) + 1; budget < 0 {
				left++
			} else {
				lines = append(lines, line)
			}
		}
	}
	slices.Reverse(lines)
	return lines, left
}

// told is a line for what the model says in a round and one for each of its calls.
func (c *conversation) told(u unit) (lines []string) {
	answer := c.messages[u.from]
	if text := firstLine(answer.Text(), 160); text != "" {
		lines = append(lines, "- said: "+text)
	}
	var results []llm.ToolResult
	for _, msg := range c.messages[u.from:u.to] {
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

// firstLine is the first line of a text that is not blank, in n bytes at most.
func firstLine(text string, n int) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			return clip(line, n)
		}
	}
	return ""
}

// clip is the beginning of a text on one line, in n bytes at most.
func clip(text string, n int) string {
	more := len(text) > n
	if more {
		text = text[:n-len("…")]
	}
	text = strings.ReplaceAll(strings.ToValidUTF8(text, ""), "\n", " ")
	if more {
		text += "…"
	}
	return text
}
