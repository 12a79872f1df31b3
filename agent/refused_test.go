package agent

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/policy/rules"
	"github.com/reins-agent/reins/tool"
)

// asking has a policy that asks about write, and denies erase.
func asking(c *Config) {
	c.Policy = policy.Func(func(_ context.Context, q policy.Query) policy.Decision {
		switch q.Tool {
		case "write":
			return policy.Decision{Verdict: policy.Ask, Code: "writes", Rule: "test", Reason: "it writes"}
		case "erase":
			return policy.Decision{Verdict: policy.Deny, Code: "erases", Rule: "test", Reason: "it erases"}
		}
		return policy.Decision{Verdict: policy.Allow, Rule: "test"}
	})
	with(fake("erase", false, echo))(c)
}

func TestOutcome_ListsTheCallsThatWereRefused(t *testing.T) {
	script := llmtest.Play(calls("write", "echo", "erase"), llmtest.Say("I wrote it."), llmtest.Say("Yes."))
	s := open(t, script, asking)
	out := submit(t, s, "write it")
	if out.Status != StatusDone || len(out.Refused) != 2 {
		t.Fatalf("got %+v, want StatusDone and 2 refused calls", out)
	}
	write, erase := out.Refused[0], out.Refused[1]
	if write.Tool != "write" || write.Code != "writes" || !strings.Contains(write.Reason, "no approver is configured") || write.ID == "" {
		t.Errorf("got %+v", write)
	}
	if erase.Tool != "erase" || erase.Code != "erases" || !strings.Contains(erase.Reason, "it erases") {
		t.Errorf("got %+v", erase)
	}
	if out := submit(t, s, "did you?"); len(out.Refused) != 0 {
		t.Errorf("the next input has the refusals of the one before: %+v", out.Refused)
	}
}

// A call that was approved and failed, or whose arguments were wrong, was not refused.
func TestOutcome_FailedCallsAreNotRefused(t *testing.T) {
	denied := fake("denied", false, func(context.Context, *tool.Call, string) (tool.Result, error) {
		return tool.Failure(tool.PermissionDenied, "open /root: permission denied"), nil
	})
	write := fake("write", false, func(context.Context, *tool.Call, string) (tool.Result, error) {
		return tool.Failure(tool.PermissionDenied, "the disk is read-only"), nil
	})
	s := open(t, llmtest.Play(calls("denied", "write", "nothing"), llmtest.Call("echo", `{"text":1}`), llmtest.Say("No.")), func(c *Config) {
		asking(c)
		with(denied, write)(c)
		c.Approve = func(context.Context, tool.Request) (tool.Approval, error) { return tool.Approval{Allow: true}, nil }
	})
	if out := submit(t, s, "try"); len(out.Refused) != 0 {
		t.Errorf("got %+v, want none", out.Refused)
	}
}

func TestOutcome_RefusedCallsOfSubagentsAreListed(t *testing.T) {
	script := play(map[string][]llmtest.Turn{
		"main": {spawn(`{"task":"work"}`), wait("1"), llmtest.Say("It is written.")},
		"work": {calls("write"), llmtest.Say("I wrote it.")},
	})
	s := open(t, script, asking)
	if out := submit(t, s, "main"); len(out.Refused) != 1 || out.Refused[0].Agent != "1" || out.Refused[0].Tool != "write" {
		t.Errorf("got %+v, want one call of agent 1", out.Refused)
	}
}

// The records alone say which calls were refused: another process continues the work.
func TestOutcome_RefusedCallsSurviveARestart(t *testing.T) {
	var c Config
	s := open(t, llmtest.Play(calls("erase"), llmtest.Fail(400), llmtest.Say("I erased it.")), func(config *Config) {
		asking(config)
		config.ID, config.Store = "erasing", &event.Memory{}
		c = *config
	})
	if out, err := s.Submit(t.Context(), text("erase it")); err == nil || len(out.Refused) != 1 {
		t.Fatalf("got %+v, %v", out, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := Resume(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if out, err := s.Continue(t.Context()); err != nil || out.Status != StatusDone || len(out.Refused) != 1 || out.Refused[0].Tool != "erase" {
		t.Errorf("got %+v, %v", out, err)
	}
}

func TestNew_WarnsOnceIfNobodyCanApprove(t *testing.T) {
	approve := func(context.Context, tool.Request) (tool.Approval, error) { return tool.Approval{Allow: true}, nil }
	for name, c := range map[string]struct {
		policy  policy.Policy
		mode    policy.Mode
		approve func(context.Context, tool.Request) (tool.Approval, error)
		want    int
	}{
		"default policy":        {nil, "", nil, 1},
		"rules":                 {rules.Must("Bash(go test:*)"), policy.ModeAcceptEdits, nil, 1},
		"an approver":           {nil, "", approve, 0},
		"a mode that denies":    {rules.Policy{}, policy.ModeDontAsk, nil, 0},
		"everything is allowed": {policy.AllowAll{}, "", nil, 0},
		"a list of tools":       {policy.All(policy.Only("echo"), rules.ReadOnly()), "", nil, 0},
		"a function":            {policy.Func(policy.AllowAll{}.Decide), "", nil, 1},
	} {
		s := open(t, llmtest.Play(llmtest.Say("Hello."), llmtest.Say("Hello.")), func(config *Config) {
			config.Policy, config.Mode, config.Approve = c.policy, c.mode, c.approve
		})
		atOpen := len(records[event.Warning](s))
		submit(t, s, "hello")
		submit(t, s, "hello")
		list := records[event.Warning](s)
		if atOpen != c.want || len(list) != c.want {
			t.Errorf("%s: %d warnings at first and then %+v, want %d", name, atOpen, list, c.want)
		}
		if c.want > 0 && (list[0].Code != "no_approver" || !strings.Contains(list[0].Message, "set Approve")) {
			t.Errorf("%s: got %+v", name, list[0])
		}
	}
}

// The approver that the session has while it works counts, not the one that it was opened with.
func TestResume_DoesNotWarnIfTheApproverWasReplaced(t *testing.T) {
	approve := func(context.Context, tool.Request) (tool.Approval, error) { return tool.Approval{Allow: true}, nil }
	var config Config
	s := open(t, llmtest.Play(llmtest.Say("One."), llmtest.Say("Two.")), func(c *Config) {
		c.Store, c.ID, c.Policy, c.Approve = &event.Memory{}, "s", nil, approve
		config = *c
	})
	submit(t, s, "hello")
	s.Close()
	config.Approve = nil
	s, err := Resume(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	replace(t, s, Change{Approve: approve})
	submit(t, s, "hello")
	if list := records[event.Warning](s); len(list) != 0 {
		t.Errorf("got %+v, want no warning", list)
	}
}

func TestPending_IsAnArrayInJSON(t *testing.T) {
	s := open(t, llmtest.Play(), nil)
	if b, err := json.Marshal(s.Pending()); err != nil || string(b) != "[]" {
		t.Errorf("got %s, %v", b, err)
	}
}
