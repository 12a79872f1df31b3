package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// asksFor asks about calls to the tool write, and counts executed calls.
func asksFor(ran *atomic.Int64, approve func(context.Context, tool.Request) (tool.Approval, error)) func(*Config) {
	return func(c *Config) {
		c.Policy = policy.Func(func(_ context.Context, q policy.Query) policy.Decision {
			if q.Tool == "write" {
				return policy.Decision{Verdict: policy.Ask, Rule: "writes", Reason: "it writes"}
			}
			return policy.Decision{Verdict: policy.Allow, Rule: "rest"}
		})
		c.Approve, c.Store, c.ID = approve, &event.Memory{}, "life"
		with(fake("write", false, func(_ context.Context, _ *tool.Call, text string) (tool.Result, error) {
			ran.Add(1)
			return tool.Success("wrote %s", text), nil
		}))(c)
	}
}

func TestApproval_InterruptedStaysPendingAndIsAskedAgain(t *testing.T) {
	var ran atomic.Int64
	asked := make(chan struct{}, 1)
	block := true
	approve := func(ctx context.Context, _ tool.Request) (tool.Approval, error) {
		if !block {
			return tool.Approval{Allow: true}, nil
		}
		asked <- struct{}{}
		<-ctx.Done()
		return tool.Approval{}, ctx.Err()
	}
	s := open(t, llmtest.Play(calls("echo", "write", "echo"), llmtest.Say("Done.")), asksFor(&ran, approve))
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-asked; cancel() }()
	out, err := s.Submit(ctx, text("go"))
	if out.Status != StatusInterrupted || !errors.Is(err, context.Canceled) || s.State() != AwaitingApproval {
		t.Fatalf("got %+v, %v, %s, want StatusInterrupted, error context.Canceled, state AwaitingApproval", out, err, s.State())
	}
	pending := s.Pending()
	if len(pending) != 1 || pending[0].Name != "write" || string(pending[0].Arguments) != `{"text":"1"}` || pending[0].Rule != "writes" {
		t.Fatalf("got %+v, want 1, [0].Name \"write\", [0].Arguments `{\"text\":\"1\"}`, [0].Rule \"writes\"", pending)
	}
	if b, err := json.Marshal(pending[0]); err != nil || strings.Contains(string(b), `"Agent"`) {
		t.Errorf("%s, %v", b, err)
	}
	if len(records[event.ApprovalResolved](s)) != 0 {
		t.Error("an interruption counts as an answer")
	}
	block = false
	if out, err := s.Continue(t.Context()); err != nil || out.Text != "Done." || ran.Load() != 1 {
		t.Errorf(`got %+v, %v, ran %d times, want no error, Text "Done.", 1 run`, out, err, ran.Load())
	}
}

func TestApproval_LaterIsResolvedFromAnywhere(t *testing.T) {
	for name, answer := range map[string]struct {
		tool.Approval
		runs int64
		want string
	}{
		"allow":    {tool.Approval{Allow: true}, 1, "wrote 0"},
		"refuse":   {tool.Approval{Message: "not today"}, 0, "not today"},
		"changed":  {tool.Approval{Allow: true, Args: json.RawMessage(`{"text":"changed"}`)}, 1, "wrote changed"},
		"invalid":  {tool.Approval{Allow: true, Args: json.RawMessage(`{"txet":"changed"}`)}, 0, "that are invalid"},
		"no scope": {tool.Approval{Allow: true, Scope: tool.ForSession}, 1, "wrote 0"},
	} {
		t.Run(name, func(t *testing.T) {
			var ran atomic.Int64
			script := llmtest.Play(calls("write"), llmtest.Say("Done."))
			s := open(t, script, asksFor(&ran, ApproveLater))
			if out := submit(t, s, "go"); out.Status != StatusAwaitingApproval || s.State() != AwaitingApproval || ran.Load() != 0 {
				t.Fatalf("got %+v in state %s, want StatusAwaitingApproval, state AwaitingApproval, 0 runs", out, s.State())
			}
			if err := s.Resolve(t.Context(), "nonsense", answer.Approval); err == nil {
				t.Error("a call that does not exist was resolved")
			}
			if err := s.Resolve(t.Context(), s.Pending()[0].ID, answer.Approval); err != nil {
				t.Fatal(err)
			}
			if len(s.Pending()) != 0 {
				t.Errorf("got %+v, want none", s.Pending())
			}
			if out, err := s.Continue(t.Context()); err != nil || out.Status != StatusDone || ran.Load() != answer.runs {
				t.Errorf("got %+v, %v, ran %d times, want no error, StatusDone, %d runs", out, err, ran.Load(), answer.runs)
			}
			if got := lastResults(script)[0].Text(); !strings.Contains(got, answer.want) {
				t.Errorf("the model sees %q, want %q", got, answer.want)
			}
		})
	}
}

func TestApproval_ResolveAnswersACallbackThatWaits(t *testing.T) {
	var ran atomic.Int64
	asked := make(chan struct{})
	s := open(t, llmtest.Play(calls("write"), llmtest.Say("Done.")), asksFor(&ran, func(ctx context.Context, _ tool.Request) (tool.Approval, error) {
		close(asked)
		<-ctx.Done()
		return tool.Approval{}, ctx.Err()
	}))
	go func() {
		<-asked
		if err := s.Resolve(context.Background(), s.Pending()[0].ID, tool.Approval{Allow: true}); err != nil {
			t.Error(err)
		}
	}()
	if out := submit(t, s, "go"); out.Text != "Done." || ran.Load() != 1 {
		t.Errorf(`got %+v, ran %d times, want Text "Done.", 1 run`, out, ran.Load())
	}
}

func TestApproval_TakesOneAnswerOfMany(t *testing.T) {
	var ran, taken atomic.Int64
	var answers sync.WaitGroup
	var s *Session
	approve := func(ctx context.Context, r tool.Request) (tool.Approval, error) {
		ready := make(chan struct{}) // the first answer may end the work and with it the test
		for range 8 {
			answers.Go(func() {
				<-ready
				if s.Resolve(t.Context(), r.Call.ID, tool.Approval{Allow: true}) == nil {
					taken.Add(1)
				}
			})
		}
		close(ready)
		<-ctx.Done()
		return tool.Approval{}, ctx.Err()
	}
	s = open(t, llmtest.Play(calls("write"), llmtest.Say("Done.")), asksFor(&ran, approve))
	out, err := s.Submit(t.Context(), text("go"))
	answers.Wait()
	if err != nil || out.Text != "Done." || ran.Load() != 1 {
		t.Errorf("%+v, %v, ran %d times", out, err, ran.Load())
	}
	if n := len(records[event.ApprovalResolved](s)); n != 1 || taken.Load() != 1 {
		t.Errorf("%d answers recorded and %d accepted, want 1 of 8", n, taken.Load())
	}
}

func TestApproval_ForTheSessionCoversTheSameAgainAndNothingElse(t *testing.T) {
	var asked atomic.Int64
	target := "a"
	touch := tool.New(tool.Spec{Name: "touch", Description: "A tool."}, func(context.Context, *tool.Call, echoIn) []policy.Access {
		return []policy.Access{{Kind: policy.Write, Target: "/" + target}}
	}, func(context.Context, *tool.Call, echoIn) (tool.Result, error) { return tool.Success("ok"), nil })
	approve := func(context.Context, tool.Request) (tool.Approval, error) {
		asked.Add(1)
		return tool.Approval{Allow: true, Scope: tool.ForSession}, nil
	}
	store := &event.Memory{}
	script := llmtest.Play(calls("touch"), calls("touch"), llmtest.Say("Done."), calls("touch"), llmtest.Say("Done."), calls("touch"), llmtest.Say("Done."))
	change := func(c *Config) {
		c.Policy, c.Approve, c.Store, c.ID = nil, approve, store, "life"
		with(touch)(c)
	}
	s := open(t, script, change)
	submit(t, s, "go")
	if asked.Load() != 1 {
		t.Errorf("asked %d times for the same", asked.Load())
	}
	ends := records[event.ToolCallEnd](s)
	if d := ends[len(ends)-1].Decision; d.Verdict != policy.Allow || !strings.Contains(d.Rule, "session") {
		t.Errorf(`got %+v, want Verdict policy.Allow, Rule with "session"`, d)
	}
	s.Close()
	s = tookUpFrom(t, store, script, change)
	submit(t, s, "again")
	if asked.Load() != 1 {
		t.Errorf("asked again after a restart: %d times", asked.Load())
	}
	target = "b"
	submit(t, s, "another")
	if asked.Load() != 2 {
		t.Errorf("another file was touched unasked")
	}
}

func TestApproval_AbortStopsTheWork(t *testing.T) {
	var ran atomic.Int64
	s := open(t, llmtest.Play(calls("write", "write"), llmtest.Say("never")), asksFor(&ran, func(context.Context, tool.Request) (tool.Approval, error) {
		return tool.Approval{Abort: true}, nil
	}))
	out, err := s.Submit(t.Context(), text("go"))
	if out.Status != StatusInterrupted || !errors.Is(err, ErrAborted) || ran.Load() != 0 || len(s.Pending()) != 0 {
		t.Errorf("got %+v, %v, ran %d times, want StatusInterrupted, error ErrAborted, 0 runs, none pending", out, err, ran.Load())
	}
}

func TestContinue_AfterAFailureAndAnInterruption(t *testing.T) {
	script := llmtest.Play(llmtest.Turn{Fault: llmtest.Fault{Status: 529}}, calls("echo"), llmtest.Say("Done."))
	store := &event.Memory{}
	s := open(t, script, func(c *Config) { c.Store, c.ID = store, "life" })
	if out, err := s.Submit(t.Context(), text("go")); out.Status != StatusFailed || err == nil {
		t.Fatalf("got %+v, %v, want StatusFailed, an error", out, err)
	}
	s.Close()
	s = tookUpFrom(t, store, script, nil)
	out, err := s.Continue(t.Context())
	if err != nil || out.Text != "Done." || out.Status != StatusDone {
		t.Errorf(`got %+v, %v, want no error, Text "Done.", StatusDone`, out, err)
	}
	if got := said(s.Messages()); got != "system:Be user:go assistant: tool: assistant:Done." {
		t.Errorf("a message was made up: %s", got)
	}
	if _, err := s.Continue(t.Context()); !errors.Is(err, ErrNothingToContinue) {
		t.Errorf("%v", err)
	}
}

func TestInterrupt_StopsTheWorkAndContinueGoesOn(t *testing.T) {
	begun := make(chan struct{}, 1)
	hold := fake("hold", false, func(ctx context.Context, _ *tool.Call, _ string) (tool.Result, error) {
		begun <- struct{}{}
		<-ctx.Done()
		return tool.Result{}, ctx.Err()
	})
	s := open(t, llmtest.Play(calls("hold"), llmtest.Say("Well.")), with(hold))
	go func() { <-begun; s.Interrupt() }()
	if out, err := s.Submit(t.Context(), text("go")); out.Status != StatusInterrupted || !errors.Is(err, ErrInterrupted) {
		t.Fatalf("got %+v, %v, want StatusInterrupted, error ErrInterrupted", out, err)
	}
	if out, err := s.Continue(t.Context()); err != nil || out.Text != "Well." {
		t.Errorf(`got %+v, %v, want no error, Text "Well."`, out, err)
	}
	s.Interrupt() // with nothing to do
}

func TestQueue_IsListedAndWithdrawn(t *testing.T) {
	s := open(t, llmtest.Play(llmtest.Say("One."), llmtest.Say("Two.")), func(c *Config) { c.Store = &event.Memory{} })
	_ = s.Steer(text("left"))
	_ = s.FollowUp(text("right"))
	_ = s.FollowUp(text("more"))
	q := s.Queue()
	if len(q) != 3 || q[0].FollowUp || q[1].Message.Text() != "right" || !q[2].FollowUp {
		t.Fatalf(`got %+v, want 3, no [0].FollowUp, [1].Message.Text "right", [2].FollowUp`, q)
	}
	for _, seq := range []event.Seq{q[0].Seq, q[1].Seq} {
		if err := s.Withdraw(seq); err != nil {
			t.Error(err)
		}
	}
	if err := s.Withdraw(q[0].Seq); err == nil {
		t.Error("a message was withdrawn twice")
	}
	submit(t, s, "go")
	if got := said(s.Messages()); got != "system:Be user:go assistant:One. user:more assistant:Two." {
		t.Error(got)
	}
}

func TestAgents_AreListedSteeredAndInterruptedByPath(t *testing.T) {
	begun := make(chan struct{}, 1)
	hold := fake("hold", false, func(ctx context.Context, _ *tool.Call, _ string) (tool.Result, error) {
		begun <- struct{}{}
		<-ctx.Done()
		return tool.Result{}, ctx.Err()
	})
	script := play(map[string][]llmtest.Turn{
		"main": {spawn(`{"task":"child"}`), wait("1"), llmtest.Say("Done.")}, "child": {calls("hold"), llmtest.Say("never")},
	})
	s := open(t, script, with(hold))
	done := make(chan struct{})
	go func() {
		defer close(done)
		<-begun
		list := s.Agents()
		if len(list) != 2 || list[0].Path != "" || list[1].Path != "1" || list[1].Status != "running" || list[1].State != Processing || list[1].Task != "child" {
			t.Errorf(`got %+v, want 2, [0].Path "", [1].Path "1", [1].Status "running", [1].State Processing, [1].Task "child"`, list)
		}
		if err := s.SteerAgent("1", text("left")); err != nil {
			t.Error(err)
		}
		if got := s.Agents()[1].Queue; len(got) != 1 || got[0].Message.Text() != "left" {
			t.Errorf(`got %+v, want 1, [0].Message.Text "left"`, got)
		}
		if err := s.SteerAgent("7", text("left")); err == nil {
			t.Error("an agent that does not exist was steered")
		}
		if err := s.InterruptAgent("1"); err != nil {
			t.Error(err)
		}
	}()
	if out := submit(t, s, "main"); out.Text != "Done." {
		t.Errorf(`got %+v, want Text "Done."`, out)
	}
	<-done
	if start := records[event.SubagentStart](s); len(start) != 1 || start[0].Call == "" {
		t.Errorf(`got %+v, want 1, [0].Call not ""`, start)
	}
	all := strings.Fields(kinds(s))
	if i := strings.Join(all, " "); strings.Index(i, "SUBAGENT_START") > strings.LastIndex(i, "SESSION_START") {
		t.Errorf("a subagent starts before it is announced: %s", i)
	}
}

func TestReconfigure_ToolsComeAndGoBetweenTwoCalls(t *testing.T) {
	var s *Session
	added := fake("added", true, echo)
	change := fake("change", false, func(ctx context.Context, _ *tool.Call, _ string) (tool.Result, error) {
		return tool.Success("ok"), s.Reconfigure(ctx, Change{Add: []tool.Tool{added}, Remove: []string{"echo"}, System: new("Be better.")})
	})
	script := llmtest.Play(calls("change", "echo"), calls("added", "echo"), llmtest.Say("Done."))
	s = open(t, script, with(change))
	submit(t, s, "go")
	names := func(r *llm.Request) (names []string) {
		for _, d := range r.Tools {
			if !isOwnTool(d.Name) {
				names = append(names, d.Name)
			}
		}
		return names
	}
	r := script.Requests()
	if got := strings.Join(names(r[0]), " "); got != "echo write change" {
		t.Errorf("first %s", got)
	}
	if got := strings.Join(names(r[1]), " "); got != "write change added" || r[1].Messages[0].Text() != "Be better." {
		t.Errorf("then %s, %q", got, r[1].Messages[0].Text())
	}
	if got := r[1].Messages[len(r[1].Messages)-1]; !strings.Contains(sketch([]llm.Message{got}), `"1"`) {
		t.Errorf("a call of the answer at hand lost its tool: %s", sketch(r[1].Messages))
	}
	ends := records[event.ToolCallEnd](s)
	if ends[2].Error != nil || ends[3].Error == nil || ends[3].Error.Code != tool.UnknownTool {
		t.Errorf("got %+v, want [2].Error nil, [3].Error not nil, [3].Error.Code tool.UnknownTool", ends)
	}
	if set := records[event.Settings](s); len(set) != 1 || set[0].System != "Be better." {
		t.Errorf("one change makes %d records", len(set))
	}
	if b := records[event.CacheBroken](s); len(b) != 1 {
		t.Errorf("got %+v, want 1", b)
	}
}

// This happens when MCP servers get tools while the host changes something else.
func TestReconfigure_ChangesAtTheSameTimeAllApply(t *testing.T) {
	s := open(t, llmtest.Play(llmtest.Say("Done.")), nil)
	var group sync.WaitGroup
	const changes = 40
	for i := range changes {
		group.Go(func() { replace(t, s, Change{Add: []tool.Tool{fake(fmt.Sprintf("tool%d", i), true, echo)}}) })
	}
	group.Wait()
	submit(t, s, "go")
	set := records[event.Settings](s)
	names := set[len(set)-1].Tools
	for i := range changes {
		if name := fmt.Sprintf("tool%d", i); !slices.Contains(names, name) {
			t.Errorf("%s is missing in %q", name, names)
		}
	}
}

func TestReconfigure_ModelBringsWhatGoesWithIt(t *testing.T) {
	script := llmtest.Play(llmtest.Say("1"), llmtest.Say("2"), llmtest.Say("3"), llmtest.Say("4"))
	other := &tool.Registry{}
	if err := other.Register(fake("theirs", true, echo)); err != nil {
		t.Fatal(err)
	}
	s := open(t, script, func(c *Config) {
		c.Subagents.MaxDepth = -1
		c.Adapt = func(_ context.Context, provider, model string) (Setup, error) {
			if model == "broken" {
				return Setup{}, errors.New("no such model")
			}
			return Setup{Tools: other, System: "You are " + model, Vision: true, ContextWindow: 500}, nil
		}
	})
	if err := s.Reconfigure(t.Context(), Change{Add: []tool.Tool{fake("mine", true, echo)}}); err != nil {
		t.Fatal(err)
	}
	if err := s.SetModel("", "broken"); err == nil {
		t.Error("a model that cannot be set up was taken")
	}
	submit(t, s, "one")
	if err := s.SetModel("", "theirs-1"); err != nil {
		t.Fatal(err)
	}
	submit(t, s, "two")
	if err := s.Reconfigure(t.Context(), Change{Model: "theirs-2", Keep: true}); err != nil {
		t.Fatal(err)
	}
	submit(t, s, "three")
	show := func(r *llm.Request) string {
		out := r.Model + ": " + r.Messages[0].Text()
		for _, d := range r.Tools {
			out += " " + d.Name
		}
		return out
	}
	for i, want := range []string{"m: Be good. echo write mine", "theirs-1: You are theirs-1 theirs mine", "theirs-2: You are theirs-1 theirs mine"} {
		if got := show(script.Requests()[i]); got != want {
			t.Errorf("request %d is %q, want %q", i, got, want)
		}
	}
	if got := s.state.Setup(); !got.Vision || got.Window != 0 {
		t.Errorf("got %+v, want Vision, Window 0", got)
	}
}

func TestRecords_EveryToolCallEndSaysWhatWasDecided(t *testing.T) {
	script := llmtest.Play(calls("echo", "nonsense", "boom", AskUser), llmtest.Say("Done."))
	s := open(t, script, with(AskUserTool(), tool.NewRaw(tool.Spec{Name: "boom", Input: []byte(`{"type":"object"}`)}, nil,
		func(context.Context, *tool.Call) (tool.Result, error) { panic("oops") })))
	submit(t, s, "go")
	ends := records[event.ToolCallEnd](s)
	if len(ends) != 4 {
		t.Fatalf("%d ends", len(ends))
	}
	for _, end := range ends {
		if end.Decision.Rule == "" {
			t.Errorf(`%s: got %+v, want Rule not ""`, end.Name, end.Decision)
		}
	}
}

func TestSubagent_OfAnotherModelGetsWhatGoesWithIt(t *testing.T) {
	other := &tool.Registry{}
	if err := other.Register(fake("theirs", true, echo), fake("danger", false, echo)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"free": "other: theirs danger", "bound": "other: echo"} {
		script := play(map[string][]llmtest.Turn{
			"main": {spawn(`{"task":"child","model":"other"}`), wait("1"), llmtest.Say("Done.")}, "child": {llmtest.Say("Yes.")},
		})
		s := open(t, script, func(c *Config) {
			c.Adapt = func(context.Context, string, string) (Setup, error) {
				return Setup{Tools: other, System: "You are another."}, nil
			}
			if name == "bound" { // names that other tools do not have
				c.Deny = []string{"write"}
			}
		})
		submit(t, s, "main")
		got := ""
		for _, r := range script.Requests() {
			if r.Model == "other" {
				got = r.Model + ":"
				for _, d := range r.Tools {
					got += " " + d.Name
				}
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestSubagent_ClosedGivesUpWhatWaits(t *testing.T) {
	var ran atomic.Int64
	script := play(map[string][]llmtest.Turn{
		"main":  {spawn(`{"task":"child"}`), wait("1"), llmtest.Call("close_agent", `{"agent_id":"1"}`), llmtest.Say("Done.")},
		"child": {calls("write"), llmtest.Say("never")},
	})
	s := open(t, script, asksFor(&ran, ApproveLater))
	submit(t, s, "main")
	if got := s.Pending(); len(got) != 0 {
		t.Errorf("a call of a closed agent waits: %+v", got)
	}
	if _, err := s.Continue(t.Context()); !errors.Is(err, ErrNothingToContinue) || ran.Load() != 0 {
		t.Errorf("%v, ran %d times", err, ran.Load())
	}
}

// A link can be exchanged while a question waits: it then leads to another file than the approved one.
func TestApproval_DoesNotHoldForACallThatHasComeToAccessSomethingElse(t *testing.T) {
	target, ran := "/a", 0
	touch := tool.New(tool.Spec{Name: "touch"}, func(context.Context, *tool.Call, echoIn) []policy.Access {
		return []policy.Access{{Kind: policy.Write, Target: target}}
	}, func(context.Context, *tool.Call, echoIn) (tool.Result, error) {
		ran++
		return tool.Success("done"), nil
	})
	script := llmtest.Play(calls("touch"), llmtest.Say("Done."))
	s := open(t, script, func(c *Config) {
		with(touch)(c)
		c.Policy, c.Approve = askPolicy{}, ApproveLater
	})
	submit(t, s, "go")
	for _, want := range []string{"/a", "/b"} {
		pending := s.Pending()
		if len(pending) != 1 || len(pending[0].Accesses) != 1 || pending[0].Accesses[0].Target != want || ran != 0 {
			t.Fatalf("waiting: %+v after %d runs, want a write of %s and no run", pending, ran, want)
		}
		if err := s.Resolve(t.Context(), pending[0].ID, tool.Approval{Allow: true}); err != nil {
			t.Fatal(err)
		}
		target = "/b"
		out, err := s.Continue(t.Context())
		if wanted := map[string]Status{"/a": StatusAwaitingApproval, "/b": StatusDone}[want]; err != nil || out.Status != wanted {
			t.Fatalf("%s was approved: got %+v, %v, want %s", want, out, err, wanted)
		}
	}
	if ran != 1 {
		t.Errorf("the tool ran %d times, want once", ran)
	}
}
