package feature

import (
	"slices"
	"testing"

	"github.com/reins-agent/reins/event"
)

// A skill that is invoked while calls wait for approvals is queued. It restricts the agent from when its instructions
// enter the conversation.
func TestSkills_QueuedInvocationRestrictsTheAgent(t *testing.T) {
	a := &activeSkills{}
	a.apply(event.Record{Seq: 1, Data: event.UserInput{}})
	a.apply(event.Record{Seq: 2, Data: event.SteeringQueued{
		Origin: &event.Origin{Kind: event.OriginSkill, ID: "review", Tools: []string{"Read"}},
	}})
	if n := len(a.stacks[""]); n != 0 {
		t.Errorf("before its instructions are known, %d skills are active", n)
	}
	a.apply(event.Record{Seq: 3, Data: event.SteeringInjected{Source: event.SourceHost, Queued: 2}})
	limits, err := a.limits(t.Context(), "")
	if err != nil || len(limits) != 1 || limits[0].name != "review" || !slices.Equal(limits[0].tools, []string{"Read"}) {
		t.Errorf("got %+v, %v, want the skill with its list of tools", limits, err)
	}
	a.apply(event.Record{Seq: 4, Data: event.ProcessingEnd{Outcome: event.StatusDone}})
	if n := len(a.stacks[""]); n != 0 {
		t.Errorf("after the work, %d skills are active", n)
	}
}
