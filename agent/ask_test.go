package agent

import (
	"context"
	"strings"
	"testing"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/tool"
)

func ask(question string, around ...string) llmtest.Turn {
	var turn llmtest.Turn
	for _, name := range around {
		args := `{"text":"x"}`
		if name == AskUser {
			args = `{"question":"` + question + `"}`
		}
		turn.Parts = append(turn.Parts, llm.ToolCall{Name: name, Arguments: args})
	}
	return turn
}

func TestAsk_NextInputAnswersThePendingCall(t *testing.T) {
	script := llmtest.Play(ask("Which port?", "echo", AskUser, "write"), llmtest.Say("Port 80 it is."))
	s := open(t, script, with(AskUserTool()))
	out := submit(t, s, "serve")
	if out.Status != StatusAwaitingInput || out.Question != "Which port?" || s.State() != AwaitingInput {
		t.Fatalf(`got %+v in state %s, want StatusAwaitingInput, Question "Which port?", state AwaitingInput`, out, s.State())
	}
	if err := s.Steer(text("be quick")); err != nil {
		t.Fatal(err)
	}
	image := drawing(t, 2)
	out, err := s.Submit(t.Context(), text("80"), image, llm.Document{Media: llm.Media{MIME: "application/pdf", Data: []byte("%PDF"), Name: "a.pdf"}})
	if err != nil || out.Status != StatusDone || s.State() != Idle {
		t.Fatalf("got %+v, %v in state %s, want no error, StatusDone, state Idle", out, err, s.State())
	}
	r := lastResults(script)
	if len(r) != 3 || r[0].Text() != "x" || r[1].Text() != "80" || len(r[1].Parts) != 2 || !r[2].IsError || !strings.Contains(r[2].Text(), "not run") {
		t.Errorf(`got %+v, want 3, [0].Text "x", [1].Text "80", 2 [1].Parts, [2].IsError, [2].Text with "not run"`, r)
	}
	if got := said(script.Requests()[1].Messages); got != "system:Be user:serve assistant: tool: user:80 user:be" {
		t.Error(got)
	}
	in := records[event.UserInput](s)
	if len(in) != 2 || in[1].Answers != r[1].ID {
		t.Errorf("got %+v, want 2, [1].Answers %s", in, r[1].ID)
	}
}

func TestAsk_BadArgumentsAreAResult(t *testing.T) {
	for _, args := range []string{`{"wrong":1}`, `{"question":""}`, `{"quest`} {
		script := llmtest.Play(llmtest.Call(AskUser, args), llmtest.Say("Sorry."))
		s := open(t, script, with(AskUserTool()))
		if out := submit(t, s, "go"); out.Status != StatusDone {
			t.Errorf("%s: got %+v, want StatusDone", args, out)
		}
		if r := lastResults(script); !r[0].IsError {
			t.Errorf("%s: got %+v, want [0].IsError", args, r)
		}
	}
}

func TestAsk_AliasAsksToo(t *testing.T) {
	script := llmtest.Play(llmtest.Call("AskUserQuestion", `{"text":"Which?"}`), llmtest.Say("Thanks."))
	s := open(t, script, func(c *Config) {
		with(AskUserTool())(c)
		c.Tools.Alias(tool.Alias{Name: "AskUserQuestion", Tool: AskUser, Params: map[string]string{"text": "question"}})
	})
	if out := submit(t, s, "go"); out.Question != "Which?" || out.Status != StatusAwaitingInput {
		t.Errorf(`got %+v, want Question "Which?", StatusAwaitingInput`, out)
	}
	submit(t, s, "that one")
}

func TestAsk_ClosingQuestionAwaitsInputButTheWorkIsDone(t *testing.T) {
	script := llmtest.Play(llmtest.Say("I fixed it.\n\nShall I commit it, too?"), llmtest.Say("Committed."))
	s := open(t, script, nil)
	out := submit(t, s, "fix")
	if out.Status != StatusDone || out.Question != "Shall I commit it, too?" || s.State() != AwaitingInput {
		t.Errorf(`got %+v in state %s, want StatusDone, Question "Shall I commit it, too?", state AwaitingInput`, out, s.State())
	}
	if out := submit(t, s, "yes"); out.Text != "Committed." || s.State() != Idle {
		t.Errorf(`got %+v in state %s, want Text "Committed.", state Idle`, out, s.State())
	}
}

func TestAsk_SubagentsHaveNobodyToAsk(t *testing.T) {
	script := play(map[string][]llmtest.Turn{
		"main":  {spawn(`{"task":"child"}`), wait("1"), llmtest.Say("Done.")},
		"child": {ask("Who am I?", AskUser), llmtest.Say("Nobody.")},
	})
	s := open(t, script, with(AskUserTool()))
	if out := submit(t, s, "main"); out.Status != StatusDone {
		t.Errorf("got %+v, want StatusDone", out)
	}
}

func TestAsk_QuestionSurvivesAnInterruptedAnswer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	script := &llmtest.Script{Reply: func(n int, _ *llm.Request) llmtest.Turn {
		switch n {
		case 0:
			return ask("Which?", AskUser, "echo")
		case 1:
			cancel()
			return llmtest.Turn{Fault: llmtest.Fault{StallAtOnce: true}}
		}
		return llmtest.Say("Fine.")
	}}
	s := open(t, script, with(AskUserTool()))
	submit(t, s, "go")
	if out, _ := s.Submit(ctx, text("the first")); out.Status != StatusInterrupted {
		t.Fatalf("got %+v, want StatusInterrupted", out)
	}
	if out := submit(t, s, "the second"); out.Text != "Fine." {
		t.Errorf(`got %+v, want Text "Fine."`, out)
	}
}
