package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/tool"
)

func text(s string) llm.Part { return llm.Text{Text: s} }

// said lists the roles and first words in a conversation.
func said(messages []llm.Message) string {
	var out []string
	for _, m := range messages {
		word, _, _ := strings.Cut(m.Text(), " ")
		out = append(out, fmt.Sprintf("%s:%s", m.Role, word))
	}
	return strings.Join(out, " ")
}

// Definition of done, 9.6.
func TestSteer_IsInjectedAfterTheToolRound(t *testing.T) {
	var s *Session
	steer := fake("steer", false, func(context.Context, *tool.Call, string) (tool.Result, error) {
		return tool.Success("ok"), s.Steer(text("turn left"))
	})
	script := llmtest.Play(calls("steer", "echo"), llmtest.Say("Turned."))
	s = open(t, script, with(steer))
	if out := submit(t, s, "go"); out.Text != "Turned." {
		t.Fatalf(`got %+v, want Text "Turned."`, out)
	}
	if got := said(script.Requests()[1].Messages); got != "system:Be user:go assistant: tool: user:turn" {
		t.Error(got)
	}
}

// Definition of done, 9.6.
func TestSteer_WhileIdleIsInjectedBeforeTheNextModelCall(t *testing.T) {
	script := llmtest.Play(llmtest.Say("Yes."))
	s := open(t, script, nil)
	if err := s.Steer(text("gently")); err != nil {
		t.Fatal(err)
	}
	submit(t, s, "go")
	if got := said(script.Requests()[0].Messages); got != "system:Be user:go user:gently" {
		t.Error(got)
	}
}

// Definition of done, 9.6.
func TestSteer_DuringTheLastStepIsNotLost(t *testing.T) {
	var s *Session
	script := &llmtest.Script{Reply: func(n int, _ *llm.Request) llmtest.Turn {
		if n == 0 { // steer while the model gives its last answer
			if err := s.Steer(text("wait")); err != nil {
				t.Error(err)
			}
		}
		return llmtest.Say(fmt.Sprintf("Answer %d.", n))
	}}
	s = open(t, script, nil)
	if out := submit(t, s, "go"); out.Text != "Answer 1." || out.Turns != 2 {
		t.Errorf(`got %+v, want Text "Answer 1.", Turns 2`, out)
	}
}

// Definition of done, 9.6.
func TestFollowUp_RunsAfterTheInput(t *testing.T) {
	var s *Session
	script := &llmtest.Script{Reply: func(n int, _ *llm.Request) llmtest.Turn {
		if n == 0 {
			if err := errors.Join(s.FollowUp(text("second")), s.FollowUp(text("third"))); err != nil {
				t.Error(err)
			}
			return echoCall("x")
		}
		return llmtest.Say(fmt.Sprintf("Answer %d.", n))
	}}
	s = open(t, script, nil)
	if out := submit(t, s, "first"); out.Text != "Answer 3." || s.State() != Idle {
		t.Errorf(`got %+v in state %s, want Text "Answer 3.", state Idle`, out, s.State())
	}
	if got := said(s.Messages()); got != "system:Be user:first assistant: tool: assistant:Answer user:second assistant:Answer user:third assistant:Answer" {
		t.Error(got)
	}
	var states []string
	for _, e := range records[event.ProcessingEnd](s) {
		states = append(states, string(e.State))
	}
	if got := strings.Join(states, " "); got != "PROCESSING PROCESSING IDLE" {
		t.Errorf("states %s", got)
	}
}

func TestSession_FollowUpWaitsWhenTheInputWasNotDone(t *testing.T) {
	script := llmtest.Play(llmtest.Fail(500), llmtest.Say("First."), llmtest.Say("Second."))
	s := open(t, script, nil)
	_ = s.FollowUp(text("second"))
	if _, err := s.Submit(t.Context(), text("first")); err == nil {
		t.Fatal("the failure is not told")
	}
	if out := submit(t, s, "again"); out.Text != "Second." {
		t.Errorf(`got %+v, want Text "Second."`, out)
	}
}

func TestSession_MessagesThatFoundNoPlaceAreToldAtTheEnd(t *testing.T) {
	s := open(t, llmtest.Play(), nil)
	_, _ = s.Steer(text("left")), s.FollowUp(text("right"))
	s.Close()
	end := records[event.SessionEnd](s)
	if len(end) != 1 || len(end[0].Undelivered) != 2 || end[0].State != "CLOSED" {
		t.Errorf(`got %+v, want 1, 2 [0].Undelivered, [0].State "CLOSED"`, end)
	}
	if err := s.Steer(text("too late")); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

func TestSession_EmptyInputIsRefused(t *testing.T) {
	s := open(t, llmtest.Play(), nil)
	if _, err := s.Submit(t.Context()); !errors.Is(err, ErrNoInput) {
		t.Error(err)
	}
	if err := s.Steer(text("")); !errors.Is(err, ErrNoInput) {
		t.Error(err)
	}
}

// Definition of done, 9.7.
func TestEffort_IsPassedThrough(t *testing.T) {
	for _, effort := range []string{"", "low", "medium", "high", "xhigh"} {
		script := llmtest.Play(llmtest.Say("Yes."))
		s := open(t, script, func(c *Config) { c.Effort = effort })
		submit(t, s, "go")
		if got := script.Requests()[0].Effort; got != effort {
			t.Errorf("%q was sent for %q", got, effort)
		}
	}
}

// Definition of done, 9.7.
func TestReconfigure_EffortModelAndBudgetApplyToTheNextCall(t *testing.T) {
	var s *Session
	budget := 2048
	change := fake("change", false, func(context.Context, *tool.Call, string) (tool.Result, error) {
		s.SetEffort("high")
		s.SetModel("gemini", "gemini-3-pro-preview")
		s.SetThinkingBudget(budget)
		return tool.Success("ok"), nil
	})
	script := llmtest.Play(calls("change"), llmtest.Say("Yes."))
	s = open(t, script, func(c *Config) { c.Effort = "low"; with(change)(c) })
	submit(t, s, "go")
	a, b := script.Requests()[0], script.Requests()[1]
	if a.Effort != "low" || a.Model != "m" || b.Effort != "high" || b.Model != "gemini-3-pro-preview" || b.Provider != "gemini" || *b.ThinkingBudget != budget {
		t.Errorf(`got %+v then %+v, want Effort "low", Model "m", b.Effort "high", b.Model "gemini-3-pro-preview", b.Provider "gemini", b.ThinkingBudget %d`, a, b, budget)
	}
	last := records[event.Settings](s)
	if len(last) != 1 || last[0].Effort != "high" || last[0].Model != "gemini-3-pro-preview" || *last[0].ThinkingBudget != 2048 {
		t.Errorf(`got %+v, want 1, [0].Effort "high", [0].Model "gemini-3-pro-preview", [0].ThinkingBudget 2048`, last)
	}
	if n := len(records[event.CacheBroken](s)); n != 1 {
		t.Errorf("%d breaks of the cache", n)
	}
}

// Definition of done, 9.6.
func TestSteer_IsARecordAndAUserMessageToTheModel(t *testing.T) {
	script := llmtest.Play(llmtest.Say("Yes."))
	s := open(t, script, nil)
	_ = s.Steer(text("gently"))
	submit(t, s, "go")
	inj := records[event.SteeringInjected](s)
	if len(inj) != 1 || inj[0].Source != "host" || inj[0].Message.Role != llm.RoleUser {
		t.Errorf(`got %+v, want 1, [0].Source "host", [0].Message.Role llm.RoleUser`, inj)
	}
	if diff := cmp.Diff(inj[0].Message, script.Requests()[0].Messages[2]); diff != "" {
		t.Error(diff)
	}
}

// late is a workspace that calls f when the work on an input is over and its outcome is not reported yet.
type late struct {
	desk
	f func()
}

func (l *late) Take(ctx context.Context, label string) (string, int, error) {
	if f := l.f; len(l.kept) == 1 {
		l.f = func() {}
		f()
	}
	return l.desk.Take(ctx, label)
}

// Definition of done, 9.6.
func TestSteer_MessagesAfterTheLastStepRunInTheSameSubmit(t *testing.T) {
	for name, send := range map[string]func(*Session, ...llm.Part) error{"steering": (*Session).Steer, "follow-up": (*Session).FollowUp} {
		var s *Session
		w := &late{f: func() {
			if err := send(s, text("one more thing")); err != nil {
				t.Error(err)
			}
		}}
		script := llmtest.Play(calls("write"), llmtest.Say("First."), llmtest.Say("Second."))
		s = open(t, script, func(c *Config) { c.Checkpoints = w })
		if out := submit(t, s, "go"); out.Text != "Second." || len(s.Queue()) != 0 || s.State() != Idle {
			t.Errorf("%s: got %+v in state %s with %d messages waiting, want Text Second., none waiting", name, out, s.State(), len(s.Queue()))
		}
	}
}

func TestSteer_WakesAToolThatWaits(t *testing.T) {
	var s *Session
	waits := fake("wait_for_it", false, func(ctx context.Context, c *tool.Call, _ string) (tool.Result, error) {
		select {
		case <-c.Steered:
			return tool.Failure(tool.InternalError, "woken without a message"), nil
		default:
		}
		if err := s.FollowUp(text("later")); err != nil {
			return tool.Result{}, err
		}
		select {
		case <-c.Steered:
			return tool.Failure(tool.InternalError, "woken by a follow-up"), nil
		default:
		}
		if err := s.Steer(text("now")); err != nil {
			return tool.Result{}, err
		}
		select {
		case <-c.Steered:
			return tool.Success("woken"), nil
		default:
			return tool.Failure(tool.InternalError, "not woken by the message"), nil
		}
	})
	script := llmtest.Play(calls("wait_for_it"), llmtest.Say("Yes."), llmtest.Say("Later."))
	s = open(t, script, with(waits))
	submit(t, s, "go")
	messages := script.Requests()[1].Messages
	if got := said(messages); got != "system:Be user:go assistant: tool: user:now" || !strings.Contains(fmt.Sprint(messages[3].Parts), "[{woken ") {
		t.Errorf("got %s with %v", got, messages[3].Parts)
	}
}
