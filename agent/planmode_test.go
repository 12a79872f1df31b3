package agent

import (
	"context"
	"strings"
	"testing"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/policy/rules"
	"github.com/reins-agent/reins/tool"
)

const (
	enterPlan = "enter_plan_mode"
	exitPlan  = "exit_plan_mode"
)

// planning has the plan mode tools and a tool that runs its text as a command, in mode bypassPermissions.
func planning(approve func(tool.Request) tool.Approval) func(*Config) {
	return func(c *Config) {
		with(append(PlanModeTools(), runs())...)(c)
		c.Policy, c.Mode = rules.Policy{}, policy.ModeBypass
		if approve != nil {
			c.Approve = func(_ context.Context, r tool.Request) (tool.Approval, error) { return approve(r), nil }
		}
	}
}

func do(name, args string) llm.ToolCall { return llm.ToolCall{Name: name, Arguments: args} }

// verdicts returns the outcome of each call to a tool: "ran" or why not.
func verdicts(s *Session, name string) (list []string) {
	for _, d := range records[event.ToolCallEnd](s) {
		switch {
		case d.Name != name:
		case d.Error != nil:
			list = append(list, d.Error.Message)
		default:
			list = append(list, "ran")
		}
	}
	return list
}

func TestPlanMode_BindsTheNextCallAndOnlyTheUserEndsIt(t *testing.T) {
	make := do("runs", `{"text":"make"}`)
	script := llmtest.Play(
		turn(make, do(enterPlan, `{}`), make, do("runs", `{"text":"ls"}`)),
		turn(do(exitPlan, `{"plan":"first"}`), make),
		turn(do(exitPlan, `{"plan":"second"}`), make),
		llmtest.Say("done"))
	var plans []string
	s := open(t, script, planning(func(r tool.Request) tool.Approval {
		if r.Spec.Name != exitPlan {
			return tool.Approval{Message: "not now"}
		}
		p, ok, err := r.Preview(t.Context())
		if !ok || err != nil {
			t.Errorf("the plan has no preview: %v", err)
		}
		plans = append(plans, p.Text)
		return tool.Approval{Allow: p.Text == "second", Message: "think again"}
	}))
	submit(t, s, "go")
	got := strings.Join(verdicts(s, "runs"), "; ")
	if want := "ran; runs was refused: not now; ran; runs was refused: not now; ran"; got != want {
		t.Errorf("commands: %s, want %s", got, want)
	}
	if got := strings.Join(plans, " "); got != "first second" {
		t.Errorf("the user saw the plans %q", got)
	}
	if got := verdicts(s, exitPlan); got[0] != "exit_plan_mode was refused: think again" || got[1] != "ran" {
		t.Errorf("exit_plan_mode: %q", got)
	}
	if s.Mode() != policy.ModeBypass {
		t.Errorf("mode %q after the plan was approved, want the one before", s.Mode())
	}
}

func TestPlanMode_NothingEndsItWithoutTheUsersWord(t *testing.T) {
	everything, err := rules.Parse(exitPlan)
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for name, change := range map[string]func(*Config){
		"nobody to ask":    func(*Config) {},
		"a rule allows it": func(c *Config) { c.Policy = rules.Policy{Allow: []rules.Rule{everything}} },
		"the approver says no": func(c *Config) {
			c.Approve = func(context.Context, tool.Request) (tool.Approval, error) { asked++; return tool.Approval{}, nil }
		},
	} {
		script := llmtest.Play(llmtest.Call(enterPlan, `{}`), llmtest.Call(exitPlan, `{"plan":"p"}`), llmtest.Say("stuck"))
		s := open(t, script, func(c *Config) { planning(nil)(c); change(c) })
		submit(t, s, "go")
		if s.Mode() != policy.ModePlan {
			t.Errorf("%s: mode %q, want plan", name, s.Mode())
		}
	}
	if asked != 1 {
		t.Errorf("the approver was asked %d times, want once", asked)
	}
}

func TestPlanMode_EarlierApprovalsDoNotCount(t *testing.T) {
	asked := 0
	make := llmtest.Call("runs", `{"text":"make"}`)
	script := llmtest.Play(make, make, llmtest.Call(enterPlan, `{}`), make, llmtest.Call(exitPlan, `{"plan":"p"}`),
		llmtest.Call(enterPlan, `{}`), llmtest.Call(exitPlan, `{"plan":"another"}`), llmtest.Say("done"))
	s := open(t, script, func(c *Config) {
		planning(func(tool.Request) tool.Approval { asked++; return tool.Approval{Allow: true, Scope: tool.ForSession} })(c)
		c.Mode = policy.ModeDefault
	})
	submit(t, s, "go")
	if asked != 4 { // make, make in plan mode, and both plans
		t.Errorf("asked %d times, want 4", asked)
	}
}

func TestPlanMode_ResumeKeepsItAndAnApprovalCanComeLater(t *testing.T) {
	store := &event.Memory{}
	script := llmtest.Play(llmtest.Call(enterPlan, `{}`), llmtest.Call(exitPlan, `{"plan":"p"}`), llmtest.Call("runs", `{"text":"make"}`), llmtest.Say("done"))
	var config Config
	s := open(t, script, func(c *Config) {
		planning(nil)(c)
		c.Store, c.ID, c.Approve = store, "s", ApproveLater
		config = *c
	})
	if out := submit(t, s, "go"); out.Status != StatusAwaitingApproval {
		t.Fatalf("got %+v, want StatusAwaitingApproval", out)
	}
	s.Close()
	config.Mode = policy.ModeAcceptEdits // another host default does not end it
	s, err := Resume(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s.Mode() != policy.ModePlan {
		t.Fatalf("mode %q after a resume, want plan", s.Mode())
	}
	if err := s.Resolve(t.Context(), s.Pending()[0].ID, tool.Approval{Allow: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Continue(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s.Mode() != policy.ModeAcceptEdits {
		t.Errorf("mode %q after the plan was approved, want acceptEdits", s.Mode())
	}
}

func TestPlanMode_RunningSubagentIsBoundAtOnce(t *testing.T) {
	entered := make(chan struct{})
	script := play(map[string][]llmtest.Turn{
		"main":  {spawn(`{"task":"child"}`), llmtest.Call(enterPlan, `{}`), llmtest.Call("open", `{"text":""}`), wait("1"), llmtest.Say("done")},
		"child": {llmtest.Call("block", `{"text":""}`), llmtest.Call("runs", `{"text":"make"}`), llmtest.Call(exitPlan, `{"plan":"p"}`), llmtest.Say("child is done")},
	})
	s := open(t, script, func(c *Config) {
		planning(nil)(c)
		with(fake("open", false, func(ctx context.Context, c *tool.Call, text string) (tool.Result, error) {
			close(entered)
			return echo(ctx, c, text)
		}), fake("block", false, func(ctx context.Context, c *tool.Call, text string) (tool.Result, error) {
			<-entered
			return echo(ctx, c, text)
		}))(c)
	})
	submit(t, s, "main")
	child := s.tree.agents["1"]
	if got := verdicts(child, "runs"); len(got) != 1 || got[0] == "ran" {
		t.Errorf("the subagent's command: %q, want a refusal: bypassPermissions allows it", got)
	}
	if got := verdicts(child, exitPlan); len(got) != 1 || !strings.HasPrefix(got[0], "Unknown tool") {
		t.Errorf("the subagent's exit_plan_mode: %q, want an unknown tool", got)
	}
}

func TestPlanMode_HostEndsItAndOtherChangesDoNot(t *testing.T) {
	script := llmtest.Play(turn(do("change", `{"text":""}`), do(enterPlan, `{}`)), llmtest.Say("1"))
	var s *Session
	s = open(t, script, func(c *Config) {
		planning(nil)(c)
		with(fake("change", false, func(ctx context.Context, call *tool.Call, text string) (tool.Result, error) {
			return tool.Success("changed"), s.Reconfigure(ctx, Change{Remove: []string{"echo"}}) // applied after the round
		}))(c)
	})
	submit(t, s, "go")
	if got := len(records[event.Settings](s)); got != 1 || s.Mode() != policy.ModePlan {
		t.Fatalf("mode %q after %d changes of settings, want plan after one", s.Mode(), got)
	}
	if err := s.SetMode(policy.ModeBypass); err != nil { // the mode from before
		t.Fatal(err)
	}
	if s.Mode() != policy.ModeBypass {
		t.Errorf("mode %q, want what the host set", s.Mode())
	}
}

func TestPlanMode_OfTheHostBecomesDefault(t *testing.T) {
	script := llmtest.Play(llmtest.Call(exitPlan, `{"plan":"p"}`), llmtest.Say("1"), llmtest.Call(exitPlan, `{"plan":"p"}`), llmtest.Say("2"))
	asked := 0
	s := open(t, script, func(c *Config) {
		planning(func(tool.Request) tool.Approval { asked++; return tool.Approval{Allow: true} })(c)
		c.Mode = policy.ModePlan
	})
	submit(t, s, "go")
	if s.Mode() != policy.ModeDefault {
		t.Errorf("mode %q, want default", s.Mode())
	}
	submit(t, s, "again")
	if got := verdicts(s, exitPlan); asked != 1 || !strings.HasPrefix(got[1], "Plan mode is off") {
		t.Errorf("asked %d times, then %q; want one question, then an error", asked, got)
	}
}

func TestPlanMode_DontAskStays(t *testing.T) {
	script := llmtest.Play(llmtest.Call(enterPlan, `{}`), llmtest.Say("done"))
	s := open(t, script, func(c *Config) { planning(nil)(c); c.Mode = policy.ModeDontAsk })
	submit(t, s, "go")
	if s.Mode() != policy.ModeDontAsk {
		t.Errorf("mode %q, want dontAsk, which denies what plan mode asks about", s.Mode())
	}
}

func TestPlanMode_DeferredToolSwitchesToo(t *testing.T) {
	script := llmtest.Play(llmtest.Call(tool.CallName, `{"name":"enter_plan_mode"}`), llmtest.Say("done"))
	s := open(t, script, func(c *Config) { with(tool.Defer(PlanModeTools()[0]))(c) })
	submit(t, s, "go")
	if s.Mode() != policy.ModePlan {
		t.Errorf("mode %q, want plan", s.Mode())
	}
}

func TestPlanMode_UndoOfAnApprovedPlanReturnsToIt(t *testing.T) {
	script := llmtest.Play(llmtest.Call(enterPlan, `{}`), llmtest.Say("planned"), llmtest.Call(exitPlan, `{"plan":"p"}`), llmtest.Say("done"))
	s := open(t, script, planning(func(tool.Request) tool.Approval { return tool.Approval{Allow: true} }))
	submit(t, s, "plan")
	submit(t, s, "do it")
	if s.Mode() != policy.ModeBypass {
		t.Fatalf("mode %q, want bypassPermissions", s.Mode())
	}
	if _, err := s.Undo(t.Context(), event.Parts{Chat: true}); err != nil {
		t.Fatal(err)
	}
	if s.Mode() != policy.ModePlan {
		t.Errorf("mode %q after the undo, want plan", s.Mode())
	}
}
