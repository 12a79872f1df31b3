package agent

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/tool"
)

func TestUndo_ThatFailsLeavesTheQuestionOpen(t *testing.T) {
	d := &desk{files: map[string]string{}}
	s := open(t, &llmtest.Script{Reply: func(_ int, r *llm.Request) llmtest.Turn { return obedient(r) }}, func(c *Config) {
		c.Checkpoints = d
		with(AskUserTool(), fake("put", false, d.put))(c)
	})
	submit(t, s, "a=1 ask")
	d.full = errors.New("the disk is full")
	if _, err := s.Undo(t.Context(), Parts{Chat: true, Files: true}); err == nil {
		t.Fatal("the files were set back")
	}
	if s.State() != AwaitingInput || s.Question() != "Really?" || openCalls(s) != 1 {
		t.Errorf("%s, %q, %d calls", s.State(), s.Question(), openCalls(s))
	}
	d.full = nil
	if _, err := s.Undo(t.Context(), Parts{Chat: true, Files: true}); err != nil {
		t.Fatal(err)
	}
	checkCalls(t, s.log.Records(0))
}

func TestCompact_ThatFailsLeavesTheQuestionOpen(t *testing.T) {
	s := open(t, llmtest.Play(llmtest.Call(AskUser, `{"question":"Which?"}`)), with(AskUserTool()))
	submit(t, s, "go")
	if _, err := s.Compact(t.Context()); err == nil {
		t.Fatal("there is nothing to compact")
	}
	if s.State() != AwaitingInput || s.Question() != "Which?" {
		t.Errorf("%s, %q", s.State(), s.Question())
	}
}

func TestCompaction_InterruptedSummariesAreNoFailures(t *testing.T) {
	var cancel context.CancelFunc
	s, _ := narrow(t, 6, func(*llm.Request) llmtest.Turn {
		cancel()
		return llmtest.Turn{Delay: time.Hour}
	}, nil)
	for range 3 {
		var ctx context.Context
		ctx, cancel = context.WithCancel(t.Context())
		_, _ = s.Submit(ctx, text("task"))
		cancel()
	}
	for _, w := range records[event.Warning](s) {
		if w.Code == event.WarningSummaryFailed {
			t.Errorf("got %+v, want Code not event.WarningSummaryFailed", w)
		}
	}
}

func TestInput_BlobAddressIsRefused(t *testing.T) {
	s := open(t, llmtest.Play(), nil)
	_, err := s.Submit(t.Context(), llm.Image{Media: llm.Media{URL: "blob:https://example.com/1"}})
	if llm.KindOf(err) != llm.ErrInvalidRequest {
		t.Errorf("%v", err)
	}
}

// A subagent that is done may have left others at work.
func TestUndo_InterruptsTheWholeTree(t *testing.T) {
	working, gone := make(chan struct{}), make(chan struct{})
	block := fake("block", false, func(ctx context.Context, _ *tool.Call, _ string) (tool.Result, error) {
		close(working)
		<-ctx.Done()
		close(gone)
		return tool.Result{}, ctx.Err()
	})
	script := play(map[string][]llmtest.Turn{
		"main":  {spawn(`{"task":"child"}`), wait("1"), llmtest.Say("Done.")},
		"child": {spawn(`{"task":"grandchild"}`), llmtest.Say("It works on it.")}, "grandchild": {calls("block")},
	})
	s := open(t, script, func(c *Config) { c.Subagents.MaxDepth = 2; with(block)(c) })
	submit(t, s, "main")
	<-working
	if _, err := s.Undo(t.Context(), Parts{Chat: true}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-gone:
	default:
		t.Error("an agent works on while its input is taken back")
	}
}

func TestSession_StateIsTrueWhateverHappensAtOnce(t *testing.T) {
	script := &llmtest.Script{Reply: func(n int, _ *llm.Request) llmtest.Turn {
		if n%3 == 0 {
			return calls("echo", "write")
		}
		return llmtest.Say([]string{"Done.", "Shall I?"}[n%2])
	}}
	s := open(t, script, func(c *Config) { c.Store = &event.Memory{}; c.Compaction.NoModel = true })
	var wg sync.WaitGroup
	for _, f := range []func(){
		func() { _, _ = s.Submit(t.Context(), text("go")) }, func() { _, _ = s.Compact(t.Context()) }, func() { _, _ = s.Continue(t.Context()) },
		func() { _, _ = s.Undo(t.Context(), Parts{Chat: true}) }, func() { _, _ = s.Redo(t.Context()) }, func() { _ = s.Steer(text("left")) },
		func() { _ = s.FollowUp(text("more")) }, func() { s.SetModel("", "m"); s.SetEffort("low"); s.SetThinkingBudget(1) },
		func() {
			s.Pending()
			s.Question()
			s.Messages()
			s.Total()
			s.State()
			s.Last()
		},
	} {
		wg.Go(func() {
			for range 20 {
				f()
			}
		})
	}
	wg.Wait()
	if st := s.State(); st != Idle && st != AwaitingInput {
		t.Errorf("nothing happens and the state is %s", st)
	}
}
