package tools_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/policy/rules"
	"github.com/reins-agent/reins/tool"
)

// withTools has display and todo_write, too.
func withTools(t *testing.T) *rig {
	r := newRig(t, tools.Config{})
	if err := r.pipe.Registry.Register(tools.Display(), tools.TodoWrite()); err != nil {
		t.Fatal(err)
	}
	r.pipe.Policy = rules.Policy{} // nothing needs an approval
	return r
}

func TestTodoWrite_AcceptsTheListsOfOtherAgents(t *testing.T) {
	r := withTools(t)
	for _, item := range []args{
		{"content": "Run the tests", "status": "in_progress", "activeForm": "Running the tests"}, {"description": "Run the tests", "status": "blocked"},
	} {
		r.ok("todo_write", args{"todos": []any{item, args{"content": "Commit", "status": "pending"}}})
	}
	for _, list := range []any{
		[]any{args{"content": "a", "status": "in_progress"}, args{"content": "b", "status": "in_progress"}}, []any{args{"status": "pending"}}, []any{args{"content": "a", "status": "soon"}},
	} {
		r.fails(tool.ValidationError, "todo_write", args{"todos": list})
	}
	if spec, _ := r.pipe.Registry.Spec("todo_write"); !spec.Plan {
		t.Error("the list is not a plan")
	}
}

func TestDisplay_MessageIsPartOfTheResult(t *testing.T) {
	r := withTools(t)
	out := r.run("display", args{"content": "Two of ten", "level": "progress", "title": "Tests", "thought": "to be sure", "evidence": []string{"a.go:1"}})
	want := &tool.Message{Content: "Two of ten", Level: "progress", Title: "Tests", Thought: "to be sure", Evidence: []string{"a.go:1"}}
	if diff := cmp.Diff(want, out.Result.Artifacts.Message); !out.OK() || diff != "" || len(out.Accesses) != 0 {
		t.Errorf("%v, accesses %v (-want +got):\n%s", out.Result.Error, out.Accesses, diff)
	}
	if m := r.run("display", args{"content": "x"}).Result.Artifacts.Message; m == nil || m.Level != "info" {
		t.Errorf("without a level: %+v, want info", m)
	}
	r.fails(tool.ValidationError, "display", args{"content": ""})
	r.fails(tool.ValidationError, "display", args{"content": "x", "level": "loud"})
}

// The tools of a session must stay small: each is part of a request.
func TestTalk_DefinitionsAreSmall(t *testing.T) {
	for _, made := range []tool.Tool{tools.Display(), tools.TodoWrite()} {
		spec := made.Spec()
		b, err := json.Marshal(map[string]any{"name": spec.Name, "description": spec.Description, "parameters": spec.Input})
		if err != nil || len(b) > 560 {
			t.Errorf("%s has %d bytes, want at most 560 (%v)", spec.Name, len(b), err)
		}
	}
}
