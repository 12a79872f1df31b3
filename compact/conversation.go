package compact

import (
	"slices"

	"github.com/reins-agent/reins/llm"
)

// conversation is messages divided into units, the pieces that are kept or replaced whole.
type conversation struct {
	m        Meter
	messages []llm.Message
	head     int // so many leading system and developer messages
	units    []unit
	newest   int // the unit of the user's newest message, -1 if there is none
	open     int // the unit whose calls wait for results, -1 if there is none
	weight   int64
}

// unit is a stretch of messages that belong together.
type unit struct {
	kind     kind
	from, to int
	weight   int64
}

type kind int

const (
	spoken      kind = iota // by the user
	instruction             // a system or developer message in the middle
	round                   // an answer of the model and the results of its calls
	earlier                 // the summary of an earlier compaction
)

func divide(m Meter, messages []llm.Message) *conversation {
	c := &conversation{m: m, messages: messages, head: leading(messages), newest: -1, open: -1, weight: m.Weigh(messages...)}
	last := -1 // round
	for i := c.head; i < len(messages); {
		u := unit{kind: kindOf(messages[i]), from: i, to: i + 1}
		for u.kind == round && u.to < len(messages) && messages[u.to].Role == llm.RoleTool {
			u.to++
		}
		u.weight = m.Weigh(messages[u.from:u.to]...)
		switch u.kind {
		case spoken:
			c.newest = len(c.units)
		case round:
			last = len(c.units)
		}
		c.units = append(c.units, u)
		i = u.to
	}
	if last >= 0 && c.waits(c.units[last]) {
		c.open = last
	}
	return c
}

func kindOf(msg llm.Message) kind {
	switch {
	case msg.Role == llm.RoleSystem || msg.Role == llm.RoleDeveloper:
		return instruction
	case IsSummary(msg):
		return earlier
	case msg.Role == llm.RoleUser:
		return spoken
	}
	return round
}

// waits reports whether a call of the round has no result.
func (c *conversation) waits(u unit) bool {
	var open []string
	for _, call := range c.messages[u.from].ToolCalls() {
		open = append(open, call.ID)
	}
	for _, msg := range c.messages[u.from+1 : u.to] {
		for _, p := range msg.Parts {
			if r, ok := p.(llm.ToolResult); ok {
				if i := slices.Index(open, r.ID); i >= 0 {
					open = slices.Delete(open, i, i+1)
				}
			}
		}
	}
	return len(open) > 0
}

// of are the messages of a unit.
func (c *conversation) of(u unit) []llm.Message { return c.messages[u.from:u.to] }

// at is where unit i begins.
func (c *conversation) at(i int) int {
	if i < len(c.units) {
		return c.units[i].from
	}
	return len(c.messages)
}

// room is what a goal for the messages leaves beside the leading ones.
func (c *conversation) room(target int64) int64 {
	return max(0, target-c.m.Weigh(c.messages[:c.head]...))
}

// smaller is the weight after an edit, and whether that is less than before.
func (c *conversation) smaller(e Edit) (after int64, ok bool) {
	edited, err := e.Apply(c.messages)
	if err != nil {
		return 0, false
	}
	after = c.m.Weigh(edited...)
	return after, after < c.weight
}
