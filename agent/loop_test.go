package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/tool"
)

// Definition of done, 9.1.
func TestSession_StartsWithAProfileAndAnEnvironment(t *testing.T) {
	s := open(t, llmtest.Play(), nil)
	if s.State() != Idle || s.ID() == "" {
		t.Errorf("state %s, id %q", s.State(), s.ID())
	}
	start := records[event.SessionStart](s)
	if len(start) != 1 || start[0].Model != "m" || start[0].System != "Be good." || start[0].Dir == "" {
		t.Errorf(`got %+v, want 1, [0].Model "m", [0].System "Be good.", [0].Dir not ""`, start)
	}
}

// Definition of done, 9.1.
func TestLoop_CallsModelAndToolsUntilTheModelIsDone(t *testing.T) {
	script := llmtest.Play(echoCall("one"), echoCall("two"), llmtest.Say("Done."))
	s := open(t, script, nil)
	out := submit(t, s, "Say one and two.")
	if out.Status != StatusDone || out.Text != "Done." || out.Rounds != 2 || out.Turns != 3 {
		t.Fatalf(`got %+v, want StatusDone, Text "Done.", Rounds 2, Turns 3`, out)
	}
	s.Close()
	want := "SESSION_START USER_INPUT" + strings.Repeat(" MODEL_CALL_START ASSISTANT_TEXT_END MODEL_CALL_END TOOL_CALL_START TOOL_CALL_END", 2) +
		" MODEL_CALL_START ASSISTANT_TEXT_END MODEL_CALL_END PROCESSING_END SESSION_END"
	if got := kinds(s); got != want {
		t.Errorf("events\n%s\nwant\n%s", got, want)
	}
}

// Definition of done, 9.1.
func TestLoop_EndsWithAnAnswerWithoutToolCalls(t *testing.T) {
	script := llmtest.Play(llmtest.Say("Hello."), llmtest.Say("never asked for"))
	s := open(t, script, nil)
	if out := submit(t, s, "Hi"); out.Status != StatusDone || out.Rounds != 0 || s.State() != Idle {
		t.Errorf("got %+v in state %s, want StatusDone, Rounds 0, state Idle", out, s.State())
	}
	if n := len(script.Requests()); n != 1 {
		t.Errorf("%d calls", n)
	}
}

// Definition of done, 9.1.
func TestLoop_RoundLimitStopsIt(t *testing.T) {
	script := &llmtest.Script{Reply: func(n int, _ *llm.Request) llmtest.Turn { return echoCall(fmt.Sprint(n)) }}
	s := open(t, script, func(c *Config) { c.Limits.ToolRounds = 3 })
	out := submit(t, s, "Go on for ever.")
	if out.Status != StatusLimit || out.Limit != "max_tool_rounds" || out.Rounds != 3 || s.State() != Idle {
		t.Fatalf(`got %+v in state %s, want StatusLimit, Limit "max_tool_rounds", Rounds 3, state Idle`, out, s.State())
	}
	if l := records[event.TurnLimit](s); len(l) != 1 || l[0].Limit != "max_tool_rounds" || l[0].Value != 3 {
		t.Errorf(`got %+v, want 1, [0].Limit "max_tool_rounds", [0].Value 3`, l)
	}
	if out := submit(t, s, "And again."); out.Rounds != 3 {
		t.Errorf("the next input has %d rounds, not 3 of its own", out.Rounds)
	}
}

// Definition of done, 9.1.
func TestLoop_RoundLimitIs200ByDefault(t *testing.T) {
	script := &llmtest.Script{Reply: func(n int, _ *llm.Request) llmtest.Turn { return echoCall(fmt.Sprint(n)) }}
	s := open(t, script, func(c *Config) { c.Client = script })
	if out := submit(t, s, "Go on for ever."); out.Rounds != 200 {
		t.Errorf("%d rounds", out.Rounds)
	}
}

// Definition of done, 9.1.
func TestLoop_TurnLimitHoldsAcrossInputs(t *testing.T) {
	script := &llmtest.Script{Reply: func(int, *llm.Request) llmtest.Turn { return llmtest.Say("Yes.") }}
	s := open(t, script, func(c *Config) { c.Limits.Turns = 2 })
	submit(t, s, "one")
	submit(t, s, "two")
	out := submit(t, s, "three")
	if out.Status != StatusLimit || out.Limit != "max_turns" || out.Turns != 0 || s.State() != Idle {
		t.Fatalf(`got %+v in state %s, want StatusLimit, Limit "max_turns", Turns 0, state Idle`, out, s.State())
	}
	if n := len(script.Requests()); n != 2 {
		t.Errorf("%d calls", n)
	}
}

// sleeper is a tool that runs a command that does not end, and reports the process.
func sleeper(started chan<- env.Process) tool.Tool {
	return acting("sleep", func(ctx context.Context, c *tool.Call, _ string) (tool.Result, error) {
		p, err := c.Env.Start(ctx, env.Command{Line: "sleep 600 & sleep 600"})
		if err != nil {
			return tool.Result{}, err
		}
		started <- p
		_, err = p.Wait(context.WithoutCancel(ctx))
		return tool.Success("over"), errors.Join(err, p.Release())
	})
}

// Definition of done, 9.1.
func TestClose_StopsTheLoopAndKillsProcesses(t *testing.T) {
	started := make(chan env.Process, 1)
	s := open(t, llmtest.Play(calls("sleep")), with(sleeper(started)))
	result := make(chan error, 1)
	go func() {
		_, err := s.Submit(context.Background(), llm.Text{Text: "Sleep."})
		result <- err
	}()
	p := <-started
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.Done():
	default:
		t.Error("the process runs on behind Close")
	}
	if err := <-result; !errors.Is(err, ErrClosed) {
		t.Errorf("Submit gave %v", err)
	}
	if s.State() != Closed {
		t.Errorf("state %s", s.State())
	}
	if _, err := s.Submit(t.Context(), llm.Text{Text: "More."}); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed session took input: %v", err)
	}
}

// Definition of done, 9.1.
func TestLoop_IdenticalCallsGetASteeringWarning(t *testing.T) {
	for length, pattern := range [][]string{nil, {"a"}, {"a", "b"}, {"a", "b", "c"}} {
		if length == 0 {
			continue
		}
		t.Run(fmt.Sprintf("pattern of %d", length), func(t *testing.T) {
			script := &llmtest.Script{Reply: func(n int, r *llm.Request) llmtest.Turn {
				if strings.HasPrefix(r.Messages[len(r.Messages)-1].Text(), "Loop detected") {
					return llmtest.Say("I see.")
				}
				return echoCall(pattern[n%length])
			}}
			s := open(t, script, nil)
			out := submit(t, s, "Go round.")
			if out.Status != StatusDone || out.Rounds != 10 {
				t.Errorf("got %+v, want StatusDone, Rounds 10", out)
			}
			if l := records[event.LoopDetection](s); len(l) != 1 || l[0].Length != length || l[0].Trips != 1 {
				t.Errorf("got %+v, want 1, [0].Length %d, [0].Trips 1", l, length)
			}
			if inj := records[event.SteeringInjected](s); len(inj) != 1 || inj[0].Source != "loop_detection" {
				t.Errorf(`got %+v, want 1, [0].Source "loop_detection"`, inj)
			}
		})
	}
}

// Definition of done, 9.1.
func TestSession_InputsShareOneConversation(t *testing.T) {
	script := llmtest.Play(llmtest.Say("One."), echoCall("x"), llmtest.Say("Two."), llmtest.Say("Three."))
	s := open(t, script, nil)
	for _, text := range []string{"1", "2", "3"} {
		if out := submit(t, s, text); out.Status != StatusDone {
			t.Fatalf("%s: got %+v, want StatusDone", text, out)
		}
	}
	if n := len(script.Requests()[3].Messages); n != 1+2+4+1 {
		t.Errorf("the last request has %d messages:\n%s", n, sketch(script.Requests()[3].Messages))
	}
	if n := len(records[event.ProcessingEnd](s)); n != 3 {
		t.Errorf("%d inputs were brought to an end", n)
	}
}

func TestSession_InterruptLeavesASessionThatGoesOn(t *testing.T) {
	started := make(chan env.Process, 1)
	script := llmtest.Play(calls("sleep", "echo"), llmtest.Say("Fine."))
	s := open(t, script, with(sleeper(started)))
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-started; cancel() }()
	out, err := s.Submit(ctx, llm.Text{Text: "Sleep."})
	if out.Status != StatusInterrupted || !errors.Is(err, context.Canceled) || s.State() != Idle {
		t.Fatalf("got %+v, %v, %s, want StatusInterrupted, error context.Canceled, state Idle", out, err, s.State())
	}
	if out := submit(t, s, "What now?"); out.Text != "Fine." {
		t.Errorf(`got %+v, want Text "Fine."`, out)
	}
	if r := lastResults(script); len(r) != 2 || !r[0].IsError && r[0].Text() == "" || !r[1].IsError {
		t.Errorf("got %+v, want 2, the first with a text or an error, the second an error", r)
	}
}

func TestSession_DeadlineOfTheContextInterrupts(t *testing.T) {
	// The deadline may pass before the model is called, so the answer depends on the input.
	script := &llmtest.Script{Reply: func(_ int, r *llm.Request) llmtest.Turn {
		if r.Messages[len(r.Messages)-1].Text() == "Hurry." {
			return llmtest.Turn{Delay: time.Hour}
		}
		return llmtest.Say("Back.")
	}}
	s := open(t, script, nil)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	out, err := s.Submit(ctx, llm.Text{Text: "Hurry."})
	if out.Status != StatusInterrupted || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %+v, %v, want StatusInterrupted, error context.DeadlineExceeded", out, err)
	}
	if out := submit(t, s, "Again."); out.Text != "Back." {
		t.Errorf(`got %+v, want Text "Back."`, out)
	}
}

func TestSession_InterruptedAnswerIsKeptInTheLogOnly(t *testing.T) {
	script := llmtest.Play(llmtest.Turn{Parts: llmtest.Say("Half an answer").Parts, Fault: llmtest.Fault{StallAt: 1}}, llmtest.Say("Whole."))
	s := open(t, script, nil)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for r := range s.Events(ctx, 0) {
			if d, ok := r.Data.(event.TextDelta); ok && strings.HasSuffix(d.Text, "answer") {
				cancel()
			}
		}
	}()
	if out, _ := s.Submit(ctx, llm.Text{Text: "Speak."}); out.Status != StatusInterrupted || out.Text != "" {
		t.Errorf(`got %+v, want StatusInterrupted, Text ""`, out)
	}
	end := records[event.ModelCallEnd](s)
	if len(end) != 1 || end[0].Partial != "Half an answer" || end[0].Error == nil {
		t.Errorf(`got %+v, want 1, [0].Partial "Half an answer", [0].Error not nil`, end)
	}
	submit(t, s, "Again.")
}
