package panel

import (
	"testing"

	"github.com/reins-agent/reins/command"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
)

func TestCost_FollowsTheSession(t *testing.T) {
	t.Parallel()
	r := newRig(t, command.Host{})
	empty := r.follow(NewCost(r.options()))
	has(t, everywhere(t, empty), "has not called a model")
	r.work("one", llmtest.Say("1"))
	r.work("two", llmtest.Say("2"))
	p := r.follow(NewCost(r.options())).(*cost)
	has(t, r.shows(p, "By model"), "2 calls", "model", "cost of each model call", "█")
	r.work("three", llmtest.Say("3"))
	has(t, r.shows(p, "3 calls"), "By model")
}

func TestCost_ChartsDollarsAndHostileNames(t *testing.T) {
	t.Parallel()
	l := newLoop(t)
	p := NewCost(l.options(&fake{})).(*cost)
	price := 0.25
	for i, agent := range []string{"", "1", "1/2"} {
		d := event.ModelCallEnd{Provider: "p", Model: hostile, Usage: llm.Usage{Input: 1000, Output: 10}}
		if i > 0 {
			d.Cost = &price
		}
		p.add(event.Record{Seq: event.Seq(i + 1), Agent: agent, Data: event.SubagentStart{ID: agent, Task: hostile}})
		p.add(event.Record{Seq: event.Seq(i + 1), Agent: agent, Data: d})
	}
	p.show()
	has(t, everywhere(t, p), "3 calls", "日本語", "$0.25", "1/2")
	if len(p.calls) != 3 || p.calls[0] != 0 || p.calls[2] != price {
		t.Errorf("the calls are %v", p.calls)
	}
}
