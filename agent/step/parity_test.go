package step_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/agent/step"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/hook"
	"github.com/reins-agent/reins/internal/thorough"
	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/anthropic"
	"github.com/reins-agent/reins/llm/bedrock"
	"github.com/reins-agent/reins/llm/chat"
	"github.com/reins-agent/reins/llm/gemini"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/llm/object"
	"github.com/reins-agent/reins/llm/openai"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/policy/rules"
	"github.com/reins-agent/reins/tool"
)

var dialects = []struct {
	wire.Dialect
	model string
}{
	{openai.NewDialect(openai.Config{}), "gpt-6.1-sol"}, {anthropic.NewDialect(anthropic.Config{}), "claude-sonnet-4-5"},
	{gemini.NewDialect(gemini.Config{}), "gemini-3.8-flash"}, {chat.NewDialect(chat.Config{}), "gpt-4o"},
	{bedrock.NewDialect(bedrock.Config{}), "amazon.nova-pro-v1:0"},
}

// reporter is a test or a property.
type reporter interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

// encoded returns the requests' bytes, each in one protocol in turn, and the fields that are not in them.
func encoded(t reporter, requests []*llm.Request) (out []string) {
	for i, r := range requests {
		d := dialects[i%len(dialects)]
		c := *r
		c.Model, c.Cache = d.model, nil
		call, err := d.Encode(&c)
		if err != nil {
			t.Fatalf("%s: %v", d.Name(), err)
		}
		out = append(out, fmt.Sprintf("%s %s %s %s: %s", r.Provider, r.Model, r.Effort, r.CacheKey, call.Body.Bytes()))
	}
	return out
}

func question(c llm.ToolCall) string {
	var in struct{ Question string }
	if c.Name != agent.AskUser || json.Unmarshal([]byte(c.Arguments), &in) != nil {
		return ""
	}
	return in.Question
}

// act is a host action, on a session and on the driver.
type act struct {
	name    string
	session func(ctx context.Context, s *agent.Session)
	driver  func(ctx context.Context, d *driver)
}

func say(text string) act {
	return act{"submit " + text,
		func(ctx context.Context, s *agent.Session) { _, _ = s.Submit(ctx, llm.Text{Text: text}) },
		func(ctx context.Context, d *driver) {
			if len(d.log) == 1 {
				d.fire(ctx, hook.Input{Event: hook.SessionStart, Source: "startup"})
			}
			if d.fire(ctx, hook.Input{Event: hook.UserPromptSubmit, Prompt: text}).Decision != hook.Deny {
				d.submit(ctx, func(s *step.State) event.Data { return s.Accept(event.UserInput{Message: llm.UserText(text)}) })
			}
		}}
}

func queue(text string, followUp bool) act {
	return act{"queue " + text,
		func(_ context.Context, s *agent.Session) {
			if followUp {
				_ = s.FollowUp(llm.Text{Text: text})
			} else {
				_ = s.Steer(llm.Text{Text: text})
			}
		},
		func(_ context.Context, d *driver) {
			d.append(event.SteeringQueued{Message: llm.UserText(text), FollowUp: followUp})
		}}
}

type verdict struct {
	Pass bool `json:"pass"`
}

var (
	asksObject = act{"object",
		func(ctx context.Context, s *agent.Session) {
			_, _, _ = agent.SubmitObject[verdict](ctx, s, llm.Text{Text: "judge"})
		},
		func(ctx context.Context, d *driver) {
			form, err := object.FormOf[verdict]()
			if err != nil {
				panic(err)
			}
			format := form.Output()
			d.fire(ctx, hook.Input{Event: hook.UserPromptSubmit, Prompt: "judge"})
			d.submit(ctx, func(s *step.State) event.Data {
				return s.Accept(event.UserInput{Message: llm.UserText("judge"), Output: &format})
			})
		}}
	continues = act{"continue",
		func(ctx context.Context, s *agent.Session) { _, _ = s.Continue(ctx) },
		func(ctx context.Context, d *driver) {
			if data, ok := d.state().Resumption(); ok {
				d.submit(ctx, func(*step.State) event.Data { return data })
			}
		}}
	switches = act{"model",
		func(_ context.Context, s *agent.Session) { _ = s.SetModel("", "other") },
		func(_ context.Context, d *driver) {
			set := d.state().Setup()
			set.Model, set.Window = "other", 0
			d.append(event.Settings{Setup: set})
		}}
)

// compare performs the same actions on a session and the driver, each with a model that plays the same turns, and
// compares their requests, byte for byte, in all protocols in turn.
func compare(t reporter, turns []llmtest.Turn, acts []act, config func() agent.Config) {
	t.Helper()
	play := func(c *agent.Config) *llmtest.Script {
		script := &llmtest.Script{Reply: func(n int, _ *llm.Request) llmtest.Turn {
			if n >= 60 {
				return llmtest.Say("Enough.")
			}
			turn := turns[n%len(turns)]
			turn.Parts = append([]llm.Part(nil), turn.Parts...)
			for i, p := range turn.Parts {
				if c, ok := p.(llm.ToolCall); ok {
					c.ID = fmt.Sprintf("call_%d_%d", n, i)
					turn.Parts[i] = c
				}
			}
			return turn
		}}
		c.Client = script
		return script
	}
	c := config()
	left := play(&c)
	s, err := agent.New(c)
	if err != nil {
		t.Fatal(err)
	}
	var start event.SessionStart
	for r := range s.Events(context.Background(), 0) {
		start = r.Data.(event.SessionStart)
		break
	}
	for _, a := range acts {
		a.session(withCancel(), s)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	c = config()
	right := play(&c)
	d := &driver{config: c}
	d.append(start)
	for _, a := range acts {
		if strings.Contains(string(d.log[len(d.log)-1]), `"state":"CLOSED"`) { // by an error that calling again cannot help
			break
		}
		a.driver(withCancel(), d)
	}
	want, got := encoded(t, left.Requests()), encoded(t, right.Requests())
	if diff := cmp.Diff(want, got); diff != "" {
		var names []string
		for _, a := range acts {
			names = append(names, a.name)
		}
		t.Fatalf("the session sends (-) and the driver sends (+) after %s: %s", strings.Join(names, ", "), diff)
	}
}

// canceller is the context key for the cancel function, for the tool cancel.
type canceller struct{}

func withCancel() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	return context.WithValue(ctx, canceller{}, cancel)
}

type textIn struct {
	Text string `json:"text"`
}

func nothing(context.Context, *tool.Call, textIn) []policy.Access { return []policy.Access{} }

func fake(name string, readOnly bool, run func(ctx context.Context, text string) tool.Result) tool.Tool {
	return tool.New(tool.Spec{Name: name, Description: "A tool.", ReadOnly: readOnly, Plan: name == "plan"}, nothing,
		func(ctx context.Context, _ *tool.Call, in textIn) (tool.Result, error) { return run(ctx, in.Text), nil })
}

// toy configures a session with tools that always return the same results.
func toy(t reporter, e *local.Env, window int64, noModel bool) func() agent.Config {
	return func() agent.Config {
		echo := func(_ context.Context, text string) tool.Result { return tool.Success("%s", text) }
		c := agent.Config{
			ID: "x", Model: "m", Env: e, System: "Be good.", Tools: &tool.Registry{}, MaxOutput: 1000, ContextWindow: window,
			Compaction: agent.Compaction{At: 0.7, NoModel: noModel}, Fallback: []agent.Model{{Name: "spare"}},
			Limits: agent.Limits{ToolRounds: 4, TreeTurns: 50}, LoopWindow: 4, Subagents: agent.Subagents{MaxDepth: -1},
		}
		var asked atomic.Int64
		c.Policy = policy.Func(func(_ context.Context, q policy.Query) policy.Decision {
			if q.Tool == "write" {
				return policy.Decision{Verdict: policy.Ask, Rule: "test"}
			}
			return policy.Decision{Verdict: policy.Allow, Rule: "test"}
		})
		c.Approve = func(context.Context, tool.Request) (tool.Approval, error) {
			return tool.Approval{Allow: asked.Add(1)%3 != 0, Message: "as you like"}, nil
		}
		err := c.Tools.Register(agent.AskUserTool(), fake("echo", true, echo), fake("write", false, echo), fake("plan", true, echo),
			fake("large", true, func(_ context.Context, text string) tool.Result {
				return tool.Success("%s", strings.Repeat("A long line of output.\n", 400)+text)
			}),
			fake("cancel", false, func(ctx context.Context, _ string) tool.Result {
				ctx.Value(canceller{}).(context.CancelFunc)()
				return tool.Success("cancelled")
			}),
			fake("panic", false, func(context.Context, string) tool.Result { panic("it went wrong") }))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
}

func drawTurn(t *rapid.T) (turn llmtest.Turn) {
	kind := rapid.SampledFrom([]string{"done", "calls", "calls", "calls", "cut", "fault"}).Draw(t, "kind")
	switch kind {
	case "done", "cut":
		turn.Parts = []llm.Part{llm.Text{Text: rapid.SampledFrom([]string{"Well.", "Shall I?", `{"pass":true}`, strings.Repeat("Many words. ", 60)}).Draw(t, "text")}}
	case "fault":
		turn.Fault = rapid.SampledFrom([]llmtest.Fault{{Status: 500}, {Status: 413}, {Status: 400}, {Status: 529}, {CutAt: 1}, {Malformed: true}}).Draw(t, "fault")
	}
	if kind == "cut" {
		turn.Finish = rapid.SampledFrom([]llm.FinishReason{llm.FinishLength, llm.FinishPause, llm.FinishContentFilter, llm.FinishError}).Draw(t, "finish")
	}
	if kind != "calls" && kind != "cut" {
		return turn
	}
	for range rapid.IntRange(0, 3).Draw(t, "calls") {
		name := rapid.SampledFrom([]string{"echo", "echo", "write", "write", "large", "plan", "cancel", "panic", agent.AskUser, "nonsense"}).Draw(t, "name")
		args := rapid.SampledFrom([]string{`{"text":"x"}`, `{"text":"y"}`, `{}`}).Draw(t, "args")
		if name == agent.AskUser {
			args = `{"question":"Which?"}`
		}
		turn.Parts = append(turn.Parts, llm.ToolCall{Name: name, Arguments: args})
	}
	return turn
}

func newEnv(t *testing.T) *local.Env {
	t.Helper()
	e, err := local.New(local.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func TestDriver_AnyLifeGivesTheSessionsRequests(t *testing.T) {
	e := newEnv(t)
	lived, lives := 0, thorough.Of(100, 25)
	rapid.Check(t, func(rt *rapid.T) {
		if lived++; lived > lives {
			return
		}
		turns := rapid.SliceOfN(rapid.Custom(drawTurn), 3, 20).Draw(rt, "turns")
		var acts []act
		for i := range rapid.IntRange(1, 8).Draw(rt, "acts") {
			text := fmt.Sprintf("input %d", i)
			acts = append(acts, rapid.SampledFrom([]act{say(text), say(text), queue(text, true), queue(text, false), asksObject, continues, switches}).Draw(rt, "act"))
		}
		window := rapid.SampledFrom([]int64{0, 3000, 100_000}).Draw(rt, "window")
		compare(rt, turns, acts, toy(t, e, window, rapid.Bool().Draw(rt, "no model")))
	})
}

// A fault at each boundary: the model fails or its answer is truncated at each call, a tool panics or the work is
// interrupted at each tool call, and the host continues.
func TestDriver_FaultAtEveryBoundaryGivesTheSessionsRequests(t *testing.T) {
	e := newEnv(t)
	call := func(names ...string) (turn llmtest.Turn) {
		for _, n := range names {
			turn.Parts = append(turn.Parts, llm.ToolCall{Name: n, Arguments: `{"text":"x"}`})
		}
		return turn
	}
	course := []llmtest.Turn{call("echo", "echo"), call("write", "echo", "write"), call("plan"), call("large"), call("write"), llmtest.Say("Done.")}
	n, chosen := 0, thorough.OneIn(4)
	for at := range course {
		for _, fault := range []llmtest.Turn{
			{Fault: llmtest.Fault{Status: 500}}, {Fault: llmtest.Fault{Status: 400}}, {Fault: llmtest.Fault{Status: 413}}, {Fault: llmtest.Fault{CutAt: 1}},
			call("cancel"), call("echo", "cancel", "write"), call("panic", "echo"), call("cancel", agent.AskUser),
			{Parts: []llm.Part{llm.Text{Text: "Half"}}, Finish: llm.FinishLength}, {Finish: llm.FinishPause},
		} {
			if n++; !chosen(n) {
				continue
			}
			turns := append(append(append([]llmtest.Turn{}, course[:at]...), fault), course[at:]...)
			compare(t, turns, []act{queue("left", false), say("go"), continues, continues, queue("more", true), say("again")}, toy(t, e, 100_000, true))
		}
	}
}

// Context that hooks add to a conversation, and that they keep the agent working, follows from the records.
func TestDriver_HooksGiveTheSessionsRequests(t *testing.T) {
	e := newEnv(t)
	config := func() agent.Config {
		c := toy(t, e, 100_000, true)()
		say := func(e hook.Event, out func(hook.Input) hook.Output) hook.Hook {
			return hook.Hook{Event: e, Func: func(_ context.Context, in hook.Input) (hook.Output, error) { return out(in), nil }}
		}
		var err error
		c.Hooks, err = hook.New(
			say(hook.SessionStart, func(in hook.Input) hook.Output { return hook.Output{Context: "started: " + in.Source} }),
			say(hook.UserPromptSubmit, func(in hook.Input) hook.Output {
				if in.Prompt == "secret" {
					return hook.Output{Decision: hook.Deny, Context: "never seen"}
				}
				return hook.Output{Context: "prompt: " + in.Prompt}
			}),
			say(hook.PostToolUse, func(in hook.Input) hook.Output { return hook.Output{Context: "ran " + in.Tool} }),
			say(hook.Stop, func(in hook.Input) hook.Output {
				if *in.StopActive {
					return hook.Output{}
				}
				return hook.Output{Decision: hook.Deny, Reason: "not yet: " + in.Answer}
			}))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	call := llmtest.Turn{Parts: []llm.Part{llm.ToolCall{Name: "echo", Arguments: `{"text":"x"}`}, llm.ToolCall{Name: "plan", Arguments: `{"text":"y"}`}}}
	ask := llmtest.Turn{Parts: []llm.Part{llm.ToolCall{Name: agent.AskUser, Arguments: `{"question":"Which?"}`}}}
	turns := []llmtest.Turn{call, llmtest.Say("Done."), call, llmtest.Say("Really done."), ask, llmtest.Say("I see."), llmtest.Say("Over.")}
	compare(t, turns, []act{say("secret"), say("one"), say("two"), say("three"), say("four"), asksObject}, config)
}

var durations = regexp.MustCompile(`\b\d+(\.\d+)? ?(ms|s)\b`)

// untimed removes times from tool output, which differ between runs.
func untimed(ctx context.Context, _ tool.Call, next func(context.Context) (tool.Result, error)) (tool.Result, error) {
	res, err := next(ctx)
	res.Present = nil
	if res.Output != nil {
		res.Output = tool.Text(durations.ReplaceAllString(tool.String(res.Output), "some time"))
	}
	return res, err
}

// The parity matrix: coding tasks with each family's tools, on real files and processes.
func TestDriver_ParityMatrixGivesTheSessionsRequests(t *testing.T) {
	do := func(name, args string) llm.Part { return llm.ToolCall{Name: name, Arguments: args} }
	turn := func(parts ...llm.Part) llmtest.Turn { return llmtest.Turn{Parts: parts} }
	tasks := map[string][]llmtest.Turn{
		"create and read": {turn(do("write_file", `{"file_path":"a.txt","content":"one\n"}`)), turn(do("read_file", `{"file_path":"a.txt"}`)), llmtest.Say("Done.")},
		"patch":           {turn(do("apply_patch", `{"patch":"*** Begin Patch\n*** Add File: p.txt\n+one\n*** End Patch"}`)), turn(do("read_file", `{"file_path":"p.txt"}`)), llmtest.Say("Done.")},
		"edit":            {turn(do("write_file", `{"file_path":"e.txt","content":"one\n"}`)), turn(do("edit_file", `{"file_path":"e.txt","old_string":"one","new_string":"two"}`)), llmtest.Say("Done.")},
		"command":         {turn(do("shell", `{"command":"echo out; exit 3"}`)), llmtest.Say("It failed.")},
		"search":          {turn(do("grep", `{"pattern":"o"}`), do("glob", `{"pattern":"*.txt"}`)), llmtest.Say("Found.")},
		"large output":    {turn(do("shell", `{"command":"seq 1 20000"}`)), llmtest.Say("Long.")},
		"recovery":        {turn(do("read_file", `{"file_path":"missing.txt"}`)), turn(do("nonsense", `{}`), do("read_file", `{}`)), llmtest.Say("Recovered.")},
		"parallel calls":  {turn(do("read_file", `{"file_path":"missing"}`), do("read_file", `{"file_path":"missing2"}`), do("shell", `{"command":"true"}`)), llmtest.Say("Done.")},
		"plan mode": {
			turn(do("enter_plan_mode", `{}`), do("write_file", `{"file_path":"b.txt","content":"too early"}`)), turn(do("exit_plan_mode", `{"plan":"no"}`)),
			turn(do("exit_plan_mode", `{"plan":"yes"}`), do("write_file", `{"file_path":"b.txt","content":"one"}`)), llmtest.Say("Done."),
		},
		"question":         {turn(do(agent.AskUser, `{"question":"Which?"}`)), llmtest.Say("Thanks.")},
		"reasoning effort": {turn(llm.Thinking{Text: "Hm."}, do("shell", `{"command":"true"}`)), llmtest.Say("Done.")},
	}
	for _, model := range []string{"gpt-6.1-sol", "claude-sonnet-5-5", "claude-opus-4-6", "gemini-3.8-flash"} {
		play := func(t *testing.T, r reporter, turns []llmtest.Turn) {
			compare(r, turns, []act{queue("Mind the style.", false), say("do it"), say("yes")}, func() agent.Config {
				e := newEnv(t)
				p := coding.For("", model)
				tools, err := p.Registry()
				if err == nil {
					err = tools.Register(append(agent.PlanModeTools(), agent.AskUserTool())...)
				}
				if err != nil {
					t.Fatal(err)
				}
				return agent.Config{
					ID:         "x",
					Model:      model,
					Env:        e,
					System:     "Be good.",
					Tools:      tools,
					Policy:     outsidePlans{},
					Mode:       policy.ModeAcceptEdits,
					Middleware: []tool.Middleware{untimed},
					Effort:     "low",
					Approve:    approvePlan,
					Vision:     p.Vision,
					Subagents:  agent.Subagents{MaxDepth: -1},
				}
			})
		}
		for name, turns := range tasks {
			t.Run(model+"/"+name, func(t *testing.T) { play(t, t, turns) })
		}
		t.Run(model+"/timeout", func(t *testing.T) {
			limited := func(ms int) []llmtest.Turn {
				args := fmt.Sprintf(`{"command":"echo begun; sleep 60","timeout_ms":%d}`, ms)
				return []llmtest.Turn{turn(do("shell", args)), llmtest.Say("Too slow.")}
			}
			for _, ms := range []int{200, 2000} { // a busy machine may need more to begin
				if !failed(func(r reporter) { play(t, r, limited(ms)) }) {
					return
				}
			}
			play(t, t, limited(20_000))
		})
	}
}

// trial is a reporter that keeps a failure to itself.
type trial struct{}

func (trial) Fatal(...any)          { panic(trial{}) }
func (trial) Fatalf(string, ...any) { panic(trial{}) }
func (trial) Helper()               {}

// failed reports whether f failed.
func failed(f func(reporter)) (failed bool) {
	defer func() {
		if r := recover(); r == (trial{}) {
			failed = true
		} else if r != nil {
			panic(r)
		}
	}()
	f(trial{})
	return false
}

// outsidePlans allows everything, but in plan mode decides as rules.Policy does.
type outsidePlans struct{}

func (outsidePlans) Decide(ctx context.Context, q policy.Query) policy.Decision {
	if q.Mode != policy.ModePlan {
		return policy.AllowAll{}.Decide(ctx, q)
	}
	return rules.Policy{}.Decide(ctx, q)
}

// approvePlan approves the plan "yes".
func approvePlan(_ context.Context, r tool.Request) (tool.Approval, error) {
	return tool.Approval{Allow: strings.Contains(string(r.Call.Args), `"yes"`), Message: "as you like"}, nil
}
