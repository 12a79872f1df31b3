package cli

import (
	"time"

	"github.com/reins-agent/reins/event"
)

// openCalls are the tool calls that have begun and not ended, by their agent and their id.
type openCalls map[string]*openCall

type openCall struct {
	start  event.ToolCallStart
	asked  time.Time     // when an approval was asked for that has not come yet
	waited time.Duration // for approvals
}

func (c *openCall) title() string { return toolTitle(c.start.Name, c.start.Arguments) }

func callName(agent, id string) string { return agent + " " + id }

// note takes in what a record tells of calls, but for their end.
func (o openCalls) note(r event.Record) {
	switch d := r.Data.(type) {
	case event.ToolCallStart:
		o[callName(r.Agent, d.ID)] = &openCall{start: d}
	case event.ApprovalRequested:
		if c := o[callName(r.Agent, d.ID)]; c != nil {
			c.asked = r.Time
		}
	case event.ApprovalResolved:
		if c := o[callName(r.Agent, d.ID)]; c != nil && !c.asked.IsZero() {
			c.waited += r.Time.Sub(c.asked)
			c.asked = time.Time{}
		}
	}
}

// end forgets a call. It says what the call was, and how long it took without the wait for a person,
// whose time is not the tool's.
func (o openCalls) end(agent string, d event.ToolCallEnd) (title string, took time.Duration) {
	key := callName(agent, d.ID)
	c := o[key]
	delete(o, key)
	if c == nil {
		return summary(d.Name), d.Duration
	}
	return c.title(), max(d.Duration-c.waited, 0)
}
