package compact

import (
	"slices"

	"github.com/reins-agent/reins/llm"
)

// conversation is a list of messages divided into units, which are kept or replaced as a whole.
type conversation struct {
	m        Meter
	messages []llm.Message
	head     int // number of leading system and developer messages
	units    []unit
	newest   int // unit with the user's newest message, or -1
	open     int // the last round if it has calls without results, or -1
	weight   int64
}

// unit is a sequence of messages that belong together.
type unit struct {
	kind     kind
	from, to int
	weight   int64
}

type kind int

const (
	spoken      kind = iota // a user message
	instruction             // a system or developer message after the leading messages
	round                   // an answer and its calls' results
	earlier                 // an earlier compaction's summary
)

func divide(m Meter, messages []llm.Message) *conversation {
	c := &conversation{
		m:        m,
		messages: messages,
		head:     leading(messages),
		newest:   -1,
		open:     -1,
		weight:   m.Weigh(messages...),
	}
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
	case isSummary(msg):
		return earlier
	case msg.Role == llm.RoleUser:
		return spoken
	}
	return round
}

// waits reports whether a call in a round has no result.
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

// of returns a unit's messages.
func (c *conversation) of(u unit) []llm.Message { return c.messages[u.from:u.to] }

// at returns the index of unit i's first message.
func (c *conversation) at(i int) int {
	if i < len(c.units) {
		return c.units[i].from
	}
	return len(c.messages)
}

// room returns the part of the target that remains besides the leading messages.
func (c *conversation) room(target int64) int64 {
	return max(0, target-c.m.Weigh(c.messages[:c.head]...))
}

// smaller returns the weight after an edit, and whether it is less than before.
func (c *conversation) smaller(e Edit) (after int64, ok bool) {
	edited, err := e.Apply(c.messages)
	if err != nil {
		return 0, false
	}
	after = c.m.Weigh(edited...)
	return after, after < c.weight
}

// leading returns the number of system and developer messages that begin a conversation.
func leading(messages []llm.Message) int {
	for i, msg := range messages {
		if msg.Role != llm.RoleSystem && msg.Role != llm.RoleDeveloper {
			return i
		}
	}
	return len(messages)
}
