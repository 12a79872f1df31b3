package llm_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reins-agent/reins/llm"
)

func call(id, name, args string) llm.ToolCall {
	return llm.ToolCall{ID: id, Name: name, Arguments: args}
}

func echo(_ context.Context, c llm.ToolCall) (string, error) { return c.Name + c.Arguments, nil }

func generate(t *testing.T, p *fake, req llm.GenerateRequest) (*llm.GenerateResult, error) {
	t.Helper()
	c := newClient(t, llm.ClientConfig{Providers: []llm.Provider{p}})
	if req.Messages == nil {
		req.Messages = []llm.Message{llm.UserText("go")}
	}
	return llm.Generate(t.Context(), c, req)
}

func TestGenerate_DefaultIsOneRound(t *testing.T) {
	p := newFake("p", answer("calling", call("1", "echo", `{"a":1}`)), answer("done"))
	got, err := generate(t, p, llm.GenerateRequest{Funcs: map[string]llm.ToolFunc{"echo": llm.TextFunc(echo)}})
	if err != nil {
		t.Fatal(err)
	}
	if got.Response.Text() != "done" || p.calls() != 2 {
		t.Errorf("%d calls, answer %q", p.calls(), got.Response.Text())
	}
	sent := p.requests[1].Messages
	if len(sent) != 3 || sent[2].Role != llm.RoleTool {
		t.Fatalf("the second call sends %+v", sent)
	}
	r := sent[2].Parts[0].(llm.ToolResult)
	if r.ID != "1" || r.Name != "echo" || r.IsError || r.Text() != `echo{"a":1}` {
		t.Errorf("the result is %+v", r)
	}
	if len(got.Messages) != 3 || got.Messages[2].Text() != "done" {
		t.Errorf("the new messages are %+v", got.Messages)
	}
}

func TestGenerate_CallsAfterTheLastRoundAreReturned(t *testing.T) {
	for rounds, calls := range map[int]int{llm.NoRounds: 1, 0: 2, 1: 2, 3: 4} {
		p := newFake("p", answer("again", call("1", "echo", "{}")))
		got, err := generate(t, p, llm.GenerateRequest{Rounds: rounds, Funcs: map[string]llm.ToolFunc{"echo": llm.TextFunc(echo)}})
		if err != nil {
			t.Fatal(err)
		}
		if p.calls() != calls || len(got.Response.ToolCalls()) != 1 {
			t.Errorf("rounds %d: %d calls were made, want %d", rounds, p.calls(), calls)
		}
		if last := got.Messages[len(got.Messages)-1]; last.Role != llm.RoleAssistant {
			t.Errorf("rounds %d: the conversation ends with %s", rounds, last.Role)
		}
	}
}

func TestGenerate_UsageIsTheSum(t *testing.T) {
	p := newFake("p", answer("", call("1", "echo", "{}")), answer("done"))
	got, err := generate(t, p, llm.GenerateRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if u := got.Usage; u.Input != 20 || u.Output != 10 || u.Reasoning != 2 || u.CacheRead != 4 {
		t.Errorf("usage is %+v", u)
	}
}

func TestGenerate_EveryCallIsAnsweredExactlyOnceAndInOrder(t *testing.T) {
	custom := llm.ToolCall{ID: "7", Name: "free", Arguments: "not JSON", Custom: true}
	calls := []llm.ToolCall{
		call("1", "echo", `{"x":1}`), call("2", "unknown", `{}`), call("3", "panics", `{}`),
		call("4", "fails", `{}`), call("5", "echo", `{"x":`), call("6", "leaves", ``), custom, call("8", "echo", `[1]`), call("9", "echo", ``),
	}
	p := newFake("p", answer("", calls...), answer("done"))
	_, err := generate(t, p, llm.GenerateRequest{Funcs: map[string]llm.ToolFunc{
		"echo":   llm.TextFunc(echo),
		"free":   llm.TextFunc(echo),
		"panics": func(context.Context, llm.ToolCall) (llm.ToolResult, error) { panic("ouch") },
		"fails": func(context.Context, llm.ToolCall) (llm.ToolResult, error) {
			return llm.ToolResult{}, errors.New("no luck")
		},
		"leaves": func(context.Context, llm.ToolCall) (llm.ToolResult, error) {
			runtime.Goexit()
			return llm.ToolResult{}, nil
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := []struct {
		isError bool
		says    string
	}{
		{false, `echo{"x":1}`}, {true, `"unknown"`}, {true, "panicked: ouch"}, {true, "no luck"}, {true, "not a JSON object"},
		{true, "without a result"}, {false, "freenot JSON"}, {true, "not a JSON object"}, {false, "echo"},
	}
	parts := p.requests[1].Messages[2].Parts
	if len(parts) != len(calls) {
		t.Fatalf("%d results answer %d calls", len(parts), len(calls))
	}
	for i, part := range parts {
		r := part.(llm.ToolResult)
		if r.ID != calls[i].ID || r.Name != calls[i].Name || r.Custom != calls[i].Custom {
			t.Errorf("result %d answers %s %s", i, r.ID, r.Name)
		}
		if r.IsError != want[i].isError || !strings.Contains(r.Text(), want[i].says) {
			t.Errorf("result %d is %v %q, want %v %q", i, r.IsError, r.Text(), want[i].isError, want[i].says)
		}
	}
}

func TestGenerate_RunsCallsInOneRoundConcurrently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := llm.TextFunc(func(context.Context, llm.ToolCall) (string, error) {
			<-time.After(time.Second)
			return "", nil
		})
		p := newFake("p", answer("", call("1", "slow", ""), call("2", "slow", ""), call("3", "slow", "")), answer("done"))
		start := time.Now()
		if _, err := generate(t, p, llm.GenerateRequest{Funcs: map[string]llm.ToolFunc{"slow": slow}}); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d != time.Second {
			t.Errorf("three tools of one second took %v, want 1s", d)
		}
	})
}

func TestGenerate_DoesNotRunCallsInATruncatedAnswer(t *testing.T) {
	turn := answer("", call("1", "echo", "{}"))
	turn[len(turn)-1].ev.(llm.Finish).Response.Finish.Reason = llm.FinishLength
	ran := false
	p := newFake("p", turn)
	_, err := generate(t, p, llm.GenerateRequest{Funcs: map[string]llm.ToolFunc{
		"echo": llm.TextFunc(func(context.Context, llm.ToolCall) (string, error) { ran = true; return "", nil }),
	}})
	if err != nil || ran || p.calls() != 1 {
		t.Errorf("ran %v, %d calls, error %v", ran, p.calls(), err)
	}
}

func TestGenerate_AForcedToolIsForcedOnce(t *testing.T) {
	p := newFake("p", answer("", call("1", "echo", "{}")), answer("done"))
	req := llm.GenerateRequest{Request: llm.Request{ToolChoice: llm.ToolChoice{Mode: llm.ToolNamed, Name: "echo"}}}
	if _, err := generate(t, p, req); err != nil {
		t.Fatal(err)
	}
	if first, second := p.requests[0], p.requests[1]; first.ToolChoice.Mode != llm.ToolNamed || second.ToolChoice.Mode != llm.ToolAuto {
		t.Errorf("tool choices are %v, %v", first.ToolChoice, second.ToolChoice)
	}
}

func TestGenerate_AnErrorComesWithTheFinishedRounds(t *testing.T) {
	p := newFake("p", answer("", call("1", "echo", "{}")), failure(&llm.Error{Kind: llm.ErrServer}))
	got, err := generate(t, p, llm.GenerateRequest{})
	wantKind(t, err, llm.ErrServer)
	if len(got.Messages) != 2 || got.Usage.Input != 10 {
		t.Errorf("%+v", got)
	}
}

func TestGenerate_TheCallersRequestIsNotChanged(t *testing.T) {
	messages := make([]llm.Message, 1, 10)
	messages[0] = llm.UserText("go")
	p := newFake("p", answer("", call("1", "echo", "{}")), answer("done"))
	if _, err := generate(t, p, llm.GenerateRequest{Request: llm.Request{Messages: messages}}); err != nil {
		t.Fatal(err)
	}
	if spare := messages[:2][1]; spare.Role != "" {
		t.Errorf("the caller's slice was written to: %+v", spare)
	}
}
