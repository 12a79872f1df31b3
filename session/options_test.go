package session_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/ask"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/session"
)

// opened is a session that is not saved, with a scripted model.
type opened struct {
	*session.Local
	*shelf
	script *llmtest.Script
}

func openWith(t *testing.T, o session.Options, turns ...llmtest.Turn) *opened {
	t.Helper()
	s := &opened{shelf: newShelf(t), script: llmtest.Play(turns...)}
	local, err := session.Open(t.Context(), coding.Config{
		Provider: "script",
		Model:    "model",
		Dir:      s.project,
		State:    string(s.Home),
		Tier:     "all",
		NoSave:   true,
		Session:  agent.Config{Client: s.script},
	}, o)
	s.must(err)
	t.Cleanup(func() { local.Close() })
	s.Local = local
	return s
}

// done waits for the end of the work.
func (s *opened) done(want event.Status, text string) {
	s.t.Helper()
	out, err := s.Wait(s.t.Context())
	s.must(err)
	if out.Status != want || out.Text != text {
		s.t.Errorf("the outcome is %s %q (%s), want %s %q", out.Status, out.Text, out.Error, want, text)
	}
}

// asked waits for a question.
func (s *opened) asked() ask.Question {
	s.t.Helper()
	for r, err := range s.Local.Events(s.t.Context(), 0) {
		s.must(err)
		if _, asks := r.Data.(event.ApprovalRequested); asks {
			break
		}
	}
	list, err := s.Local.Questions(s.t.Context())
	s.must(err)
	if len(list) != 1 {
		s.t.Fatalf("%d questions wait", len(list))
	}
	return list[0]
}

func (s *opened) exists(name string) bool {
	_, err := os.Stat(filepath.Join(s.project, name))
	return err == nil
}

var writes = llmtest.Call("write_file", `{"file_path":"a.txt","content":"made\n"}`)

func TestAnswer_RulesThatCannotBeSavedLeaveTheQuestionOpen(t *testing.T) {
	s := openWith(t, session.Options{
		Places: []ask.Place{{Layer: "personal", File: "config.toml"}},
		Save:   func(string, []string) error { return errors.New("the disk is full") },
	}, writes, llmtest.Say("done"))
	s.must(s.Submit(t.Context(), session.Input{Text: "Write it"}))
	q := s.asked()
	err := s.Local.Answer(t.Context(), q.ID, ask.Answer{Choice: "a"})
	if err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("the answer failed with %v", err)
	}
	if s.asked().ID != q.ID || s.exists("a.txt") {
		t.Error("the call was allowed")
	}
	s.must(s.Local.Answer(t.Context(), q.ID, ask.Answer{Choice: "y"}))
	s.done(event.StatusDone, "done")
	if !s.exists("a.txt") {
		t.Error("the call was not made")
	}
}

func TestSubmit_PlainTextIsNoPrompt(t *testing.T) {
	var prompts []string
	s := openWith(t, session.Options{
		Submit: func(ctx context.Context, s *agent.Session, text string, _ ...llm.Part) (agent.Outcome, error) {
			prompts = append(prompts, text)
			return s.Submit(ctx, llm.NewText("Follow the skill"))
		},
	}, llmtest.Say("one"), llmtest.Say("two"))
	s.must(s.Submit(t.Context(), session.Input{Text: "/deploy", Plain: true}))
	s.done(event.StatusDone, "one")
	s.must(s.Submit(t.Context(), session.Input{Text: "/review"}))
	s.done(event.StatusDone, "two")
	if got := strings.Join(prompts, " "); got != "/review" {
		t.Errorf("the prompts are %q", got)
	}
}

func TestWait_WorkThatDidNotBeginLeavesTheLastOutcome(t *testing.T) {
	s := openWith(t, session.Options{}, llmtest.Say("one"))
	s.must(s.Submit(t.Context(), session.Input{Text: "Begin"}))
	s.done(event.StatusDone, "one")
	if err := s.Continue(t.Context()); !errors.Is(err, session.ErrNothingToContinue) {
		t.Errorf("continuing failed with %v", err)
	}
	s.done(event.StatusDone, "one")
}

func TestAnswer_DeferredApprovalsContinueNothing(t *testing.T) {
	s := openWith(t, session.Options{Approvals: session.DeferApproval}, writes, llmtest.Say("done"))
	s.must(s.Submit(t.Context(), session.Input{Text: "Write it"}))
	s.done(event.StatusAwaitingApproval, "")
	s.must(s.Local.Answer(t.Context(), s.asked().ID, ask.Answer{Choice: "y"}))
	s.done(event.StatusAwaitingApproval, "")
	if s.exists("a.txt") {
		t.Error("the call was made before the work was continued")
	}
	s.must(s.Continue(t.Context()))
	s.done(event.StatusDone, "done")
	if !s.exists("a.txt") {
		t.Error("the call was not made")
	}
}
