package llmtest_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
)

func play(t *testing.T, s *llmtest.Script) (*llm.Response, error) {
	t.Helper()
	return llm.Collect(s.Stream(t.Context(), &llm.Request{Model: "m", Messages: []llm.Message{llm.UserText("hi")}}))
}

func TestScript_PlaysItsTurnsInOrderAndThenFails(t *testing.T) {
	s := llmtest.Play(llmtest.Say("one"), llmtest.Call("look", `{"x":1}`))
	if r, err := play(t, s); err != nil || r.Text() != "one" || r.Finish.Reason != llm.FinishStop || r.Usage.Output == 0 {
		t.Errorf("%+v, %v", r, err)
	}
	r, err := play(t, s)
	if err != nil || r.Finish.Reason != llm.FinishToolCalls || len(r.ToolCalls()) != 1 || r.ToolCalls()[0].ID == "" {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := play(t, s); err == nil || !strings.Contains(err.Error(), "the script has 2 turns and this is call 3") {
		t.Errorf("%v", err)
	}
	if n := len(s.Requests()); n != 3 {
		t.Errorf("%d requests were taken down", n)
	}
}

func TestScript_ChecksRequests(t *testing.T) {
	turn := llmtest.Say("x")
	turn.Check = func(*llm.Request) error { return errors.New("no greeting") }
	if _, err := play(t, llmtest.Play(turn)); err == nil || !strings.Contains(err.Error(), "no greeting") {
		t.Errorf("%v", err)
	}
}

func TestScript_FaultsInMemory(t *testing.T) {
	for kind, f := range map[llm.ErrorKind]llmtest.Fault{
		llm.ErrAuthentication: {Status: http.StatusUnauthorized},
		llm.ErrRateLimit:      {Status: http.StatusTooManyRequests, RetryAfter: "5"},
		llm.ErrServer:         {MidStream: 529},
		llm.ErrMalformed:      {Malformed: true},
		llm.ErrNetwork:        {Reset: true},
		llm.ErrIncomplete:     {CutAt: 1},
	} {
		turn := llmtest.Say("some text")
		turn.Fault = f
		_, err := play(t, llmtest.Play(turn))
		if got := llm.KindOf(err); got != kind {
			t.Errorf("%+v gives %v (%s), want %s", f, err, got, kind)
		}
	}
}

func TestScript_StallsUntilCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turn := llmtest.Say("x")
		turn.Fault.StallAtOnce = true
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := llm.Collect(llmtest.Play(turn).Stream(ctx, &llm.Request{Model: "m"}))
		if llm.KindOf(err) != llm.ErrCancelled {
			t.Errorf("%v", err)
		}
	})
}

func TestScript_DelaysAndGapsTakeTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turn := llmtest.Turn{Parts: []llm.Part{llm.Text{Text: "abcdef"}}, Chunk: 2, Delay: time.Second, Gap: time.Second}
		start := time.Now()
		if _, err := llm.Collect(llmtest.Play(turn).Stream(t.Context(), &llm.Request{Model: "m"})); err != nil {
			t.Fatal(err)
		}
		// start, text start, three deltas, text end, finish
		if got := time.Since(start); got != 8*time.Second {
			t.Errorf("it took %v", got)
		}
	})
}
