package agent

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// frozen is a policy that denies the tool write.
var frozen = policy.Func(func(_ context.Context, q policy.Query) policy.Decision {
	if q.Tool == "write" {
		return policy.Decision{Verdict: policy.Deny, Rule: "frozen", Reason: "nothing may be written now"}
	}
	return policy.Decision{Verdict: policy.Allow, Rule: "rest"}
})

func replace(t *testing.T, s *Session, ch Change) {
	t.Helper()
	if err := s.Reconfigure(context.Background(), ch); err != nil {
		t.Error(err)
	}
}

func TestReplace_PolicyDeniesTheNextCallOfTheSameAnswer(t *testing.T) {
	var s *Session
	wrote := 0
	s = open(t, llmtest.Play(calls("write", "write", "echo"), llmtest.Say("Done.")), with(fake("write", false,
		func(context.Context, *tool.Call, string) (tool.Result, error) {
			wrote++
			replace(t, s, Change{Policy: frozen})
			return tool.Success("Written."), nil
		})))
	submit(t, s, "go")
	ends := records[event.ToolCallEnd](s)
	if wrote != 1 || ends[0].Decision.Verdict != policy.Allow || ends[1].Decision.Rule != "frozen" || ends[2].Error != nil {
		t.Errorf("wrote %d times; got %+v", wrote, ends)
	}
	if set := records[event.Settings](s); len(set) != 1 || !set[0].PolicySet || set[0].ApproverSet {
		t.Errorf("recorded %+v, want one replaced policy", set)
	}
}

func TestReplace_CallThatWaitsIsJudgedByThePolicyOfItsTime(t *testing.T) {
	var s *Session
	var ran atomic.Int64
	s = open(t, llmtest.Play(calls("write", "write"), llmtest.Say("Done.")), asksFor(&ran, func(context.Context, tool.Request) (tool.Approval, error) {
		replace(t, s, Change{Policy: frozen})
		return tool.Approval{Allow: true}, nil
	}))
	submit(t, s, "go")
	ends := records[event.ToolCallEnd](s)
	if ran.Load() != 1 || ends[0].Decision.Rule != "writes" || ends[1].Decision.Rule != "frozen" {
		t.Errorf("ran %d times; got %+v", ran.Load(), ends)
	}
}

func TestReplace_ApproverOfACallThatWaits(t *testing.T) {
	var s *Session
	var ran atomic.Int64
	asked := make(chan struct{})
	var late sync.WaitGroup
	late.Add(1)
	s = open(t, llmtest.Play(calls("write", "write"), llmtest.Say("Done.")), asksFor(&ran, func(ctx context.Context, _ tool.Request) (tool.Approval, error) {
		defer late.Done()
		close(asked)
		<-ctx.Done()
		return tool.Approval{Allow: true}, nil // too late
	}))
	var second atomic.Int64
	go func() {
		<-asked
		replace(t, s, Change{Approve: func(context.Context, tool.Request) (tool.Approval, error) {
			second.Add(1)
			return tool.Approval{Message: "the new one says no"}, nil
		}})
	}()
	submit(t, s, "go")
	late.Wait()
	answers := records[event.ApprovalResolved](s)
	if ran.Load() != 0 || second.Load() != 2 || len(records[event.ApprovalRequested](s)) != 2 || len(answers) != 2 || answers[0].Reason != "the new one says no" {
		t.Errorf("ran %d, asked the new approver %d times; answers %+v", ran.Load(), second.Load(), answers)
	}
	if set := records[event.Settings](s); len(set) != 1 || set[0].PolicySet || !set[0].ApproverSet {
		t.Errorf("recorded %+v, want one replaced approver", set)
	}
}

func TestReplace_ApproverOfASessionThatHadNone(t *testing.T) {
	var ran atomic.Int64
	s := open(t, llmtest.Play(calls("write"), calls("write"), llmtest.Say("Done.")), asksFor(&ran, nil))
	replace(t, s, Change{Approve: func(context.Context, tool.Request) (tool.Approval, error) { return tool.Approval{Allow: true}, nil }})
	submit(t, s, "go")
	if ran.Load() != 2 {
		t.Errorf("ran %d times, want 2", ran.Load())
	}
}

func TestReplace_ANoCountsUnderAPolicyThatWouldAllow(t *testing.T) {
	var ran atomic.Int64
	script := llmtest.Play(calls("write"), llmtest.Say("Done."))
	s := open(t, script, asksFor(&ran, ApproveLater))
	submit(t, s, "go")
	if err := s.Resolve(t.Context(), s.Pending()[0].ID, tool.Approval{Message: "not today"}); err != nil {
		t.Fatal(err)
	}
	replace(t, s, Change{Policy: policy.AllowAll{}})
	if _, err := s.Continue(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := lastResults(script)[0].Text(); ran.Load() != 0 || !strings.Contains(got, "not today") {
		t.Errorf("ran %d times; the model sees %q", ran.Load(), got)
	}
}

func TestReplace_ADenialCountsAfterAYesThatWasGivenBefore(t *testing.T) {
	var ran atomic.Int64
	s := open(t, llmtest.Play(calls("write"), llmtest.Say("Done.")), asksFor(&ran, ApproveLater))
	submit(t, s, "go")
	if err := s.Resolve(t.Context(), s.Pending()[0].ID, tool.Approval{Allow: true}); err != nil {
		t.Fatal(err)
	}
	replace(t, s, Change{Policy: frozen})
	if _, err := s.Continue(t.Context()); err != nil {
		t.Fatal(err)
	}
	if ends := records[event.ToolCallEnd](s); ran.Load() != 0 || ends[0].Decision.Rule != "frozen" {
		t.Errorf("ran %d times; got %+v", ran.Load(), ends)
	}
}

func TestReplace_SubagentsFollow(t *testing.T) {
	var s *Session
	wrote := 0
	script := play(map[string][]llmtest.Turn{
		"main": {spawn(`{"task":"one"}`), wait("1"), llmtest.Say("Done.")},
		"one":  {calls("write", "write"), llmtest.Say("Done.")},
	})
	s = open(t, script, with(fake("write", false, func(context.Context, *tool.Call, string) (tool.Result, error) {
		wrote++
		replace(t, s, Change{Policy: frozen})
		return tool.Success("Written."), nil
	})))
	submit(t, s, "main")
	if got := resultsBy(s, "1"); wrote != 1 || !strings.Contains(got[1], "nothing may be written now") {
		t.Errorf("wrote %d times; results %q", wrote, got)
	}
}

func TestReplace_InvalidChangeReplacesNothing(t *testing.T) {
	var ran atomic.Int64
	s := open(t, llmtest.Play(calls("write"), llmtest.Say("Done.")), asksFor(&ran, func(context.Context, tool.Request) (tool.Approval, error) {
		return tool.Approval{Allow: true}, nil
	}))
	if err := s.Reconfigure(t.Context(), Change{Policy: frozen, ContextWindow: -1}); err == nil {
		t.Fatal("a negative window was accepted")
	}
	submit(t, s, "go")
	if ran.Load() != 1 || len(records[event.Settings](s)) != 0 {
		t.Errorf("ran %d times, recorded %+v", ran.Load(), records[event.Settings](s))
	}
}

// Every decision comes from either of the two policies, and its outcome agrees with it.
func TestReplace_WhileAgentsWork(t *testing.T) {
	const n = 20
	turns := map[string][]llmtest.Turn{"main": nil}
	for i := range 4 {
		turns["main"] = append(turns["main"], spawn(fmt.Sprintf(`{"task":"t%d"}`, i)))
		for range n {
			turns[fmt.Sprintf("t%d", i)] = append(turns[fmt.Sprintf("t%d", i)], calls("write", "echo", "echo"))
		}
		turns[fmt.Sprintf("t%d", i)] = append(turns[fmt.Sprintf("t%d", i)], llmtest.Say("Done."))
	}
	turns["main"] = append(turns["main"], wait("1"), wait("2"), wait("3"), wait("4"), calls("write"), llmtest.Say("Done."))
	yes := func(context.Context, tool.Request) (tool.Approval, error) { return tool.Approval{Allow: true}, nil }
	var ran atomic.Int64
	s := open(t, play(turns), func(c *Config) { asksFor(&ran, yes)(c); c.LoopWindow = -1 })
	asks := s.Policy()
	over, stop := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			replace(t, s, Change{Policy: []policy.Policy{frozen, asks}[i%2], Approve: yes})
			replace(t, s, Change{Effort: new(string)})
		}
	}()
	submit(t, s, "main")
	close(stop)
	<-over
	for _, r := range s.log.Records(0) {
		d, ok := r.Data.(event.ToolCallEnd)
		if !ok || d.Name != "write" {
			continue
		}
		if rule := d.Decision.Rule; rule != "frozen" && rule != "writes" || (rule == "frozen") != (d.Error != nil) {
			t.Errorf("%s: rule %q, error %v", r.Agent, rule, d.Error)
		}
	}
}
