package event_test

import (
	"encoding/json"
	"testing"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

func TestSpending_SumsByModelAndAgent(t *testing.T) {
	call := func(agent, model string, input int64, cost *float64, failure *event.Error) event.Record {
		return event.Record{Agent: agent, Data: event.ModelCallEnd{Provider: "p", Model: model, Usage: llm.Usage{Input: input, Output: 1}, Cost: cost, Error: failure}}
	}
	var s event.Spending
	for _, r := range []event.Record{
		{Data: event.UserInput{}},
		call("", "big", 10, new(0.5), nil),
		{Data: event.SubagentStart{ID: "a1", Task: "look"}},
		call("a1", "small", 20, new(0.25), nil),
		{Data: event.ModelCallEnd{Model: "big", Error: &event.Error{Message: "overloaded"}}}, // it used nothing
		call("", "big", 30, new(0.5), &event.Error{Message: "cut off"}),                      // it was paid for
	} {
		s.Add(r)
	}
	before := s.Clone()
	s.Add(call("", "odd", 40, nil, nil))
	if before.Total.Calls != 3 || before.Turns != 1 || before.Total.Usage.Input != 60 || before.Total.Cost().Dollars != 1.25 || len(before.Models) != 2 {
		t.Errorf("the sum is %+v", before)
	}
	if a := before.Agents; len(a) != 2 || a[0].Agent != "" || a[0].Calls != 2 || a[1].Task != "look" || a[1].Dollars != 0.25 {
		t.Errorf("the agents are %+v", a)
	}
	if s.Total.Cost().Known || s.Total.Dollars != 1.25 || s.Total.Unpriced != 1 || s.Turns != 2 {
		t.Errorf("with an unknown price it is %+v", s.Total)
	}
	b, err := json.Marshal(s.Models[2])
	if want := `{"provider":"p","model":"odd","calls":1,"usage":{"input_tokens":40,"output_tokens":1,"reasoning_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0},"cost":null}`; err != nil || string(b) != want {
		t.Errorf("as JSON it is %s, want %s (%v)", b, want, err)
	}
}
