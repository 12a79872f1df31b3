package llmtest_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
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
	if r, err := play(t, s); err != nil || r.Text() != "one" || r.Finish.Reason != llm.FinishStop || r.Usage.Output != 1 {
		t.Errorf("got %+v, error %v; want the text one with a stop and an estimated usage", r, err)
	}
	r, err := play(t, s)
	if err != nil || r.Finish.Reason != llm.FinishToolCalls || len(r.ToolCalls()) != 1 || r.ToolCalls()[0].ID != "call_0001" {
		t.Errorf("got %+v, error %v; want one call with the id call_0001", r, err)
	}
	if _, err := play(t, s); err == nil || !strings.Contains(err.Error(), "the script has 2 turns and this is call 3") {
		t.Errorf("got error %v, want one that counts turns and calls", err)
	}
	if n := len(s.Requests()); n != 3 {
		t.Errorf("got %d requests, want 3", n)
	}
}

func TestScript_ChecksRequests(t *testing.T) {
	turn := llmtest.Say("x")
	turn.Check = func(*llm.Request) error { return errors.New("no greeting") }
	if _, err := play(t, llmtest.Play(turn)); err == nil || !strings.Contains(err.Error(), "no greeting") {
		t.Errorf("got error %v, want that of Check", err)
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
			t.Errorf("got error %v, want a cancelled one", err)
		}
	})
}

func TestScript_WaitsForDelaysAndGaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turn := llmtest.Turn{Parts: []llm.Part{llm.Text{Text: "abcdef"}}, Chunk: 2, Delay: time.Second, Gap: time.Second}
		start := time.Now()
		if _, err := llm.Collect(llmtest.Play(turn).Stream(t.Context(), &llm.Request{Model: "m"})); err != nil {
			t.Fatal(err)
		}
		// start, text start, three deltas, text end, finish
		if got := time.Since(start); got != 8*time.Second {
			t.Errorf("it took %v, want 8s", got)
		}
	})
}

func TestScript_SplitsTextIntoDeltasOf16Bytes(t *testing.T) {
	var got []string
	for ev, err := range llmtest.Play(llmtest.Say("0123456789abcdef0123456789abcdef01")).Stream(t.Context(), &llm.Request{Model: "m"}) {
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := ev.(llm.TextDelta); ok {
			got = append(got, d.Text)
		}
	}
	if want := []string{"0123456789abcdef", "0123456789abcdef", "01"}; !slices.Equal(got, want) {
		t.Errorf("got deltas %q, want %q", got, want)
	}
}

func TestScript_RefusesPoisonWhileItIsInTheRequest(t *testing.T) {
	script := llmtest.Play(llmtest.Say("fine"))
	script.Poison = "\x89PNG poison"
	image := llm.Image{Media: llm.Media{MIME: "image/png", Data: []byte(script.Poison)}}
	call := llm.ToolCall{ID: "a", Name: "f", Arguments: "{}"}
	r := &llm.Request{Model: "m", Messages: []llm.Message{
		llm.UserText("look"),
		{Role: llm.RoleAssistant, Parts: []llm.Part{call}},
		llm.ToolResults(llm.ToolResult{ID: "a", Parts: []llm.Part{llm.Text{Text: "this"}, image}}),
	}}
	for range 2 {
		_, err := llm.Collect(script.Stream(t.Context(), r))
		var e *llm.Error
		if !errors.As(err, &e) || e.Kind != llm.ErrInvalidRequest || e.Item == nil || *e.Item != (llm.Item{Message: 2, Part: 0, Inner: 1}) {
			t.Fatalf("got error %+v, want an invalid request that names the image", err)
		}
	}
	r.Messages[2] = llm.ToolResults(llm.TextResult(call, "this", false))
	if resp, err := llm.Collect(script.Stream(t.Context(), r)); err != nil || resp.Text() != "fine" {
		t.Errorf("got %+v, error %v; want the text fine", resp, err)
	}
	if n := len(script.Requests()); n != 3 {
		t.Errorf("got %d requests, want 3", n)
	}
}
