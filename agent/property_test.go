package agent

import (
	"context"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/internal/thorough"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// drawTurn draws a model turn, sensible or not.
func drawTurn(t *rapid.T) llmtest.Turn {
	var turn llmtest.Turn
	for range rapid.IntRange(0, 4).Draw(t, "parts") {
		switch rapid.SampledFrom([]string{"text", "thinking", "call", "call", "question"}).Draw(t, "part") {
		case "text":
			turn.Parts = append(turn.Parts, llm.Text{Text: rapid.SampledFrom([]string{"Well.", "Shall I?", ""}).Draw(t, "text")})
		case "thinking":
			turn.Parts = append(turn.Parts, llm.Thinking{Text: "Hm."})
		case "question":
			turn.Parts = append(turn.Parts, llm.ToolCall{Name: AskUser, Arguments: `{"question":"Which?"}`})
		case "call":
			turn.Parts = append(turn.Parts, llm.ToolCall{
				Name:      rapid.SampledFrom([]string{"echo", "write", "panic", "cancel", "nonsense", "list_agents"}).Draw(t, "name"),
				Arguments: rapid.SampledFrom([]string{`{"text":"x"}`, `{"text":"x"}`, `{}`, `{"text`, ``, `[1]`}).Draw(t, "args"),
			})
		}
	}
	turn.Finish = rapid.SampledFrom([]llm.FinishReason{"", "", "", "", llm.FinishStop, llm.FinishLength, llm.FinishContentFilter, llm.FinishError, llm.FinishOther}).Draw(t, "finish")
	turn.Fault = rapid.SampledFrom([]llmtest.Fault{{}, {}, {}, {}, {}, {Status: 500}, {CutAt: 1}, {Malformed: true}}).Draw(t, "fault")
	return turn
}

// Whatever the model, the tools and the host do: every request is valid in all protocols, and the log and the session
// have the same conversation.
func TestSession_AnyCourseLeavesAValidHistory(t *testing.T) {
	e, err := local.New(local.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	courses := 0
	rapid.Check(t, func(t *rapid.T) {
		if courses++; courses > thorough.Of(1000, 40) {
			return
		}
		var cancel context.CancelFunc
		turns := rapid.SliceOfN(rapid.Custom(drawTurn), 1, 12).Draw(t, "turns")
		script := &llmtest.Script{Reply: func(n int, r *llm.Request) llmtest.Turn {
			if err := valid(r); err != nil {
				t.Errorf("an invalid request was sent: %v\n%s", err, sketch(r.Messages))
			}
			if n < len(turns) {
				return turns[n]
			}
			return llmtest.Say("Enough.")
		}}
		c := Config{Client: script, Model: "m", Env: e, System: "Be good.", Policy: policy.AllowAll{}, Tools: &tool.Registry{}, Limits: Limits{ToolRounds: 3}}
		with(AskUserTool(), fake("echo", true, echo), fake("write", false, echo),
			fake("panic", true, func(context.Context, *tool.Call, string) (tool.Result, error) { panic("oops") }),
			fake("cancel", false, func(context.Context, *tool.Call, string) (tool.Result, error) {
				cancel()
				return tool.Success("ok"), nil
			}))(&c)
		s, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for i := 0; len(script.Requests()) <= len(turns) && i < 2*len(turns)+4; i++ {
			var ctx context.Context
			ctx, cancel = context.WithCancel(context.Background())
			switch rapid.IntRange(0, 5).Draw(t, "host") {
			case 0:
				_ = s.Steer(text("left"))
			case 1:
				_ = s.FollowUp(text("next"))
			}
			out, err := s.Submit(ctx, text(fmt.Sprint("input ", i)))
			if (err != nil) != (out.Status == StatusFailed || out.Status == StatusInterrupted) {
				t.Fatalf("got %+v, %v, want an error if and only if it failed or was interrupted", out, err)
			}
			if st := s.State(); st != Idle && st != AwaitingInput {
				t.Fatalf("state %s", st)
			}
			if waits := openCalls(s) > 0; waits != (out.Status == StatusAwaitingInput) {
				t.Fatalf("%d calls wait after %+v", openCalls(s), out)
			}
			cancel()
		}
		if openCalls(s) == 0 {
			if got, want := sketch(s.Messages()), sketch(s.Messages()); got != want {
				t.Fatalf("the log tells\n%s\nand the session has\n%s", got, want)
			}
		}
		s.Close()
		checkBrackets(t.Errorf, s.log.Records(0), "", openCalls(s) > 0)
	})
}
