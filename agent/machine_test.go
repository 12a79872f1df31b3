package agent

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/reins-agent/reins/llm"
)

// drive feeds a machine with answers, and with results for its calls, and lists what it decides.
func drive(m *machine, answers []*llm.Response) (actions []string) {
	m.input(llm.UserText("go"))
	for len(actions) < 100 {
		switch a := m.next().(type) {
		case callModel:
			if len(answers) == 0 {
				return append(actions, "call")
			}
			actions = append(actions, "call")
			resp := answers[0]
			answers = answers[1:]
			if nudge := m.answered(whole(resp), resp.Finish.Reason, resp.Usage); nudge != "" {
				m.say(llm.UserText(nudge))
			}
		case runTools:
			actions = append(actions, fmt.Sprint("run ", len(a.calls)))
			var results []llm.ToolResult
			for _, c := range a.calls {
				results = append(results, llm.TextResult(c, "ok", false))
			}
			m.ran(results)
		case stop:
			return append(actions, string(a.status)+" "+a.limit)
		}
	}
	return actions
}

func TestMachine_DecidesFromFactsAlone(t *testing.T) {
	call := func(n int) *llm.Response {
		var parts []llm.Part
		for i := range n {
			parts = append(parts, llm.ToolCall{ID: fmt.Sprint(i), Name: "x", Arguments: fmt.Sprintf(`{"n":%d}`, i)})
		}
		return response(llm.FinishToolCalls, parts...)
	}
	done := response(llm.FinishStop, text("Done."))
	for _, tt := range []struct {
		name    string
		machine machine
		answers []*llm.Response
		want    []string
	}{
		{"plain", machine{}, []*llm.Response{done}, []string{"call", "done "}},
		{"tools", machine{}, []*llm.Response{call(2), call(1), done}, []string{"call", "run 2", "call", "run 1", "call", "done "}},
		{"calls under the reason stop", machine{}, []*llm.Response{response(llm.FinishStop, call(1).Message.Parts...), done}, []string{"call", "run 1", "call", "done "}},
		{"round limit", machine{maxRounds: 1}, []*llm.Response{call(1), call(1)}, []string{"call", "run 1", "limit max_tool_rounds"}},
		{"turn limit", machine{maxTurns: 1}, []*llm.Response{call(3), done}, []string{"call", "run 3", "limit max_turns"}},
		{"length with a whole call", machine{}, []*llm.Response{response(llm.FinishLength, call(1).Message.Parts...), done}, []string{"call", "run 1", "call", "done "}},
		{"length begins anew behind a round", machine{}, []*llm.Response{
			response(llm.FinishLength), response(llm.FinishLength), response(llm.FinishLength), call(1), response(llm.FinishLength), done,
		}, []string{"call", "call", "call", "call", "run 1", "call", "call", "done "}},
	} {
		a, b := tt.machine, tt.machine
		if got := drive(&a, tt.answers); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		drive(&b, tt.answers)
		if !reflect.DeepEqual(a, b) {
			t.Errorf("%s: the same facts lead to different machines", tt.name)
		}
	}
}
