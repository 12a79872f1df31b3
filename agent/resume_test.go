package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/thorough"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// life is what happened to a session's tools, over all processes.
type life struct {
	mu  sync.Mutex
	ran map[string]int // how often, by call
	ids atomic.Int64
}

func (l *life) run(_ context.Context, c *tool.Call, text string) (tool.Result, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ran[c.ID]++
	return tool.Success("%s", text), nil
}

// writer is a tool that the default policy asks about.
func writer(run func(ctx context.Context, c *tool.Call, text string) (tool.Result, error)) tool.Tool {
	return tool.New(tool.Spec{Name: "write", Description: "A tool."},
		func(_ context.Context, c *tool.Call, _ echoIn) []policy.Access {
			return []policy.Access{{Kind: policy.Write, Target: c.Env.Info().Dir}}
		},
		func(ctx context.Context, c *tool.Call, in echoIn) (tool.Result, error) { return run(ctx, c, in.Text) })
}

// longLife is a session with everything that can be interrupted: parallel calls, approvals, steering, a follow-up, a
// subagent and a question to the user.
func longLife(t *testing.T, e env.Environment, store event.Store, l *life) Config {
	t.Helper()
	script := play(map[string][]llmtest.Turn{
		"main": {
			calls("echo", "echo"), calls("echo", "write", "echo"), spawn(`{"task":"child"}`), calls("write", "write"),
			{Parts: append(wait("1").Parts, calls("echo").Parts...)}, llmtest.Call(AskUser, `{"question":"Which one?"}`),
			calls("echo"), llmtest.Say("All done here."), calls("write"), llmtest.Say("And more."),
		},
		"child": {calls("echo", "echo"), calls("write"), llmtest.Say("The child is done.")},
	})
	flow := script.Reply
	script.Reply = func(n int, r *llm.Request) llmtest.Turn {
		turn := flow(n, r)
		turn.Parts = slices.Clone(turn.Parts)
		for i, p := range turn.Parts {
			if c, ok := p.(llm.ToolCall); ok {
				c.ID = fmt.Sprintf("call_%d", l.ids.Add(1))
				turn.Parts[i] = c
			}
		}
		return turn
	}
	c := Config{
		ID: "life", Client: strict{t, script}, Model: "m", Env: e, System: "Be good.", Tools: &tool.Registry{}, Store: store,
		Approve: func(context.Context, tool.Request) (tool.Approval, error) { return tool.Approval{Allow: true}, nil },
	}
	with(AskUserTool(), fake("echo", true, l.run), writer(l.run))(&c)
	return c
}

// finishLife works until there is nothing more to do.
func finishLife(t *testing.T, s *Session) {
	t.Helper()
	for range 5 {
		var err error
		switch s.State() {
		case AwaitingInput:
			_, err = s.Submit(t.Context(), text("That one."))
		default:
			_, err = s.Continue(t.Context())
		}
		if errors.Is(err, ErrNothingToContinue) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("the session does not come to an end")
}

func TestResume_CutOffAtEveryRecordTheSessionGoesOnAndNoToolRunsTwice(t *testing.T) {
	e, err := local.New(local.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	store := &event.Memory{}
	l := &life{ran: map[string]int{}}
	s, err := New(longLife(t, e, store, l))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.FollowUp(text("more")); err != nil {
		t.Fatal(err)
	}
	if err := s.Steer(text("left")); err != nil {
		t.Fatal(err)
	}
	if out := submit(t, s, "main"); out.Status != StatusAwaitingInput || out.Question != "Which one?" {
		t.Fatalf(`got %+v, want StatusAwaitingInput, Question "Which one?"`, out)
	}
	if out := submit(t, s, "That one."); out.Text != "And more." {
		t.Fatalf(`got %+v, want Text "And more."`, out)
	}
	whole := s.Messages()
	s.Close()
	records := s.log.Records(0)
	t.Logf("%d records", len(records))
	chosen := thorough.OneIn(3)
	for n := 1; n <= len(records) && !t.Failed(); n++ {
		if !chosen(n) {
			continue
		}
		t.Run(fmt.Sprint(n), func(t *testing.T) { cutOff(t, e, records[:n], whole) })
	}
}

// cutOff resumes a session from only some of its records, and finishes it.
func cutOff(t *testing.T, e env.Environment, saved []event.Record, whole []llm.Message) {
	store := &event.Memory{}
	put(t, store, saved)
	l := &life{ran: map[string]int{}}
	l.ids.Store(1000)
	s, err := Resume(t.Context(), longLife(t, e, store, l))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, r := range saved {
		if d, ok := r.Data.(event.ToolCallStart); ok {
			l.ran[d.ID]++ // it may have run
		}
		if d, ok := r.Data.(event.ApprovalRequested); ok {
			l.ran[d.ID]-- // it has not
		}
		if d, ok := r.Data.(event.ApprovalResolved); ok {
			l.ran[d.ID]++
		}
	}
	before := s.Total()
	if !strings.Contains(kindsOf(saved), string(event.KindUserInput)) {
		if _, err := s.Submit(t.Context(), text("main")); err != nil {
			t.Fatal(err)
		}
	}
	finishLife(t, s)
	for id, n := range l.ran {
		if n > 1 {
			t.Errorf("the call %s ran %d times", id, n)
		}
	}
	after := s.Total()
	if after.Turns < before.Turns || after.Usage.Input < before.Usage.Input {
		t.Errorf("the figures are lost: %+v, then %+v", before, after)
	}
	s.Close()
	checkHistory(t, s)
	checkCalls(t, s.log.Records(0))
	var again []event.Record
	for r, err := range event.Read(t.Context(), store, "life", 0) {
		if err != nil {
			t.Fatal(err)
		}
		again = append(again, r)
	}
	if diff := cmp.Diff(kindsOf(s.log.Records(0)), kindsOf(again)); diff != "" {
		t.Errorf("the store has other records than the session: %s", diff)
	}
	if t.Failed() {
		t.Logf("saved: %s\n%s", kindsOf(saved), sketch(s.Messages()))
	}
}

func kindsOf(records []event.Record) string {
	var out []string
	for _, r := range records {
		out = append(out, fmt.Sprint(r.Seq, r.Agent, r.Kind()))
	}
	return strings.Join(out, "\n")
}

// checkCalls checks that every tool call begins and ends once. A subagent's call that still waits for approval when the
// session is closed has no end.
func checkCalls(t *testing.T, all []event.Record) {
	t.Helper()
	open, waiting := map[string]int{}, map[string]bool{}
	for _, r := range all {
		switch d := r.Data.(type) {
		case event.ApprovalRequested:
			waiting["tool "+d.ID] = r.Agent != ""
		case event.ApprovalResolved:
			delete(waiting, "tool "+d.ID)
		}
		if name, step := bracket(r.Data); strings.HasPrefix(name, "tool ") {
			if open[name] += step; open[name] < 0 || open[name] > 1 {
				t.Errorf("%s begins or ends twice", name)
			}
		}
	}
	for name, n := range open {
		if n != 0 && !waiting[name] {
			t.Errorf("there is no end of %s", name)
		}
	}
}

// put puts records into a store as the session "life".
func put(t *testing.T, store event.Store, records []event.Record) {
	t.Helper()
	w, err := store.Create(t.Context(), event.Meta{ID: "life"})
	if err == nil {
		err = event.Save(t.Context(), w, records...)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestResume_WithoutAnythingDoneLeavesNoTrace(t *testing.T) {
	store := &event.Memory{}
	put(t, store, logged(begun, asked, called, wrote(text("Well.")), answered(llm.FinishStop), over))
	before, err := store.Meta(t.Context(), "life")
	if err != nil {
		t.Fatal(err)
	}
	s := tookUpFrom(t, store, llmtest.Play(), nil)
	if _, err := s.Redo(t.Context()); !errors.Is(err, ErrNothingToRedo) {
		t.Error(err)
	}
	if _, err := s.Continue(t.Context()); !errors.Is(err, ErrNothingToContinue) {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	after, err := store.Meta(t.Context(), "life")
	if diff := cmp.Diff(before, after); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
}

func TestResume_CostLimitNamesTheModelWhosePastIsUnknown(t *testing.T) {
	free := 0.0
	s := tookUp(t, llmtest.Play(), func(c *Config) {
		c.Model, c.Limits.TreeCost = "priced", 1
		c.Catalogue = mustCatalogue(t, llm.Model{ID: "priced", Provider: "x", Price: &llm.Price{Input: &free, Output: &free}})
	}, logged(begun, asked, called, wrote(text("Well.")), answered(llm.FinishStop), over)...)
	_, err := s.Submit(t.Context(), text("more"))
	if llm.KindOf(err) != llm.ErrConfiguration || !strings.Contains(err.Error(), "the cost of m in this session is unknown") {
		t.Error(err)
	}
}
