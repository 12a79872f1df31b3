package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/hook"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

func hooks(list ...hook.Hook) *hook.Set {
	s, err := hook.New(list...)
	if err != nil {
		panic(err)
	}
	return s
}

// on is a hook that returns f's result.
func on(e hook.Event, f func(in hook.Input) hook.Output) hook.Hook {
	return hook.Hook{Event: e, Name: "test", Func: func(_ context.Context, in hook.Input) (hook.Output, error) { return f(in), nil }}
}

func hooked(list ...hook.Hook) func(*Config) {
	return func(c *Config) { c.Hooks = hooks(list...) }
}

// observer counts the inputs that hooks get for every event.
type observer struct {
	mu   sync.Mutex
	seen []string
}

func (o *observer) all() (list []hook.Hook) {
	for _, e := range hook.Events() {
		list = append(list, on(e, func(in hook.Input) hook.Output {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.seen = append(o.seen, strings.TrimSpace(fmt.Sprintf("%s %s %s", in.Event, in.Agent, strings.Join([]string{in.Tool + in.Source + in.Prompt + in.Kind + in.Trigger, in.AgentType}, " "))))
			return hook.Output{}
		}))
	}
	return list
}

func (o *observer) sorted() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Sorted(slices.Values(o.seen))
}

func TestHooks_EachFiresOnceInASessionWithASubagentAndAResume(t *testing.T) {
	var o observer
	store := &event.Memory{}
	config := func(c *Config) {
		c.Hooks, c.Store, c.ID = hooks(o.all()...), store, "life"
		c.Policy = policy.Func(func(_ context.Context, q policy.Query) policy.Decision {
			switch q.Tool {
			case "write":
				return policy.Decision{Verdict: policy.Ask, Rule: "writes"}
			case "broken":
				return policy.Decision{Verdict: policy.Deny, Rule: "never"}
			}
			return policy.Decision{Verdict: policy.Allow, Rule: "rest"}
		})
		c.Approve = ApproveLater
		with(fake("broken", false, echo), fake("fails", false, func(context.Context, *tool.Call, string) (tool.Result, error) {
			return tool.Result{}, errors.New("it fails")
		}))(c)
	}
	script := play(map[string][]llmtest.Turn{
		"main":  {spawn(`{"task":"child","agent_type":"Explore"}`), wait("1"), calls("fails", "broken"), calls("write"), llmtest.Say("Done.")},
		"child": {echoCall("x"), llmtest.Say("There are three.")},
	})
	s := open(t, script, config)
	if out := submit(t, s, "main"); out.Status != StatusAwaitingApproval {
		t.Fatalf("%+v", out)
	}
	c := s.config
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := Resume(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil { // without work there are no hooks
		t.Fatal(err)
	}
	if s, err = Resume(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if err := s.Resolve(t.Context(), s.Pending()[0].ID, tool.Approval{Allow: true}); err != nil {
		t.Fatal(err)
	}
	if out, err := s.Continue(t.Context()); err != nil || out.Text != "Done." {
		t.Fatalf("%+v, %v", out, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"Notification  permission_prompt", "PermissionDenied  broken", "PermissionRequest  write",
		"PostToolUse  spawn_agent", "PostToolUse  wait", "PostToolUse  write", "PostToolUse 1 echo Explore", "PostToolUseFailure  fails",
		"PreToolUse  broken", "PreToolUse  fails", "PreToolUse  spawn_agent", "PreToolUse  wait", "PreToolUse  write", "PreToolUse 1 echo Explore",
		"SessionEnd", "SessionEnd", "SessionStart  resume", "SessionStart  startup", "Setup  init", "Stop", "SubagentStart 1  Explore", "SubagentStop 1  Explore",
		"UserPromptSubmit  main",
	}
	if diff := cmp.Diff(want, o.sorted()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	var recorded []string
	for _, r := range s.log.Records(0) {
		if d, ok := r.Data.(event.Hook); ok {
			recorded = append(recorded, d.Event+" "+r.Agent)
		}
	}
	if len(recorded) != len(want) {
		t.Errorf("%d runs are recorded, want %d: %v", len(recorded), len(want), recorded)
	}
}

func TestHooks_BeforeToolsBlockChangeAndAsk(t *testing.T) {
	answer := func(out hook.Output) hook.Hook {
		return on(hook.PreToolUse, func(hook.Input) hook.Output { return out })
	}
	for name, c := range map[string]struct {
		hook    hook.Hook
		verdict policy.Verdict
		want    string
		asked   int
		outcome event.HookOutcome
	}{
		"nothing":            {answer(hook.Output{}), policy.Allow, "0", 0, event.HookOK},
		"deny":               {answer(hook.Output{Decision: hook.Deny, Reason: "no writes"}), policy.Allow, "write was denied by a hook: no writes", 0, event.HookBlocked},
		"change":             {answer(hook.Output{Input: []byte(`{"text":"changed"}`)}), policy.Allow, "changed", 0, event.HookChanged},
		"change to nonsense": {answer(hook.Output{Input: []byte(`{"txet":"changed"}`)}), policy.Allow, "it changed the arguments to invalid ones", 0, event.HookChanged},
		"ask":                {answer(hook.Output{Decision: hook.Ask, Reason: "sure?"}), policy.Allow, "0", 1, event.HookAsked},
		"ask what is denied": {answer(hook.Output{Decision: hook.Ask}), policy.Deny, "write was denied", 0, event.HookAsked},
		"allow what asks":    {answer(hook.Output{Decision: hook.Allow}), policy.Ask, "0", 1, event.HookOK},
		"allow the denied":   {answer(hook.Output{Decision: hook.Allow}), policy.Deny, "write was denied", 0, event.HookOK},
		"failure":            {hook.Hook{Event: hook.PreToolUse, Func: func(context.Context, hook.Input) (hook.Output, error) { panic("oops") }}, policy.Allow, `failed: it panicked: oops`, 0, event.HookBlocked},
		"missing program":    {hook.Hook{Event: hook.PreToolUse, Command: "./missing"}, policy.Allow, `the hook "./missing" failed: exit code 127`, 0, event.HookBlocked},
		"lifted failure":     {hook.Hook{Event: hook.PreToolUse, Command: "./missing", OnError: hook.AllowOnError}, policy.Allow, "0", 0, event.HookFailed},
	} {
		asked := 0
		script := llmtest.Play(calls("write"), llmtest.Say("Done."))
		s := open(t, script, func(cfg *Config) {
			cfg.Hooks = hooks(c.hook)
			cfg.Policy = policy.Func(func(context.Context, policy.Query) policy.Decision {
				return policy.Decision{Verdict: c.verdict, Rule: "test"}
			})
			cfg.Approve = func(context.Context, tool.Request) (tool.Approval, error) {
				asked++
				return tool.Approval{Allow: true}, nil
			}
		})
		submit(t, s, "go")
		if r := lastResults(script)[0]; !strings.Contains(r.Text(), c.want) || asked != c.asked {
			t.Errorf("%s: the result is %q after %d questions, want %q after %d", name, r.Text(), asked, c.want, c.asked)
		}
		if runs := records[event.Hook](s); len(runs) != 1 || runs[0].Outcome != c.outcome || runs[0].Call == "" {
			t.Errorf("%s: recorded %+v, want outcome %s", name, runs, c.outcome)
		}
	}
}

// A command is a real process, even for subagent calls, whose environment may be confined.
func TestHooks_CommandsGuardSubagentsToo(t *testing.T) {
	script := play(map[string][]llmtest.Turn{
		"main":  {spawn(`{"task":"child","working_dir":"sub"}`), wait("1"), llmtest.Say("Done.")},
		"child": {calls("write"), llmtest.Say("Refused.")},
	})
	s := open(t, script, func(c *Config) {
		c.Hooks = hooks(hook.Hook{Event: hook.PreToolUse, Matcher: "write", Command: `pwd >> ran; echo "not in $HOOK_CWD" >&2; exit 2`})
		if err := os.Mkdir(filepath.Join(c.Env.Info().Dir, "sub"), 0o755); err != nil {
			t.Fatal(err)
		}
	})
	submit(t, s, "main")
	var results string
	for _, r := range s.log.Records(0) {
		if d, ok := r.Data.(event.ToolCallEnd); ok && r.Agent == "1" {
			results += d.Model
		}
	}
	dir := s.config.Env.Info().Dir
	if want := "write was denied by a hook: not in " + dir + "/sub"; results != want {
		t.Errorf("got %q, want %q", results, want)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "ran")); err != nil || string(b) != dir+"\n" {
		t.Errorf("the hook ran in %q (%v), want %s, once", b, err, dir)
	}
}

func TestHooks_CallThatWaitedForAnApprovalIsNotGivenToThemAgain(t *testing.T) {
	for name, out := range map[string]hook.Output{"changed": {Input: []byte(`{"text":"changed"}`)}, "asked": {Decision: hook.Ask, Reason: "sure?"}} {
		fired, ran := 0, ""
		config := func(c *Config) {
			c.Hooks = hooks(on(hook.PreToolUse, func(hook.Input) hook.Output { fired++; return out }))
			c.Approve, c.Store, c.ID = ApproveLater, &event.Memory{}, "life"
			if name == "changed" {
				c.Policy = policy.Func(func(context.Context, policy.Query) policy.Decision {
					return policy.Decision{Verdict: policy.Ask, Rule: "all"}
				})
			}
			with(fake("write", false, func(_ context.Context, _ *tool.Call, text string) (tool.Result, error) {
				ran += text
				return tool.Success("wrote"), nil
			}))(c)
		}
		s := open(t, llmtest.Play(calls("write"), llmtest.Say("Done.")), config)
		submit(t, s, "go")
		s.Close()
		s, err := Resume(t.Context(), s.config)
		if err != nil {
			t.Fatal(err)
		}
		if out, err := s.Continue(t.Context()); err != nil || out.Status != StatusAwaitingApproval || ran != "" {
			t.Fatalf("%s: %+v, %v, ran %q, want it to wait still", name, out, err, ran)
		}
		if err := s.Resolve(t.Context(), s.Pending()[0].ID, tool.Approval{Allow: true}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Continue(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"changed": "changed", "asked": "0"}[name]
		if fired != 1 || ran != want {
			t.Errorf("%s: it fired %d times and ran with %q, want once and %q", name, fired, ran, want)
		}
		s.Close()
	}
}

// A guard that a user adds before continuing sees a call that no hook has seen.
func TestHooks_NewOnesSeeACallThatWaits(t *testing.T) {
	var ran atomic.Int64
	s := open(t, llmtest.Play(calls("write"), llmtest.Say("Done.")), asksFor(&ran, ApproveLater))
	submit(t, s, "go")
	s.Close()
	c := s.config
	c.Hooks = hooks(on(hook.PreToolUse, func(hook.Input) hook.Output { return hook.Output{Decision: hook.Deny} }))
	s, err := Resume(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Resolve(t.Context(), s.Pending()[0].ID, tool.Approval{Allow: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Continue(t.Context()); err != nil || ran.Load() != 0 {
		t.Errorf("it ran %d times (%v), want it to be denied", ran.Load(), err)
	}
}

func TestHooks_AfterToolsTellTheModelAndReplaceTheOutput(t *testing.T) {
	script := llmtest.Play(echoCall("secret"), llmtest.Say("Done."))
	replaced := "redacted"
	var got hook.Input
	s := open(t, script, hooked(on(hook.PostToolUse, func(in hook.Input) hook.Output {
		got = in
		return hook.Output{Decision: hook.Deny, Reason: "run the linter", Context: "it is slow", Response: &replaced}
	})))
	submit(t, s, "go")
	if r := lastResults(script)[0].Text(); r != "redacted" {
		t.Errorf("the model sees %q", r)
	}
	messages := script.Requests()[1].Messages
	if last := messages[len(messages)-1].Text(); last != "PostToolUse hook: run the linter\nit is slow" {
		t.Errorf("the last message is %q", last)
	}
	if r := got.Response.(map[string]any); r["output"] != "secret" || r["success"] != true || string(got.ToolInput) != `{"text":"secret"}` {
		t.Errorf("the hook gets %+v", got)
	}
}

func TestHooks_StartAndSubmitAddContextAfterTheInput(t *testing.T) {
	script := llmtest.Play(llmtest.Say("One."), llmtest.Say("Two."))
	s := open(t, script, hooked(
		hook.Hook{Event: hook.SessionStart, Command: `echo "branch: main"`},
		hook.Hook{Event: hook.UserPromptSubmit, Command: `sed 's/.*"prompt":"\([a-z]*\)".*/you said \1/'`}))
	submit(t, s, "first")
	submit(t, s, "second")
	var got []string
	for _, m := range s.Messages() {
		got = append(got, m.Text())
	}
	want := []string{"Be good.", "first", "SessionStart hook: branch: main", "UserPromptSubmit hook: you said first", "One.", "second", "UserPromptSubmit hook: you said second", "Two."}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestHooks_BlockInputBeforeAnythingSeesIt(t *testing.T) {
	script := llmtest.Play(llmtest.Say("Fine."))
	s := open(t, script, hooked(
		on(hook.SessionStart, func(hook.Input) hook.Output { return hook.Output{Context: "hello"} }),
		on(hook.UserPromptSubmit, func(in hook.Input) hook.Output {
			if strings.Contains(in.Prompt, "password") {
				return hook.Output{Decision: hook.Deny, Reason: "no secrets", Context: "unseen"}
			}
			return hook.Output{}
		})))
	var blocked *BlockedError
	if _, err := s.Submit(t.Context(), text("my password")); !errors.As(err, &blocked) || blocked.Reason != "no secrets" {
		t.Fatalf("got %v, want a BlockedError", err)
	}
	if err := errors.Join(s.Steer(text("my password")), s.FollowUp(text("my password"))); !errors.As(err, &blocked) || len(s.Queue()) != 0 {
		t.Errorf("%v; %d messages are queued", err, len(s.Queue()))
	}
	submit(t, s, "hi")
	if got := sketch(script.Requests()[0].Messages); got != "system: \"Be good.\"\nuser: \"hi\"\nuser: \"SessionStart hook: hello\"\n" {
		t.Errorf("the model got %s", got)
	}
	for _, r := range s.log.Records(0) {
		if b, _ := event.AppendRecord(nil, r); strings.Contains(string(b), "password") || strings.Contains(string(b), "unseen") {
			t.Errorf("recorded: %s", b)
		}
	}
}

func TestHooks_StopMakesTheAgentContinue(t *testing.T) {
	script := llmtest.Play(llmtest.Say("Done."), echoCall("test"), llmtest.Say("Tested."))
	var active []bool
	s := open(t, script, hooked(on(hook.Stop, func(in hook.Input) hook.Output {
		active = append(active, *in.StopActive)
		if *in.StopActive {
			return hook.Output{}
		}
		return hook.Output{Decision: hook.Deny, Reason: "run the tests after " + in.Answer}
	})))
	if out := submit(t, s, "go"); out.Text != "Tested." || out.Status != StatusDone {
		t.Errorf("%+v", out)
	}
	if !slices.Equal(active, []bool{false, true}) {
		t.Errorf("stop_hook_active is %v, want false, true", active)
	}
	if got := sketch(script.Requests()[1].Messages); !strings.Contains(got, `assistant: "Done."`+"\n"+`user: "Stop hook: run the tests after Done."`) {
		t.Errorf("the model got %s", got)
	}
}

func TestHooks_StopCannotKeepAnAgentWorkingForever(t *testing.T) {
	script := &llmtest.Script{Reply: func(int, *llm.Request) llmtest.Turn { return llmtest.Say("Done.") }}
	s := open(t, script, hooked(on(hook.Stop, func(hook.Input) hook.Output { return hook.Output{Decision: hook.Deny, Reason: "more"} })))
	for range 2 {
		before := len(script.Requests())
		if out := submit(t, s, "go"); out.Status != StatusDone {
			t.Errorf("%+v", out)
		}
		if n := len(script.Requests()) - before; n != 11 {
			t.Errorf("%d model calls, want the first and ten more", n)
		}
	}
	if w := records[event.Warning](s); len(w) != 2 || w[0].Code != event.WarningStopHooks {
		t.Errorf("%+v, want a warning for each input", w)
	}
}

func TestHooks_SubagentStopMakesASubagentContinue(t *testing.T) {
	script := play(map[string][]llmtest.Turn{
		"main":  {spawn(`{"task":"child","agent_type":"Explore"}`), wait("1"), llmtest.Say("Done.")},
		"child": {llmtest.Say("Half."), llmtest.Say("Whole.")},
	})
	stop := on(hook.SubagentStop, func(in hook.Input) hook.Output {
		if *in.StopActive {
			return hook.Output{}
		}
		return hook.Output{Decision: hook.Deny, Reason: "finish it"}
	})
	stop.Matcher = "Explore"
	other := stop
	other.Matcher = "Plan"
	s := open(t, script, hooked(stop, other))
	submit(t, s, "main")
	if end := records[event.SubagentEnd](s); len(end) != 1 || end[0].Output != "Whole." {
		t.Errorf("%+v", end)
	}
}

// A resumed session's hooks apply to its old subagents too.
func TestHooks_OfAResumedSessionApplyToItsSubagents(t *testing.T) {
	for _, before := range []bool{false, true} {
		count := 0
		stop := hooks(on(hook.SubagentStop, func(hook.Input) hook.Output { count++; return hook.Output{} }))
		script := play(map[string][]llmtest.Turn{
			"main":  {spawn(`{"task":"child"}`), wait("1"), llmtest.Say("Half."), llmtest.Call("send_input", `{"agent_id":"1","message":"more"}`), wait("1"), llmtest.Say("Done.")},
			"child": {llmtest.Say("One."), llmtest.Say("Two.")},
		})
		s := open(t, script, func(c *Config) {
			c.Store, c.ID = &event.Memory{}, "life"
			if before {
				c.Hooks = stop
			}
		})
		submit(t, s, "main")
		s.Close()
		c := s.config
		if c.Hooks = stop; before {
			c.Hooks = nil
		}
		s, err := Resume(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if out := submit(t, s, "and then"); out.Text != "Done." || count != 1 {
			t.Errorf("hooks at first: %v; %+v, and %d runs, want 1", before, out, count)
		}
		s.Close()
	}
}

func TestHooks_StopTheWork(t *testing.T) {
	for _, e := range []hook.Event{hook.PreToolUse, hook.PostToolUse} {
		var ran atomic.Int64
		script := llmtest.Play(calls("write", "write"), llmtest.Say("Continued."))
		first := true
		s := open(t, script, func(c *Config) {
			with(fake("write", false, func(context.Context, *tool.Call, string) (tool.Result, error) {
				ran.Add(1)
				return tool.Success("wrote"), nil
			}))(c)
			c.Hooks = hooks(on(e, func(hook.Input) hook.Output {
				stop := first
				first = false
				return hook.Output{Stop: stop, StopReason: "too much"}
			}))
		})
		out, err := s.Submit(t.Context(), text("go"))
		var stopped *StoppedError
		if out.Status != StatusInterrupted || !errors.As(err, &stopped) || stopped.Reason != "too much" {
			t.Errorf("%s: %+v, %v", e, out, err)
		}
		want := map[hook.Event]int64{hook.PreToolUse: 0, hook.PostToolUse: 1}[e]
		if ran.Load() != want || len(script.Requests()) != 1 {
			t.Errorf("%s: %d calls ran, want %d; %d model calls", e, ran.Load(), want, len(script.Requests()))
		}
		if out := submit(t, s, "and now?"); out.Text != "Continued." {
			t.Errorf("%s: %+v", e, out)
		}
	}
}

func TestHooks_StopOfTheWorkWinsOverAStopHookThatContinues(t *testing.T) {
	script := llmtest.Play(llmtest.Say("Done."))
	s := open(t, script, hooked(
		on(hook.Stop, func(hook.Input) hook.Output { return hook.Output{Decision: hook.Deny, Reason: "more"} }),
		on(hook.Stop, func(hook.Input) hook.Output { return hook.Output{Stop: true, StopReason: "enough"} })))
	if out := submit(t, s, "go"); out.Status != StatusDone || out.Text != "Done." {
		t.Errorf("%+v", out)
	}
}

func TestHooks_PermissionRequestCanOnlyRefuse(t *testing.T) {
	for _, d := range []hook.Decision{hook.None, hook.Allow, hook.Ask, hook.Deny} {
		asked := 0
		var ran atomic.Int64
		script := llmtest.Play(calls("write"), llmtest.Say("Done."))
		s := open(t, script, func(c *Config) {
			asksFor(&ran, func(context.Context, tool.Request) (tool.Approval, error) {
				asked++
				return tool.Approval{}, nil
			})(c)
			c.Hooks = hooks(on(hook.PermissionRequest, func(hook.Input) hook.Output { return hook.Output{Decision: d, Reason: "never"} }))
		})
		submit(t, s, "go")
		if want := d != hook.Deny; (asked == 1) != want || ran.Load() != 0 {
			t.Errorf("%q: asked %d times, ran %d times", d, asked, ran.Load())
		}
		if r := lastResults(script)[0].Text(); d == hook.Deny && r != "write was refused: never" {
			t.Errorf("the model sees %q", r)
		}
	}
}

func TestHooks_CompactionIsAnnouncedOnce(t *testing.T) {
	var o observer
	s, script := narrow(t, 8, summary, func(c *Config) {
		c.Hooks = hooks(append(o.all(), on(hook.PostCompact, func(hook.Input) hook.Output { return hook.Output{Context: "xyzzy"} }))...)
	})
	submit(t, s, "task: keep this in mind")
	n := len(records[event.Compaction](s))
	if n == 0 {
		t.Fatal("nothing was compacted")
	}
	count := map[string]int{}
	for _, e := range o.sorted() {
		count[e]++
	}
	if count["PreCompact  auto"] != n || count["PostCompact  auto"] != n {
		t.Errorf("%d compactions and %v", n, count)
	}
	for _, r := range script.Requests() { // it could cause another compaction, and so on
		if strings.Contains(sketch(r.Messages), "xyzzy") {
			t.Fatalf("a hook of a compaction adds to the conversation:\n%s", sketch(r.Messages))
		}
	}
	before := count["PreCompact  manual"]
	if _, err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	count = map[string]int{}
	for _, e := range o.sorted() {
		count[e]++
	}
	if before != 0 || count["PreCompact  manual"] != 1 || count["PostCompact  manual"] != 1 {
		t.Errorf("%v", count)
	}
}

func TestHooks_FailureOfTheWorkIsReported(t *testing.T) {
	var got hook.Input
	s := open(t, llmtest.Play(llmtest.Fail(400)), hooked(on(hook.StopFailure, func(in hook.Input) hook.Output { got = in; return hook.Output{} })))
	if _, err := s.Submit(t.Context(), text("go")); err == nil || got.Error != err.Error() {
		t.Errorf("the hook gets %q, want %v", got.Error, err)
	}
}

func TestHooks_AreToldOfChangedFilesAndSettings(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	see := func(in hook.Input) hook.Output {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", in.Event, in.Source+in.Trigger, in.Change, path.Base(in.File))))
		return hook.Output{}
	}
	writes := acting("writes", func(ctx context.Context, c *tool.Call, _ string) (tool.Result, error) {
		for _, name := range []string{"new.txt", "old.txt"} {
			if err := c.Env.WriteFile(ctx, name, []byte("x"), 0o644); err != nil {
				return tool.Result{}, err
			}
		}
		real, err := c.Env.RealPath(ctx, "new.txt")
		return tool.Result{Artifacts: tool.Artifacts{FilesChanged: []string{"new.txt", "old.txt", "gone.txt"}, FilesCreated: []string{real}}}, err
	})
	s := open(t, play(map[string][]llmtest.Turn{"go": {calls("writes"), llmtest.Say("Done.")}}), func(c *Config) {
		c.Hooks = hooks(on(hook.FileChanged, see), on(hook.ConfigChange, see), on(hook.Setup, see), on(hook.SessionStart, see))
		with(writes)(c)
		c.Policy = policy.AllowAll{}
	})
	defer s.Close()
	submit(t, s, "go")
	if err := s.SetMode(policy.ModePlan); err != nil {
		t.Fatal(err)
	}
	want := []string{"Setup init  .", "SessionStart startup  .", "FileChanged  add new.txt", "FileChanged  change old.txt", "FileChanged  unlink gone.txt", "ConfigChange session  ."}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// The race detector decides.
func TestHooks_OfTheStartMayRunWhileTheSettingsChange(t *testing.T) {
	for range 50 {
		s := open(t, llmtest.Play(llmtest.Say("Fine.")), func(*Config) {})
		begun := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			close(begun)
			for i := range 20 {
				if err := s.SetEffort([]string{"low", "high"}[i%2]); err != nil {
					t.Error(err)
				}
			}
		})
		<-begun
		submit(t, s, "go")
		wg.Wait()
	}
}
