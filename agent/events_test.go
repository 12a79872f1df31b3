package agent

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/tool"
)

// Definition of done, 9.10.
func TestEvents_EveryKindAppearsInItsPlace(t *testing.T) {
	stream := fake("stream", true, func(_ context.Context, c *tool.Call, _ string) (tool.Result, error) {
		c.Output([]byte("half"))
		return tool.Success("half and half"), nil
	})
	think := llmtest.Turn{Parts: []llm.Part{llm.Thinking{Text: "Hm."}, llm.Text{Text: "Well."}, llm.ToolCall{Name: "stream", Arguments: `{"text":""}`}}, Chunk: 100}
	script := llmtest.Play(think, llmtest.Say("Done."))
	s := open(t, script, func(c *Config) { c.Limits.Turns = 2; with(stream)(c) })
	seen := make(chan []string)
	attached := make(chan struct{})
	go func() {
		var got []string
		for r := range s.Events(context.Background(), 0) {
			if got = append(got, string(r.Kind())); len(got) == 1 {
				close(attached)
			}
		}
		seen <- got
	}()
	<-attached
	_ = s.Steer(text("gently"))
	submit(t, s, "go")
	submit(t, s, "again")
	s.Close()
	want := `SESSION_START STEERING_QUEUED USER_INPUT STEERING_INJECTED
MODEL_CALL_START REASONING_START REASONING_DELTA REASONING_END ASSISTANT_TEXT_START ASSISTANT_TEXT_DELTA TOOL_CALL_ARGUMENTS_DELTA ASSISTANT_TEXT_END MODEL_CALL_END
TOOL_CALL_START TOOL_CALL_OUTPUT_DELTA TOOL_CALL_END
MODEL_CALL_START ASSISTANT_TEXT_START ASSISTANT_TEXT_DELTA ASSISTANT_TEXT_END MODEL_CALL_END PROCESSING_END
USER_INPUT TURN_LIMIT PROCESSING_END SESSION_END`
	if got := <-seen; !slices.Equal(got, strings.Fields(want)) {
		t.Errorf("got\n%s", strings.Join(got, " "))
	}
}

// Definition of done, 9.10.
func TestEvents_EndWithTheSessionOrTheReader(t *testing.T) {
	s := open(t, llmtest.Play(llmtest.Say("Yes."), llmtest.Say("Yes.")), nil)
	for range s.Events(t.Context(), 0) {
		break // a reader may stop at any time
	}
	submit(t, s, "go")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range s.Events(ctx, s.log.Last()) {
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	s.Close()
	n := 0
	for r, err := range s.Events(t.Context(), 2) {
		if err != nil || n == 0 && r.Seq != 3 {
			t.Errorf("record %d, %v", r.Seq, err)
		}
		n++
	}
	if n == 0 {
		t.Error("a reader who comes late sees nothing")
	}
}

func TestRecords_EndAtTheLastOneOfAnOpenSession(t *testing.T) {
	s := open(t, llmtest.Play(llmtest.Say("Yes.")), nil)
	submit(t, s, "go")
	for _, after := range []event.Seq{0, 2, s.Last() - 1, s.Last(), s.Last() + 1} {
		want := after
		for r, err := range s.Records(t.Context(), after) {
			if want++; err != nil || r.Seq != want {
				t.Errorf("after %d: record %d, %v, want record %d", after, r.Seq, err, want)
			}
		}
		if want != max(after, s.Last()) {
			t.Errorf("after %d: ended at %d, want %d", after, want, s.Last())
		}
	}
}

// Definition of done, 9.10.
func TestEvents_ToolCallEndHasTheWholeOutput(t *testing.T) {
	big := strings.Repeat("x", 300_000)
	dump := fake("dump", true, func(context.Context, *tool.Call, string) (tool.Result, error) { return tool.Success("%s", big), nil })
	s := open(t, llmtest.Play(calls("dump"), llmtest.Say("Done.")), with(dump))
	submit(t, s, "go")
	if e := records[event.ToolCallEnd](s); tool.String(e[0].Output) != big {
		t.Errorf("%d characters", e[0].Output.Len())
	}
}

// Definition of done, 9.10.
func TestEvents_StartAndEndBracketTheSession(t *testing.T) {
	s := open(t, llmtest.Play(llmtest.Say("One."), llmtest.Say("Two.")), nil)
	submit(t, s, "1")
	submit(t, s, "2")
	s.Close()
	all := strings.Fields(kinds(s))
	if all[0] != "SESSION_START" || all[len(all)-1] != "SESSION_END" || strings.Count(kinds(s), "SESSION_") != 2 {
		t.Error(all)
	}
}

// Definition of done, 9.11.
func TestErrors_ModelRecoversFromToolErrors(t *testing.T) {
	tries := 0
	flaky := fake("flaky", false, func(context.Context, *tool.Call, string) (tool.Result, error) {
		if tries++; tries == 1 {
			return tool.Failure(tool.EditConflict, "old_string was not found"), nil
		}
		return tool.Success("edited"), nil
	})
	script := llmtest.Play(calls("flaky"), calls("flaky"), llmtest.Say("Done."))
	s := open(t, script, with(flaky))
	if out := submit(t, s, "edit"); out.Status != StatusDone || out.Rounds != 2 {
		t.Errorf("got %+v, want StatusDone, Rounds 2", out)
	}
	if e := records[event.ToolCallEnd](s); e[0].Error == nil || e[1].Error != nil {
		t.Errorf("got %+v, want [0].Error not nil, [1].Error nil", e)
	}
}

func client(t *testing.T, script *llmtest.Script) *llm.Client {
	t.Helper()
	retry := llm.RetryPolicy{Base: time.Nanosecond}
	c, err := llm.NewClient(llm.ClientConfig{Providers: []llm.Provider{script}, Middleware: []llm.Middleware{retry.Middleware()}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Definition of done, 9.11.
func TestErrors_TransientErrorsAreRetriedBelowTheLoop(t *testing.T) {
	for _, status := range []int{429, 500, 502, 503} {
		s := open(t, client(t, llmtest.Play(llmtest.Fail(status), llmtest.Fail(status), llmtest.Say("At last."))), nil)
		if out := submit(t, s, "go"); out.Text != "At last." || out.Turns != 1 {
			t.Errorf(`%d: got %+v, want Text "At last.", Turns 1`, status, out)
		}
		if r := records[event.ModelRetry](s); len(r) != 2 || r[0].Attempt != 2 || !r[0].Error.Retryable {
			t.Errorf("%d: got %+v, want 2, [0].Attempt 2, [0].Error.Retryable", status, r)
		}
	}
}

// Definition of done, 9.11.
func TestErrors_LastingTransientErrorsLeaveAUsableSession(t *testing.T) {
	s := open(t, client(t, llmtest.Play(llmtest.Fail(500), llmtest.Fail(500), llmtest.Fail(500), llmtest.Say("Back."))), nil)
	out, err := s.Submit(t.Context(), text("go"))
	if out.Status != StatusFailed || llm.KindOf(err) != llm.ErrServer || s.State() != Idle {
		t.Fatalf("got %+v, %v in state %s, want StatusFailed, error ErrServer, state Idle", out, err, s.State())
	}
	if e := records[event.Error](s); len(e) != 1 || !e[0].Retryable || e[0].Class != "server" {
		t.Errorf(`got %+v, want 1, [0].Retryable, [0].Class "server"`, e)
	}
	if out := submit(t, s, "again"); out.Text != "Back." {
		t.Errorf(`got %+v, want Text "Back."`, out)
	}
}

// Definition of done, 9.11.
func TestErrors_AuthenticationErrorsAreNotRetriedAndClose(t *testing.T) {
	for _, status := range []int{401, 403} {
		script := llmtest.Play(llmtest.Fail(status), llmtest.Say("never"))
		s := open(t, client(t, script), nil)
		out, err := s.Submit(t.Context(), text("go"))
		if out.Status != StatusFailed || err == nil || s.State() != Closed || len(script.Requests()) != 1 {
			t.Errorf("%d: got %+v, %v in state %s after %d calls, want StatusFailed, an error, state Closed, 1 request", status, out, err, s.State(), len(script.Requests()))
		}
		if !strings.HasSuffix(kinds(s), "MODEL_CALL_END ERROR PROCESSING_END SESSION_END") {
			t.Errorf("%d: %s", status, kinds(s))
		}
		if p := records[event.ProcessingEnd](s); p[0].State != "CLOSED" {
			t.Errorf(`got %+v, want [0].State "CLOSED"`, p)
		}
	}
}

// Definition of done, 9.11.
func TestErrors_ContextOverflowWarnsAndCloses(t *testing.T) {
	script := llmtest.Play(llmtest.Turn{Fault: llmtest.Fault{Status: 400, Message: "This model's maximum context length is 128000 tokens."}})
	s := open(t, client(t, script), nil)
	_, err := s.Submit(t.Context(), text("go"))
	if llm.KindOf(err) != llm.ErrContextLength || s.State() != Closed || len(records[event.Warning](s)) != 1 {
		t.Errorf("%v in state %s: %s", err, s.State(), kinds(s))
	}
}

// Definition of done, 9.11.
func TestContext_UseAboveEightyPercentWarns(t *testing.T) {
	dump := fake("dump", true, func(context.Context, *tool.Call, string) (tool.Result, error) {
		return tool.Success("%s", strings.Repeat("x", 4000)), nil
	})
	used := llm.Usage{Input: 20, Output: 1}
	turn := func(u llm.Usage) llmtest.Turn { t := calls("dump"); t.Usage = u; return t }
	// Results fill the window before the provider reports usage; then the provider's count applies.
	script := llmtest.Play(turn(used), turn(llm.Usage{Input: 1003, Output: 1}), turn(llm.Usage{Input: 100, Output: 1}), llmtest.Turn{Parts: llmtest.Say("Done.").Parts, Usage: llm.Usage{Input: 1100, Output: 10}})
	s := open(t, script, func(c *Config) { c.ContextWindow = 1200; with(dump)(c) })
	submit(t, s, "go")
	w := records[event.Warning](s)
	if len(w) != 2 || w[0].Message != "Context usage at ~86% of context window" {
		t.Errorf(`got %+v, want 2, [0].Message "Context usage at ~86%% of context window"`, w)
	}
	if all := strings.Fields(kinds(s)); all[slices.Index(all, "WARNING")-1] != "TOOL_CALL_END" {
		t.Errorf("the first warning comes late: %s", all)
	}
}

// Definition of done, 9.11.
func TestClose_ShutdownOrder(t *testing.T) {
	streaming, serving := make(chan struct{}), make(chan struct{})
	var mu sync.Mutex
	var order []string
	happened := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, what)
	}
	serve := acting("serve", func(ctx context.Context, c *tool.Call, _ string) (tool.Result, error) {
		p, err := c.Env.Start(ctx, env.Command{Line: "echo up; exec sleep 1000", OnOutput: func(env.Stream, []byte) { close(serving) }})
		if err != nil {
			return tool.Result{}, err
		}
		exit, err := p.Wait(context.WithoutCancel(ctx))
		happened("process ended by " + exit.Signal)
		return tool.Success("%d", exit.Code), err
	})
	script := play(map[string][]llmtest.Turn{"main": {spawn(`{"task":"think"}`), calls("serve")}})
	client := streamFunc(func(ctx context.Context, r *llm.Request) iter.Seq2[llm.StreamEvent, error] {
		if !strings.Contains(said(r.Messages), "user:think") {
			return script.Stream(ctx, r)
		}
		return func(yield func(llm.StreamEvent, error) bool) {
			yield(llm.TextDelta{Text: "Well,"}, nil)
			close(streaming)
			<-ctx.Done()
			happened("stream cancelled")
			yield(nil, ctx.Err())
		}
	})
	var s *Session
	s = open(t, client, func(c *Config) {
		with(serve)(c)
		c.Owned = append(c.Owned, closerFunc(func() error {
			happened("environment closed")
			if len(records[event.SessionEnd](s)) > 0 {
				t.Error("the session ended before its environment was closed")
			}
			return errors.New("it was stuck")
		}))
	})
	result := make(chan Outcome)
	go func() {
		out, _ := s.Submit(context.Background(), text("main"))
		result <- out
	}()
	<-streaming
	<-serving
	if err := s.Close(); err == nil || !strings.Contains(err.Error(), "it was stuck") {
		t.Errorf("Close gave %v, want the error of the environment", err)
	}
	if out := <-result; out.Status != StatusInterrupted || s.State() != Closed {
		t.Errorf("the work ended with %s and the session is %s, want %s and %s", out.Status, s.State(), StatusInterrupted, Closed)
	}
	slices.Sort(order[:2]) // one agent streamed and the other ran the process
	if got := strings.Join(order, ", "); got != "process ended by SIGTERM, stream cancelled, environment closed" {
		t.Errorf("on the way: %s", got)
	}
	var tail []string
	for _, r := range s.log.Records(0)[s.log.Last()-5:] {
		tail = append(tail, r.Agent+string(r.Kind()))
	}
	if got := strings.Join(tail, " "); got != "1PROCESSING_END SUBAGENT_END PROCESSING_END 1SESSION_END SESSION_END" {
		t.Errorf("events end with %s", got)
	}
}

type closerFunc func() error

func (f closerFunc) Close() error { return f() }
