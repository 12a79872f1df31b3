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
	for _, args := range []string{`{"wrong":1}`, `{"question":""}`, `{"questions":[]}`, `{"questions":[{"question":""}]}`, `{"quest`} {
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

// several is a call in the format of AskUserQuestion, which has members that ask_user does not know.
const several = `{"questions":[
	{"question":"Which database?","header":"Database","multiSelect":false,"options":[{"label":"Postgres","description":"as now","preview":"x"},{"label":"SQLite","description":"small"}]},
	{"question":"Which checks?","header":"Checks","multiSelect":true,"options":[{"label":"vet"},{"label":"test"},{"label":"lint"}]},
	{"id":"name","question":"What is its name?"}]}`

func TestAsk_SeveralQuestionsWithOptions(t *testing.T) {
	for name, answer := range map[string]func(context.Context, *Session) (Outcome, error){
		"structured": func(ctx context.Context, s *Session) (Outcome, error) {
			return s.Answer(ctx, Answer{Chosen: []string{"SQLite"}}, Answer{Chosen: []string{"vet", "test"}, Text: "not lint"}, Answer{Text: "Ada"})
		},
		"text": func(ctx context.Context, s *Session) (Outcome, error) {
			return s.Submit(ctx, text("Which database?\n→ SQLite\nWhich checks?\n→ vet, test: not lint\nWhat is its name?\n→ Ada"))
		},
	} {
		script := llmtest.Play(llmtest.Call(AskUser, several), llmtest.Say("Thanks."))
		store := &event.Memory{}
		var config Config
		s := open(t, script, func(c *Config) { with(AskUserTool())(c); c.Store, c.ID = store, "s"; config = *c })
		out := submit(t, s, "go")
		want := "Database: Which database?\n  1. Postgres: as now\n  2. SQLite: small\nChecks: Which checks?\n  1. vet\n  2. test\n  3. lint\nWhat is its name?"
		if out.Status != StatusAwaitingInput || out.Question != want || s.Question() != want {
			t.Fatalf("got %+v, want the questions\n%s", out, want)
		}
		s.Close()
		s, err := Resume(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		q := s.Questions()
		if len(q) != 3 || q[0].Options[1] != (event.Option{Label: "SQLite", Description: "small"}) || q[0].Multiple || !q[1].Multiple || q[2].Options != nil {
			t.Fatalf("after a resume: %+v", q)
		}
		if out, err := answer(t.Context(), s); err != nil || out.Status != StatusDone {
			t.Fatalf("%s: got %+v, %v", name, out, err)
		}
		if got := lastResults(script)[0].Text(); got != "Which database?\n→ SQLite\nWhich checks?\n→ vet, test: not lint\nWhat is its name?\n→ Ada" {
			t.Errorf("%s: the model sees %q", name, got)
		}
		if s.Questions() != nil {
			t.Errorf("%s: questions %+v after the answer", name, s.Questions())
		}
	}
}

func TestAsk_AnswersFitTheQuestions(t *testing.T) {
	script := llmtest.Play(llmtest.Call(AskUser, `{"question":"Which?","options":[{"label":"a"},{"label":"b"}]}`), llmtest.Say("Thanks."))
	s := open(t, script, with(AskUserTool()))
	if _, err := s.Answer(t.Context(), Answer{Text: "early"}); err == nil {
		t.Error("an answer without a question was accepted")
	}
	submit(t, s, "go")
	for _, wrong := range [][]Answer{{}, {{}}, {{Chosen: []string{"c"}}}, {{Chosen: []string{"a", "b"}}}, {{Text: "x"}, {Text: "y"}}} {
		if _, err := s.Answer(t.Context(), wrong...); err == nil {
			t.Errorf("%+v was accepted", wrong)
		}
	}
	if out, err := s.Answer(t.Context(), Answer{Chosen: []string{"b"}}); err != nil || out.Text != "Thanks." {
		t.Errorf("got %+v, %v", out, err)
	}
	if got := lastResults(script)[0].Text(); got != "b" {
		t.Errorf("the model sees %q, want b", got)
	}
}

func TestAsk_DeferredToolAsksToo(t *testing.T) {
	script := llmtest.Play(llmtest.Call(tool.CallName, `{"name":"ask_user","arguments":{"question":"Which?"}}`), llmtest.Say("Thanks."))
	s := open(t, script, with(tool.Defer(AskUserTool())))
	if out := submit(t, s, "go"); out.Question != "Which?" || out.Status != StatusAwaitingInput {
		t.Errorf(`got %+v, want Question "Which?", StatusAwaitingInput`, out)
	}
	submit(t, s, "that one")
}
