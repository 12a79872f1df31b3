package show

import (
	"time"

	"github.com/reins-agent/reins/event"
)

// Calls follows the tool calls of a session and its subagents from their beginning to their end. Make
// one with make.
type Calls map[string]*call

type call struct {
	start  event.ToolCallStart
	asked  time.Time     // when an approval was asked for that has not come yet
	waited time.Duration // for approvals
}

func callName(agent, id string) string { return agent + " " + id }

// Note takes a record into account, except for the end of a call.
func (c Calls) Note(r event.Record) {
	switch d := r.Data.(type) {
	case event.ToolCallStart:
		c[callName(r.Agent, d.ID)] = &call{start: d}
	case event.ApprovalRequested:
		if open := c[callName(r.Agent, d.ID)]; open != nil {
			open.asked = r.Time
		}
	case event.ApprovalResolved:
		if open := c[callName(r.Agent, d.ID)]; open != nil && !open.asked.IsZero() {
			open.waited += r.Time.Sub(open.asked)
			open.asked = time.Time{}
		}
	}
}

// End forgets a call and returns its title, and how long it took without the time that it waited for an
// approval.
func (c Calls) End(agent string, d event.ToolCallEnd) (title string, took time.Duration) {
	key := callName(agent, d.ID)
	open := c[key]
	delete(c, key)
	if open == nil {
		return Summary(d.Name), d.Duration
	}
	return Title(open.start.Name, open.start.Arguments), max(d.Duration-open.waited, 0)
}
