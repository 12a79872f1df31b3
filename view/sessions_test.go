package view_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/event/filestore"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
	"github.com/reins-agent/reins/view"
)

// rig is a session with a store on disk, and everything that a host saw of it.
type rig struct {
	t      *testing.T
	config agent.Config
	*agent.Session
	store  event.Store
	tools  chan string // receives the text in a "block" call when it runs
	mu     sync.Mutex
	live   []event.Record
	seen   chan struct{} // closed when the reader is done
	answer func(tool.Request) tool.Approval
}

type textIn struct {
	Text string `json:"text"`
}

func (g *rig) tool(name string, readOnly bool, run func(context.Context, *tool.Call, string) (tool.Result, error)) tool.Tool {
	return tool.New(tool.Spec{Name: name, Description: "A tool.", ReadOnly: readOnly}, tool.Nothing,
		func(ctx context.Context, c *tool.Call, in textIn) (tool.Result, error) { return run(ctx, c, in.Text) })
}

type planIn struct {
	Plan []view.Step `json:"plan"`
}

func newRig(t *testing.T, script *llmtest.Script) *rig {
	t.Helper()
	g := &rig{t: t, tools: make(chan string, 1)}
	store, err := filestore.New(filestore.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	e, err := local.New(local.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	client, err := llm.NewClient(llm.ClientConfig{
		Providers:  []llm.Provider{script},
		Middleware: []llm.Middleware{llm.RetryPolicy{Retries: 3, Base: 1, Restart: true}.Middleware()},
	})
	if err != nil {
		t.Fatal(err)
	}
	g.store = store
	g.config = agent.Config{
		ID: "view", Client: client, Provider: "script", Model: "m", Env: e, System: "Be good.", Tools: &tool.Registry{}, Store: store,
		Policy: policy.Func(func(_ context.Context, q policy.Query) policy.Decision {
			if q.Tool == "write" {
				return policy.Decision{Verdict: policy.Ask, Rule: "writes", Reason: "it writes"}
			}
			return policy.Decision{Verdict: policy.Allow, Rule: "rest"}
		}),
		Approve: func(_ context.Context, r tool.Request) (tool.Approval, error) {
			if g.answer == nil {
				return tool.Approval{}, tool.ErrPending
			}
			return g.answer(r), nil
		},
	}
	err = g.config.Tools.Register(agent.AskUserTool(),
		g.tool("echo", true, func(_ context.Context, _ *tool.Call, text string) (tool.Result, error) {
			return tool.Success("%s", text), nil
		}),
		g.tool("write", false, func(_ context.Context, _ *tool.Call, text string) (tool.Result, error) {
			return tool.Success("wrote %s", text), nil
		}),
		g.tool("make", false, func(_ context.Context, c *tool.Call, text string) (tool.Result, error) {
			var all strings.Builder
			for i := range 200 {
				line := fmt.Sprintf("%s %d\n", text, i)
				c.Output([]byte(line))
				all.WriteString(line)
			}
			res := tool.Result{Output: tool.Text(all.String()), Artifacts: tool.Artifacts{CommandsRun: []string{"make"}}}
			if text == "fail" {
				res.Error = tool.Errorf(tool.ShellExitError, "The command exited with code 2.")
			}
			return res, nil
		}),
		g.tool("block", false, func(ctx context.Context, c *tool.Call, text string) (tool.Result, error) {
			c.Output([]byte("started\n"))
			g.tools <- text
			<-ctx.Done()
			return tool.Result{}, ctx.Err()
		}),
		tool.New(tool.Spec{Name: "update_plan", Description: "Plan.", Plan: true}, tool.Nothing[planIn],
			func(context.Context, *tool.Call, planIn) (tool.Result, error) { return tool.Success("ok"), nil }),
	)
	if err != nil {
		t.Fatal(err)
	}
	s, err := agent.New(g.config)
	g.follow(s, err)
	return g
}

// follow records everything that the session shows from now on.
func (g *rig) follow(s *agent.Session, err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
	g.Session, g.seen = s, make(chan struct{})
	var after event.Seq
	for _, r := range g.live {
		after = max(after, r.Seq)
	}
	go func() {
		defer close(g.seen)
		for r, err := range s.Events(context.Background(), after) {
			if err != nil {
				return
			}
			g.mu.Lock()
			g.live = append(g.live, r)
			g.mu.Unlock()
		}
	}()
}

// reopen continues the session in what might be another process.
func (g *rig) reopen() {
	g.t.Helper()
	g.close()
	s, err := agent.Resume(g.t.Context(), g.config)
	g.follow(s, err)
}

func (g *rig) close() {
	g.t.Helper()
	if err := g.Session.Close(); err != nil {
		g.t.Error(err)
	}
	<-g.seen
}

func (g *rig) submit(text string) agent.Outcome {
	g.t.Helper()
	out, err := g.Submit(g.t.Context(), llm.Text{Text: text})
	if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, agent.ErrInterrupted) {
		g.t.Fatal(err)
	}
	return out
}

// saved returns the records as another process reads them.
func (g *rig) saved() (list []event.Record) {
	g.t.Helper()
	for r, err := range event.Read(g.t.Context(), g.store, "view", 0) {
		if err != nil {
			g.t.Fatal(err)
		}
		list = append(list, r)
	}
	return list
}

func apply(records []event.Record) *view.State {
	s := new(view.State)
	for _, r := range records {
		s.Apply(r)
	}
	return s
}

type fataler interface {
	Helper()
	Fatalf(string, ...any)
}

// encoded returns everything that a state shows as JSON.
func encoded(t fataler, s *view.State) string {
	t.Helper()
	b, err := json.MarshalIndent(s.Screen(), "", " ")
	if err != nil {
		t.Fatalf("the screen does not encode: %v", err)
	}
	return string(b)
}

// again returns a state that was saved and read.
func again(t fataler, s *view.State) *view.State {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatalf("the state does not encode: %v", err)
	}
	out := new(view.State)
	if err := json.Unmarshal(b, out); err != nil {
		t.Fatalf("the state does not decode: %v", err)
	}
	return out
}

// checkSame compares a replay with the views of all kinds of readers: all records, some of the transient records, and a
// state that was saved and read in between.
func checkSame(t *testing.T, live, saved []event.Record) *view.State {
	t.Helper()
	want := apply(saved)
	text := encoded(t, want)
	if diff := cmp.Diff(text, encoded(t, apply(live))); diff != "" {
		t.Errorf("a host that saw everything shows something else (-replayed +live):\n%s", diff)
	}
	rapid.Check(t, func(t *rapid.T) {
		s := new(view.State)
		for _, r := range live {
			if !r.Durable() && rapid.IntRange(0, 2).Draw(t, "fate") == 0 {
				continue
			}
			s.Apply(r)
			if rapid.IntRange(0, 40).Draw(t, "save") == 0 {
				s = again(t, s)
			}
			checkWhole(t, s)
		}
		if diff := cmp.Diff(text, encoded(t, s)); diff != "" {
			t.Fatalf("a slow host shows something else (-replayed +slow):\n%s", diff)
		}
	})
	return want
}

// checkWhole checks that items can be found by their keys.
func checkWhole(t fataler, s *view.State) {
	t.Helper()
	for i := max(s.Len()-8, 0); i < s.Len(); i++ {
		item := s.Item(i)
		if got, ok := s.Find(item.Key); !ok || got != i {
			t.Fatalf("item %d with the key %s is found at %d (%v)", i, item.Key, got, ok)
		}
	}
}

// brief shows a state's items, one per line.
func brief(s *view.State) string {
	var b strings.Builder
	for i := range s.Len() {
		item := s.Item(i)
		mark := ""
		if item.Undone != 0 {
			mark = "undone "
		}
		if item.Agent != "" {
			mark += "[" + item.Agent + "] "
		}
		switch {
		case item.Tool != nil:
			fmt.Fprintf(&b, "%s%s: %s %s\n", mark, item.Tool.Title, item.Tool.State, item.Tool.Outcome)
		default:
			fmt.Fprintf(&b, "%s%s: %s\n", mark, item.Kind, item.Text)
		}
	}
	return b.String()
}

func call(name, text string) llm.ToolCall {
	return llm.ToolCall{Name: name, Arguments: fmt.Sprintf(`{"text":%q}`, text)}
}

func turn(parts ...llm.Part) llmtest.Turn { return llmtest.Turn{Parts: parts, Chunk: 3} }

func wantItems(t *testing.T, s *view.State, want ...string) {
	t.Helper()
	if diff := cmp.Diff(strings.Join(want, "\n")+"\n", brief(s)); diff != "" {
		t.Errorf("the items differ (-want +got):\n%s", diff)
	}
}

func TestState_ToolsApprovalsAndQuestionsAreTheSameLiveAndReplayed(t *testing.T) {
	g := newRig(t, llmtest.Play(
		turn(llm.Thinking{Text: "Let me see."}, llm.Text{Text: "I look around."}, call("echo", "a"), call("echo", "b")),
		turn(llm.ToolCall{Name: "update_plan", Arguments: `{"plan":[{"text":"look","status":"completed"},{"text":"act","status":"pending"}]}`}),
		turn(call("make", "fail"), call("nope", "x")),
		turn(call("write", "yes"), call("write", "no")),
		turn(llm.ToolCall{Name: "ask_user", Arguments: `{"question":"Which one?"}`}),
		turn(llm.Text{Text: "Done."}),
	))
	g.answer = func(r tool.Request) tool.Approval {
		return tool.Approval{Allow: strings.Contains(string(r.Call.Args), "yes"), Message: "not that"}
	}
	if out := g.submit("Go."); out.Status != agent.StatusAwaitingInput {
		t.Fatalf("it ended with %+v", out)
	}
	g.submit("The first.")
	g.close()
	s := checkSame(t, g.live, g.saved())
	wantItems(t, s,
		"input: Go.", "reasoning: Let me see.", "text: I look around.", "echo: done ", "echo: done ",
		"update_plan: done ",
		"make: failed The command exited with code 2.",
		"nope: failed Unknown tool: nope. Available tools: ask_user, echo, write, make, block, update_plan, spawn_agent, s…",
		"write: done ", "write: refused write was refused: not that",
		"ask_user Which one?: done ", "input: The first.", "text: Done.")
	for i := range s.Len() {
		item := s.Item(i)
		if item.Tool == nil || item.Tool.Name != "make" {
			continue
		}
		out := item.Tool.Output
		if !strings.HasPrefix(out.Head, "fail 0\nfail 1\n") || !strings.HasSuffix(out.Tail, "fail 198\nfail 199") || out.Omitted != 120 || item.Tool.Error == "" {
			t.Errorf("the output is folded as %+v", out)
		}
	}
	if plan := s.Plan(); len(plan) != 2 || plan[1] != (view.Step{Text: "act", Status: "pending"}) {
		t.Errorf("the plan is %+v", plan)
	}
	if n := len(s.Approvals()) + len(s.Questions()) + s.Open(); n != 0 {
		t.Errorf("%d things are still open", n)
	}
	if got := s.Totals(); got.Calls != 6 || got.Rounds != 6 || got.Cost().Known {
		t.Errorf("the totals are %+v", got)
	}
	if got := s.Stop(); got.Outcome != event.StatusDone {
		t.Errorf("it stopped with %+v", got)
	}
}

func TestState_FailedAttemptsAreTheSameLiveAndReplayed(t *testing.T) {
	broken := llmtest.Turn{Parts: []llm.Part{llm.Thinking{Text: "Hm."}, llm.Text{Text: "I begin to say something"}, call("echo", "x")}, Chunk: 3, Fault: llmtest.Fault{MidStream: 529}}
	g := newRig(t, llmtest.Play(broken, broken, turn(llm.Text{Text: "Third time lucky."}), broken, broken, broken, broken))
	g.submit("Go.")
	if _, err := g.Submit(t.Context(), llm.Text{Text: "Again."}); err == nil {
		t.Error("the second input did not fail")
	}
	g.close()
	s := checkSame(t, g.live, g.saved())
	for _, want := range []string{"\ntext: Third time lucky.\n", "notice: retrying in ", "\ntext: I begin to say something\nnotice: model call failed: ", "notice: ended: failed\n"} {
		if !strings.Contains(brief(s), want) {
			t.Errorf("%q is missing in\n%s", want, brief(s))
		}
	}
	if n := strings.Count(brief(s), "retrying"); n != 2 {
		t.Errorf("%d notices about retries of two calls", n)
	}
}

func TestState_SubagentsAreToldApart(t *testing.T) {
	script := &llmtest.Script{Reply: func(_ int, r *llm.Request) llmtest.Turn {
		task, answers := "", 0
		for _, m := range r.Messages {
			if m.Role == llm.RoleUser && task == "" {
				task = m.Text()
			}
			if m.Role == llm.RoleAssistant {
				answers++
			}
		}
		spawn := func(name, task string) llm.Part {
			return llm.ToolCall{Name: "spawn_agent", Arguments: fmt.Sprintf(`{"name":%q,"task":%q}`, name, task)}
		}
		switch {
		case strings.HasSuffix(task, "main"):
			return []llmtest.Turn{
				turn(spawn("red", "count"), spawn("blue", "count")),
				turn(llm.ToolCall{Name: "wait", Arguments: `{"agent_id":"1"}`}, llm.ToolCall{Name: "wait", Arguments: `{"agent_id":"2"}`}),
				turn(llm.Text{Text: "Both are done."})}[answers]
		case answers == 0:
			return turn(llm.Text{Text: "I count."}, call("echo", "1"), call("make", "x"))
		}
		return turn(llm.Text{Text: "Three."})
	}}
	g := newRig(t, script)
	g.submit("main")
	g.close()
	s := checkSame(t, g.live, g.saved())
	agents := s.Agents()
	if len(agents) != 3 || agents[1].Label() != "1 red" || agents[2].Label() != "2 blue" || agents[1].Status != event.SubagentCompleted || agents[1].Totals.Calls != 2 {
		t.Errorf("the agents are %+v", agents)
	}
	for _, want := range []string{"[1] text: I count.", "[2] echo: done", "[1] make: done x 199", "[2] text: Three."} {
		if !strings.Contains(brief(s), want) {
			t.Errorf("%q is missing in\n%s", want, brief(s))
		}
	}
	if s.Totals().Rounds != 3 {
		t.Errorf("the main agent made %d rounds, want 3", s.Totals().Rounds)
	}
}

func TestState_UndoneItemsAreMarkedUntilTheyAreRedone(t *testing.T) {
	g := newRig(t, llmtest.Play(turn(llm.Text{Text: "One."}), turn(call("echo", "x")), turn(llm.Text{Text: "Two."}), turn(llm.Text{Text: "Three."})))
	g.submit("first")
	g.submit("second")
	step := func(f func() (agent.Undone, error)) *view.State {
		t.Helper()
		if _, err := f(); err != nil {
			t.Fatal(err)
		}
		return apply(g.saved())
	}
	undo := func() (agent.Undone, error) { return g.Undo(t.Context(), agent.Parts{Chat: true}) }
	redo := func() (agent.Undone, error) { return g.Redo(t.Context()) }
	const done = "input: first\ntext: One.\ninput: second\necho: done \ntext: Two.\n"
	marks := func(s *view.State) (list string) {
		for i := range 5 {
			list += string("-u"[min(int(s.Item(i).Undone), 1)])
		}
		return list
	}
	for i, c := range []struct {
		do   func() (agent.Undone, error)
		want string
	}{{undo, "--uuu"}, {undo, "uuuuu"}, {redo, "--uuu"}, {redo, "-----"}, {undo, "--uuu"}} {
		s := step(c.do)
		if got := marks(s); got != c.want {
			t.Errorf("step %d: marked %s, want %s\n%s", i, got, c.want, brief(s))
		}
	}
	g.submit("third")
	g.close()
	s := checkSame(t, g.live, g.saved())
	if got := marks(s); got != "--uuu" || !strings.Contains(strings.ReplaceAll(brief(s), "undone ", ""), done) {
		t.Errorf("in the end %s are marked:\n%s", got, brief(s))
	}
}

func TestState_InterruptedAndResumedSessionIsTheSameLiveAndReplayed(t *testing.T) {
	g := newRig(t, llmtest.Play(
		turn(llm.Text{Text: "I wait."}, call("block", "x"), call("echo", "never")),
		turn(llm.Text{Text: "I go on."}, call("write", "a"), call("echo", "b")),
		turn(llm.Text{Text: "The end."}), turn(llm.Text{Text: "Faster it is."}), turn(llm.Text{Text: "More."})))
	go func() {
		<-g.tools
		_ = g.Steer(llm.Text{Text: "faster"})
		_ = g.FollowUp(llm.Text{Text: "more"})
		g.Interrupt()
	}()
	g.submit("Go.")
	s := apply(g.saved())
	if q := s.Queue(); len(q) != 2 || q[0].Text != "faster" || q[1].FollowUp != true {
		t.Errorf("the queue is %+v", q)
	}
	wantItems(t, s, "input: Go.", "text: I wait.", "block: interrupted block was interrupted: interrupted by the host",
		"echo: interrupted interrupted: this tool call was not run", "notice: ended: interrupted")
	g.reopen()
	if out, err := g.Continue(t.Context()); err != nil || out.Status != agent.StatusAwaitingApproval {
		t.Fatalf("got %+v, %v", out, err)
	}
	s = apply(g.saved())
	asked := s.Approvals()
	if a, _ := s.Agent(""); len(asked) != 1 || asked[0].Reason != "it writes" || a.Activity.Doing != view.DoingApproval || a.Activity.Count != 1 {
		t.Errorf("it waits for %+v and does %+v", asked, a.Activity)
	}
	g.reopen()
	if err := g.Resolve(t.Context(), asked[0].ID, tool.Approval{Allow: true}); err != nil {
		t.Fatal(err)
	}
	if out, err := g.Continue(t.Context()); err != nil || out.Status != agent.StatusDone {
		t.Fatalf("got %+v, %v", out, err)
	}
	g.close()
	s = checkSame(t, g.live, g.saved())
	if len(s.Queue())+len(s.Approvals()) > 0 || !strings.Contains(brief(s), "input: faster\n") || !strings.Contains(brief(s), "input: more\n") {
		t.Errorf("in the end:\n%s", brief(s))
	}
}

func TestState_ShowsEarlierVersionsLogs(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "event", "testdata", "records-2026-11.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	s := new(view.State)
	for line := range strings.Lines(string(b)) {
		var r event.Record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		s.Apply(r)
	}
	if s.Len() < 10 || encoded(t, again(t, s)) != encoded(t, s) {
		t.Errorf("%d items:\n%s", s.Len(), brief(s))
	}
}

var epoch = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
