package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/agent/step"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// play is a scripted model for an agent tree: each task has its own script, named by the first word of the first user
// message.
func play(scripts map[string][]llmtest.Turn) *llmtest.Script {
	return &llmtest.Script{Reply: func(_ int, r *llm.Request) llmtest.Turn {
		name, answers := "", 0
		for _, m := range r.Messages {
			if m.Role == llm.RoleUser && name == "" {
				text := m.Text()
				name, _, _ = strings.Cut(text[strings.LastIndex(text, "\n")+1:], " ")
			}
			if m.Role == llm.RoleAssistant {
				answers++
			}
		}
		if turns := scripts[name]; answers < len(turns) {
			return turns[answers]
		}
		return llmtest.Turn{Check: func(*llm.Request) error { return fmt.Errorf("%q has no answer %d", name, answers) }}
	}}
}

func spawn(args string) llmtest.Turn { return llmtest.Call("spawn_agent", args) }
func wait(id string) llmtest.Turn    { return llmtest.Call("wait", fmt.Sprintf(`{"agent_id":%q}`, id)) }

// Definition of done, 9.9.
func TestSubagent_ResultIsAToolResult(t *testing.T) {
	script := play(map[string][]llmtest.Turn{
		"main":  {spawn(`{"task":"count the files"}`), wait("1"), llmtest.Say("Done.")},
		"count": {echoCall("x"), llmtest.Say("There are three.")},
	})
	s := open(t, script, nil)
	submit(t, s, "main")
	r := lastResults(script)[0]
	if r.IsError || r.Text() != "Agent 1 completed its task in 2 turns.\n\nThere are three." {
		t.Errorf(`got %+v, want no IsError, Text "Agent 1 completed its task in 2 turns.\n\nThere are three."`, r)
	}
	end := records[event.SubagentEnd](s)
	if len(end) != 1 || !end[0].Success || end[0].Turns != 2 || end[0].Output != "There are three." {
		t.Errorf(`got %+v, want 1, [0].Success, [0].Turns 2, [0].Output "There are three."`, end)
	}
	e := records[event.ToolCallEnd](s)
	if f := e[1].Fields; f["success"] != true || f["turns_used"] != 2 || f["status"] != "completed" {
		t.Errorf(`got %+v, want ["success"] true, ["turns_used"] 2, ["status"] "completed"`, f)
	}
}

// Definition of done, 9.9.
func TestSubagent_EventsAreNestedInTheParentStream(t *testing.T) {
	script := play(map[string][]llmtest.Turn{
		"main":   {spawn(`{"task":"middle"}`), wait("1"), llmtest.Say("Done.")},
		"middle": {spawn(`{"task":"deep"}`), wait("1/1"), llmtest.Say("Middle.")},
		"deep":   {echoCall("x"), llmtest.Say("Deep.")},
	})
	s := open(t, script, func(c *Config) { c.Subagents.MaxDepth = 2 })
	submit(t, s, "main")
	s.Close()
	paths := map[string]int{}
	for _, r := range s.log.Records(0) {
		if r.Session != s.ID() {
			t.Errorf("a record of session %q", r.Session)
		}
		if r.Kind() == event.KindTextEnd {
			paths[r.Agent]++
		}
	}
	if paths[""] != 3 || paths["1"] != 3 || paths["1/1"] != 2 {
		t.Errorf("answers by agent: %v", paths)
	}
	if got := said(step.Messages(s.log.Records(0), "1/1")); got != "system:Be user:deep assistant: tool: assistant:Deep." {
		t.Errorf("the deepest conversation: %s", got)
	}
	all := s.log.Records(0)
	if all[0].Kind() != event.KindSessionStart || all[0].Agent != "" || all[len(all)-1].Kind() != event.KindSessionEnd || all[len(all)-1].Agent != "" {
		t.Error("the session does not bracket its subagents")
	}
}

// Definition of done, 9.9.
func TestSubagent_SharesTheEnvironment(t *testing.T) {
	put := acting("put", func(ctx context.Context, c *tool.Call, text string) (tool.Result, error) {
		return tool.Success("ok"), c.Env.WriteFile(ctx, text, []byte("x"), 0o644)
	})
	script := play(map[string][]llmtest.Turn{
		"main":   {spawn(`{"task":"whole"}`), wait("1"), spawn(`{"task":"scoped","working_dir":"sub"}`), wait("2"), spawn(`{"task":"x","working_dir":"nowhere"}`), llmtest.Say("Done.")},
		"whole":  {llmtest.Call("put", `{"text":"sub/a"}`), llmtest.Say("Ok.")},
		"scoped": {llmtest.Call("put", `{"text":"b"}`), llmtest.Call("put", `{"text":"../c"}`), llmtest.Say("Ok.")},
	})
	s := open(t, script, with(put))
	submit(t, s, "main")
	for path, want := range map[string]bool{"sub/a": true, "sub/b": true, "c": false} {
		if _, err := s.config.Env.Stat(t.Context(), path); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	if r := lastResults(script)[0]; !r.IsError || !strings.Contains(r.Text(), "nowhere") {
		t.Errorf(`got %+v, want IsError, Text with "nowhere"`, r)
	}
	if n := s.Total().Agents; n != 2 {
		t.Errorf("%d agents were counted", n)
	}
}

// Definition of done, 9.9.
func TestSubagent_HasItsOwnHistory(t *testing.T) {
	script := play(map[string][]llmtest.Turn{
		"main":  {spawn(`{"task":"count","model":"other","max_turns":7}`), wait("1"), llmtest.Say("Done.")},
		"count": {llmtest.Say("Three.")},
	})
	s := open(t, script, nil)
	submit(t, s, "main")
	var got []string
	for _, r := range script.Requests() {
		got = append(got, r.Model+" "+said(r.Messages))
	}
	slices.Sort(got) // the subagent works in parallel with the root
	want := []string{
		"m system:Be user:main", "m system:Be user:main assistant: tool:", "m system:Be user:main assistant: tool: assistant: tool:",
		"other system:Be user:count",
	}
	if !slices.Equal(got, want) {
		t.Errorf("requests:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Definition of done, 9.9.
func TestSubagent_DepthLimitPreventsRecursiveSpawning(t *testing.T) {
	script := play(map[string][]llmtest.Turn{
		"main":  {spawn(`{"task":"count"}`), wait("1"), llmtest.Say("Done.")},
		"count": {spawn(`{"task":"deeper"}`), llmtest.Say("I cannot.")},
	})
	s := open(t, script, nil)
	submit(t, s, "main")
	for _, r := range script.Requests() {
		offers := slices.ContainsFunc(r.Tools, func(d llm.ToolDef) bool { return d.Name == "spawn_agent" })
		if inner := strings.Contains(said(r.Messages), "user:count"); offers == inner {
			t.Errorf("spawn_agent is offered: %v, to the subagent: %v", offers, inner)
		}
	}
	if n := s.Total().Agents; n != 1 {
		t.Errorf("%d agents", n)
	}
}

// Definition of done, 9.9.
func TestSubagent_SendInputWaitCloseAndList(t *testing.T) {
	begun, gate := make(chan struct{}), make(chan struct{})
	wait1 := func(ctx context.Context, c <-chan struct{}) (tool.Result, error) {
		select {
		case <-c:
			return tool.Success("ok"), nil
		case <-ctx.Done():
			return tool.Result{}, ctx.Err()
		}
	}
	hold := fake("hold", false, func(ctx context.Context, _ *tool.Call, _ string) (tool.Result, error) {
		close(begun)
		return wait1(ctx, gate)
	})
	held := fake("held", false, func(ctx context.Context, _ *tool.Call, _ string) (tool.Result, error) { return wait1(ctx, begun) })
	open1 := fake("open", false, func(context.Context, *tool.Call, string) (tool.Result, error) {
		close(gate)
		return tool.Success("ok"), nil
	})
	send := func(text string) llmtest.Turn {
		return llmtest.Call("send_input", fmt.Sprintf(`{"agent_id":"1","message":%q}`, text))
	}
	one := func(tool string) llmtest.Turn { return llmtest.Call(tool, `{"agent_id":"1"}`) }
	steps := []struct {
		turn llmtest.Turn
		want string // first line of the result
	}{
		{spawn(`{"task":"work"}`), `Agent 1 is running. Use wait with agent_id "1" for its result.`},
		{calls("held"), "ok"},
		{llmtest.Call("wait", `{"agent_id":"1","timeout_ms":1}`), "Agent 1 is still running, after 1 turn."},
		{llmtest.Call("list_agents", `{}`), "1: running, 1 turn"},
		{send("look left"), "The message was sent to agent 1."},
		{calls("open"), "ok"},
		{one("wait"), "Agent 1 completed its task in 2 turns."},
		{send("more"), "The message was sent to agent 1."},
		{one("wait"), "Agent 1 completed its task in 3 turns."},
		{one("close_agent"), "Agent 1 is closed; it was completed."},
		{send("too late"), "The message was not sent: the session is closed."},
		{one("close_agent"), "Agent 1 is closed; it was closed."},
		{wait("9"), `Nothing to wait for: unknown agent "9": use one of 1.`},
	}
	var turns []llmtest.Turn
	for _, step := range steps {
		turns = append(turns, step.turn)
	}
	script := play(map[string][]llmtest.Turn{
		"main": append(turns, llmtest.Say("Done.")),
		"work": {calls("hold"), llmtest.Say("First."), llmtest.Say("Second.")},
	})
	s := open(t, script, with(hold, held, open1))
	submit(t, s, "main")
	ends := records[event.ToolCallEnd](s)
	if len(ends) != len(steps) {
		t.Fatalf("got %d results, want %d", len(ends), len(steps))
	}
	for i, step := range steps {
		if got, _, _ := strings.Cut(ends[i].Model, "\n"); got != step.want {
			t.Errorf("result %d: %q, want %q", i, got, step.want)
		}
	}
	if got := said(step.Messages(s.log.Records(0), "1")); got != "system:Be user:work assistant: tool: user:look assistant:First. user:more assistant:Second." {
		t.Errorf("the subagent's conversation: %s", got)
	}
}

func TestSubagent_TypesLimitToolsAndSetModelAndPrompt(t *testing.T) {
	script := play(map[string][]llmtest.Turn{
		"main": {
			spawn(`{"task":"look","agent_type":"Explore"}`), spawn(`{"task":"review","agent_type":"Reviewer"}`), spawn(`{"task":"x","agent_type":"Nobody"}`),
			wait("1"), wait("2"), llmtest.Say("Done."),
		},
		"look": {llmtest.Say("Seen.")}, "review": {llmtest.Say("Good.")},
	})
	s := open(t, script, func(c *Config) {
		c.Subagents.Types = map[string]AgentType{"Reviewer": {Description: "reviews", System: "Review.", Tools: []string{"write"}, Model: "big", Effort: "high", MaxTurns: 3}}
	})
	submit(t, s, "main")
	offered := map[string]string{}
	for _, r := range script.Requests() {
		var names []string
		for _, d := range r.Tools {
			names = append(names, d.Name)
		}
		offered[fmt.Sprint(r.Model, r.Messages[0].Text(), r.Effort)+strings.Join(names, ",")] = r.Messages[1].Text()
	}
	if got := offered["mBe good.echo"]; !strings.HasSuffix(got, "\n\nlook") || !strings.Contains(got, "not change anything") {
		t.Errorf("Explore was given %q; all: %v", got, offered)
	}
	if got := offered["bigReview.highwrite"]; got != "review" {
		t.Errorf("Reviewer was given %q; all: %v", got, offered)
	}
	if e := records[event.ToolCallEnd](s); !strings.Contains(e[2].Model, "Explore, Plan, Reviewer") {
		t.Errorf(`got %+v, want Model with "Explore, Plan, Reviewer"`, e[2])
	}
}

func TestSubagent_FailureAndTurnLimitAreErrorResults(t *testing.T) {
	script := play(map[string][]llmtest.Turn{
		"main":   {spawn(`{"task":"broken"}`), wait("1"), spawn(`{"task":"endless","max_turns":2}`), wait("2"), llmtest.Say("Done.")},
		"broken": {llmtest.Fail(500)}, "endless": {echoCall("1"), echoCall("2"), echoCall("3")},
	})
	s := open(t, script, nil)
	submit(t, s, "main")
	e := records[event.ToolCallEnd](s)
	if e[1].Error == nil || !strings.Contains(e[1].Model, "HTTP 500") || e[3].Error == nil || !strings.Contains(e[3].Model, "max_turns") {
		t.Errorf("%q, %q", e[1].Model, e[3].Model)
	}
}

func TestSubagent_NeedsTheParentsApproval(t *testing.T) {
	var asked []string
	script := play(map[string][]llmtest.Turn{
		"main": {spawn(`{"task":"change"}`), wait("1"), llmtest.Say("Done.")}, "change": {calls("write"), llmtest.Say("No.")},
	})
	s := open(t, script, func(c *Config) {
		c.Policy = onlyAgents{}
		c.Approve = func(_ context.Context, r tool.Request) (tool.Approval, error) {
			asked = append(asked, r.Spec.Name)
			return tool.Approval{Message: "not in my house"}, nil
		}
		with(tool.New(tool.Spec{Name: "write"}, nil, func(context.Context, *tool.Call, echoIn) (tool.Result, error) {
			return tool.Success("written"), nil
		}))(c)
	})
	submit(t, s, "main")
	if len(asked) != 1 || asked[0] != "write" {
		t.Errorf("asked about %v", asked)
	}
	if m := sketch(step.Messages(s.log.Records(0), "1")); !strings.Contains(m, "not in my house") {
		t.Error(m)
	}
}

// onlyAgents asks about every call that does not declare its accesses.
type onlyAgents struct{}

func (onlyAgents) Decide(_ context.Context, q policy.Query) policy.Decision {
	if q.Accesses == nil {
		return policy.Decision{Verdict: policy.Ask, Reason: "undeclared"}
	}
	return policy.Decision{Verdict: policy.Allow}
}

func TestSubagent_CancelScope(t *testing.T) {
	for _, outlive := range []bool{false, true} {
		t.Run(fmt.Sprintf("outlive %v", outlive), func(t *testing.T) {
			begun, gate := make(chan struct{}, 8), make(chan struct{})
			hold := fake("hold", false, func(ctx context.Context, _ *tool.Call, _ string) (tool.Result, error) {
				begun <- struct{}{}
				select {
				case <-gate:
					return tool.Success("held"), nil
				case <-ctx.Done():
					return tool.Result{}, ctx.Err()
				}
			})
			script := play(map[string][]llmtest.Turn{
				"main": {spawn(`{"task":"work"}`), llmtest.Say("Started."), wait("1"), wait("1"), llmtest.Say("Done.")},
				"work": {calls("hold"), llmtest.Say("Worked.")},
			})
			s := open(t, script, func(c *Config) { c.Subagents.Outlive = outlive; with(hold)(c) })
			submit(t, s, "main")
			<-begun // it continues although the turn is over
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				for r := range s.Events(ctx, 0) {
					if d, ok := r.Data.(event.ToolCallStart); ok && d.Name == "wait" {
						cancel()
					}
				}
			}()
			if out, _ := s.Submit(ctx, text("wait for it")); out.Status != StatusInterrupted {
				t.Fatalf("got %+v, want StatusInterrupted", out)
			}
			status := records[event.SubagentEnd](s)
			if outlive != (len(status) == 0) {
				t.Errorf("after the interruption: %+v", status)
			}
			close(gate)
			submit(t, s, "and now?")
			if r := lastResults(script)[0]; r.IsError == outlive {
				t.Errorf("got %+v, want IsError %v", r, !outlive)
			}
		})
	}
}

func TestTree_CapsHoldOverAllAgents(t *testing.T) {
	usage := llm.Usage{Input: 90, Output: 10}
	million := 1e6
	price := mustCatalogue(t, llm.Model{ID: "m", Provider: "x", Price: &llm.Price{Input: &million, Output: &million}})
	for name, tt := range map[string]struct {
		limits Limits
		agents int
		limit  event.Limit
		turns  int
	}{
		"turns":  {Limits{TreeTurns: 3}, 0, "tree_turns", 3},
		"tokens": {Limits{TreeTokens: 250}, 0, "tree_tokens", 3},
		"cost":   {Limits{TreeCost: 250}, 0, "tree_cost", 3},
		"agents": {Limits{ToolRounds: 2}, 1, "max_tool_rounds", 3},
	} {
		t.Run(name, func(t *testing.T) {
			script := &llmtest.Script{Reply: func(_ int, r *llm.Request) llmtest.Turn {
				turn := llmtest.Turn{Usage: usage}
				if strings.HasPrefix(r.Messages[1].Text(), "child") {
					turn.Parts = llmtest.Say("ok").Parts
				} else if last := lastResult(r); strings.Contains(last, "is running") {
					turn.Parts = wait("1").Parts
				} else {
					turn.Parts = spawn(`{"task":"child"}`).Parts
				}
				return turn
			}}
			s := open(t, script, func(c *Config) { c.Limits, c.Subagents.MaxAgents, c.Catalogue = tt.limits, tt.agents, price })
			out := submit(t, s, "main")
			if out.Status != StatusLimit || out.Limit != tt.limit || s.Total().Turns != tt.turns {
				t.Errorf("got %+v, total %+v, want StatusLimit, Limit %s, %d turns in all", out, s.Total(), tt.limit, tt.turns)
			}
			if l := records[event.TurnLimit](s); len(l) != 1 {
				t.Errorf("got %+v, want 1", l)
			}
		})
	}
}

func lastResult(r *llm.Request) string {
	last := r.Messages[len(r.Messages)-1]
	if res, ok := last.Parts[0].(llm.ToolResult); ok {
		return res.Text()
	}
	return ""
}

func mustCatalogue(t *testing.T, models ...llm.Model) *llm.Catalogue {
	t.Helper()
	c, err := llm.NewCatalogue(models)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTree_CostLimitRefusesAModelWithoutAPrice(t *testing.T) {
	dollar := 1.0
	priced := mustCatalogue(t, llm.Model{ID: "m", Provider: "x", Price: &llm.Price{Input: &dollar, Output: &dollar}})
	var config Config
	s := open(t, llmtest.Play(llmtest.Say("Done.")), func(c *Config) {
		c.Limits.TreeCost, c.Provider, c.Catalogue = 1, "x", priced
		config = *c
	})
	if err := s.SetModel("x", "other"); llm.KindOf(err) != llm.ErrConfiguration || !strings.Contains(err.Error(), "the price of other is unknown") {
		t.Errorf("SetModel: %v", err)
	}
	submit(t, s, "go") // with the model that has a price

	for name, change := range map[string]func(*Config){
		"model":    func(c *Config) { c.Model = "other" },
		"fallback": func(c *Config) { c.Fallback = []Model{{Name: "other"}} },
	} {
		c := config
		change(&c)
		if _, err := New(c); llm.KindOf(err) != llm.ErrConfiguration || !strings.Contains(err.Error(), "the price of other is unknown") {
			t.Errorf("%s: New: %v", name, err)
		}
	}
}

func TestSubagent_TakesMessagesFromTheMomentItIsSpawned(t *testing.T) {
	gate := make(chan struct{})
	hold := fake("hold", false, func(ctx context.Context, _ *tool.Call, _ string) (tool.Result, error) {
		select {
		case <-gate:
		case <-ctx.Done():
		}
		return tool.Success("ok"), nil
	})
	open1 := fake("open", false, func(context.Context, *tool.Call, string) (tool.Result, error) {
		close(gate)
		return tool.Success("ok"), nil
	})
	at := append(spawn(`{"task":"work"}`).Parts, llmtest.Call("send_input", `{"agent_id":"1","message":"left"}`).Parts...)
	script := play(map[string][]llmtest.Turn{
		"main": {{Parts: append(at, calls("open").Parts...)}, wait("1"), llmtest.Say("Done.")},
		"work": {calls("hold"), llmtest.Say("First."), llmtest.Say("Second.")},
	})
	s := open(t, script, with(hold, open1))
	submit(t, s, "main")
	if n := len(records[event.SubagentEnd](s)); n != 1 {
		t.Errorf("the message made a task of its own: %d tasks", n)
	}
	if got := said(step.Messages(s.log.Records(0), "1")); !strings.Contains(got, "user:left") {
		t.Error(got)
	}
}
