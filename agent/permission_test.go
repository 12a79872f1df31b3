package agent

import (
	"context"
	"testing"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/policy/rules"
	"github.com/reins-agent/reins/tool"
)

// runs is a tool that declares its text as a command.
func runs() tool.Tool {
	return tool.New(tool.Spec{Name: "runs", Description: "A tool."}, func(_ context.Context, _ *tool.Call, in echoIn) []policy.Access {
		return []policy.Access{{Kind: policy.Exec, Target: in.Text}}
	}, func(_ context.Context, _ *tool.Call, in echoIn) (tool.Result, error) {
		return tool.Result{Output: tool.Text(in.Text)}, nil
	})
}

func TestMode_ChangesWhileTheSessionRuns(t *testing.T) {
	script := llmtest.Play(llmtest.Call("runs", `{"text":"make"}`), llmtest.Say("1"), llmtest.Call("runs", `{"text":"make"}`), llmtest.Say("2"))
	s := open(t, script, func(c *Config) { with(runs())(c); c.Policy = rules.Policy{}; c.Mode = policy.ModePlan })
	submit(t, s, "try")
	if err := s.SetMode(policy.ModeBypass); err != nil {
		t.Fatal(err)
	}
	submit(t, s, "again")
	ends := records[event.ToolCallEnd](s)
	if len(ends) != 2 || ends[0].Decision.Verdict != policy.Ask || ends[1].Decision.Verdict != policy.Allow {
		t.Fatalf("got %+v", ends)
	}
	settings := records[event.Settings](s)
	if len(settings) != 1 || settings[0].Mode != policy.ModeBypass {
		t.Errorf("recorded %+v", settings)
	}
}

func TestApproval_RulesHoldForTheSessionAndAfterAResume(t *testing.T) {
	asked := 0
	store := &event.Memory{}
	configure := func(c *Config) {
		with(runs())(c)
		c.Policy, c.Store, c.ID = rules.Policy{}, store, "s"
		c.Describe = func(_ context.Context, r tool.Request) event.Description {
			return event.Description{Preview: "about " + string(r.Call.Args)}
		}
		c.Approve = func(ctx context.Context, r tool.Request) (tool.Approval, error) {
			asked++
			s := r.Suggest(ctx)
			if len(s) != 1 {
				t.Fatalf("suggestions %+v", s)
			}
			return tool.Approval{Allow: true, Scope: tool.ForSession, Rules: []string{s[0].Rules[0], "not a ) rule"}}, nil
		}
	}
	script := llmtest.Play(llmtest.Call("runs", `{"text":"go test ./a"}`), llmtest.Call("runs", `{"text":"go test ./b"}`), llmtest.Say("done"),
		llmtest.Call("runs", `{"text":"go test ./c | tail"}`), llmtest.Call("runs", `{"text":"go run x"}`), llmtest.Say("done"))
	var config Config
	s := open(t, script, func(c *Config) { configure(c); config = *c })
	submit(t, s, "try")
	if asked != 1 {
		t.Errorf("asked %d times, want once", asked)
	}
	if r := records[event.ApprovalRequested](s); len(r) != 1 || r[0].Preview != `about {"text":"go test ./a"}` {
		t.Errorf("recorded %+v", r)
	}
	s.Close()
	s, err := Resume(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	submit(t, s, "again")
	if asked != 2 {
		t.Errorf("asked %d times after the resume, want twice: go run was not approved", asked)
	}
}
