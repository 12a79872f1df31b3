package agent

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/agent/step"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// logged are root agent records, a second apart.
func logged(data ...event.Data) (records []event.Record) {
	start := time.Date(2026, 11, 15, 9, 0, 0, 0, time.UTC)
	for i, d := range data {
		records = append(records, event.Record{Seq: event.Seq(i + 1), Time: start.Add(time.Duration(i) * time.Second), Data: d})
	}
	return records
}

// tookUp is a session resumed from records.
func tookUp(t *testing.T, script Streamer, change func(*Config), records ...event.Record) *Session {
	t.Helper()
	store := &event.Memory{}
	put(t, store, records)
	return tookUpFrom(t, store, script, change)
}

func tookUpFrom(t *testing.T, store event.Store, script Streamer, change func(*Config)) *Session {
	t.Helper()
	e, err := local.New(local.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	c := Config{ID: "life", Client: strict{t, script}, Env: e, Policy: policy.AllowAll{}, Tools: &tool.Registry{}, Store: store}
	with(AskUserTool(), fake("echo", true, echo), fake("write", false, echo))(&c)
	if change != nil {
		change(&c)
	}
	s, err := Resume(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

var (
	begun  = event.SessionStart{ID: "life", Setup: event.Setup{ModelSetup: event.ModelSetup{Model: "m"}}, System: "Be good."}
	asked  = event.UserInput{Message: llm.UserText("go")}
	over   = event.ProcessingEnd{Outcome: "done", State: "IDLE"}
	called = event.ModelCallStart{Call: 1, Model: "m", Messages: 2}
)

func wrote(parts ...llm.Part) event.TextEnd {
	return event.TextEnd{Call: 1, Message: llm.Message{Role: llm.RoleAssistant, Parts: parts}}
}

func answered(finish llm.FinishReason) event.ModelCallEnd {
	return event.ModelCallEnd{Call: 1, Model: "m", Finish: finish, Usage: llm.Usage{Input: 10, Output: 5}}
}

func calledFor(name, args string, ids ...string) (parts []llm.Part) {
	for _, id := range ids {
		parts = append(parts, llm.ToolCall{ID: id, Name: name, Arguments: args})
	}
	return parts
}

func TestReplay_WhatTheHostDoesDuringACallDoesNotEndIt(t *testing.T) {
	for _, between := range []event.Data{
		event.SteeringQueued{Message: llm.UserText("left")}, event.Settings{Setup: begun.Setup}, event.SubagentEnd{ID: "1"}, event.Checkpoint{ID: "c"}, event.Warning{},
	} {
		tr := step.NewTree()
		for _, r := range logged(begun, asked, called, wrote(text("Half a")), between, answered(llm.FinishLength)) {
			tr.Apply(r)
		}
		if a, ok := tr.Agent("").Next().(step.Append); !ok || event.KindOf(a.Data) != event.KindSteeringInjected {
			t.Errorf("%s between the answer and the end of its call: it counts as done (%+v)", event.KindOf(between), tr.Agent("").Next())
		}
	}
}

func TestResume_AnswerThatWasCutOffIsContinued(t *testing.T) {
	script := llmtest.Play(llmtest.Say("answer."))
	s := tookUp(t, script, nil, logged(begun, asked, called, wrote(text("Half an")), answered(llm.FinishLength))...)
	out, err := s.Continue(t.Context())
	if err != nil || out.Status != StatusDone {
		t.Fatalf("got %+v, %v, want no error, StatusDone", out, err)
	}
	messages := script.Requests()[0].Messages
	if last := messages[len(messages)-1]; last.Role != llm.RoleUser || !strings.Contains(last.Text(), "was truncated") {
		t.Errorf("the model is not told to go on:\n%s", sketch(messages))
	}
}

func TestResume_AnswerToAQuestionIsNotAskedForAgain(t *testing.T) {
	script := llmtest.Play(llmtest.Say("Blue, then."))
	s := tookUp(t, script, nil, logged(begun, asked, called, wrote(calledFor(AskUser, `{"question":"Which?"}`, "a")...), answered(llm.FinishToolCalls),
		event.ToolCallStart{ID: "a", Name: AskUser}, event.ProcessingEnd{Outcome: "awaiting_input", State: "AWAITING_INPUT", Question: "Which?"},
		event.UserInput{Message: llm.UserText("Blue."), Answers: "a"})...)
	if s.State() != Idle || s.Question() != "" {
		t.Fatalf("%s, %q", s.State(), s.Question())
	}
	if out, err := s.Continue(t.Context()); err != nil || out.Text != "Blue, then." {
		t.Fatalf(`got %+v, %v, want no error, Text "Blue, then."`, out, err)
	}
	if got := lastResults(script); len(got) != 1 || got[0].Text() != "Blue." {
		t.Errorf(`got %+v, want 1, [0].Text "Blue."`, got)
	}
}

func TestResume_PendingApprovalsAreListedAtOnceAndGoneWithTheRound(t *testing.T) {
	wait := event.ApprovalRequested{ID: "b", Name: "write", Reason: "it writes"}
	s := tookUp(t, llmtest.Play(llmtest.Say("Done.")), nil, logged(begun, asked, called, wrote(calledFor("write", `{"text":"x"}`, "a", "b")...), answered(llm.FinishToolCalls),
		event.ToolCallStart{ID: "a", Name: "write"}, event.ToolCallEnd{ID: "a", Name: "write", Model: "ok"}, event.ToolCallStart{ID: "b", Name: "write"}, wait)...)
	if got := s.Pending(); len(got) != 1 || got[0].ID != "b" {
		t.Fatalf(`got %+v, want 1, [0].ID "b"`, got)
	}
	if _, err := s.Undo(t.Context(), Parts{Chat: true}); err != nil {
		t.Fatal(err)
	}
	if got := s.Pending(); len(got) != 0 {
		t.Errorf("got %+v, want none", got)
	}
}

func TestResume_CallThatWasDeniedIsNeitherRunNorSaidToHaveRun(t *testing.T) {
	ask := func(id string) event.ApprovalRequested { return event.ApprovalRequested{ID: id, Name: "write"} }
	log := []event.Data{begun, asked, called, wrote(calledFor("write", `{"text":"x"}`, "a", "b")...), answered(llm.FinishToolCalls),
		event.ToolCallStart{ID: "a", Name: "write"}, ask("a"), event.ApprovalResolved{ID: "a", Reason: "no"}}
	for _, then := range [][]event.Data{nil, {event.ToolCallStart{ID: "b", Name: "write"}, ask("b")}} {
		script := llmtest.Play(llmtest.Say("All right."))
		s := tookUp(t, script, nil, logged(append(slices.Clone(log), then...)...)...)
		if _, err := s.Continue(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := lastResults(script)[0].Text(); got != "write was refused: no" {
			t.Errorf("%q", got)
		}
	}
}

func TestResume_CompactionByHandIsNoWorkThatWasCutOff(t *testing.T) {
	s := tookUp(t, llmtest.Play(llmtest.Say("Well.")), nil, logged(begun, asked, called, wrote(text("Well.")), answered(llm.FinishStop), over,
		event.ModelCallStart{Call: 2, Model: "m", Purpose: "summary"}, event.ModelCallEnd{Call: 2, Model: "m", Duration: time.Minute})...)
	if _, err := s.Continue(t.Context()); !errors.Is(err, ErrNothingToContinue) {
		t.Errorf("%v", err)
	}
	submit(t, s, "more")
	if records[event.SessionResume](s)[0].Interrupted {
		t.Error("the session counts as interrupted")
	}
}

func TestResume_TimeBetweenTwoLivesIsNoWork(t *testing.T) {
	log := logged(begun, asked, called, wrote(text("Well.")), answered(llm.FinishStop), event.SessionResume{Setup: begun.Setup}, called, answered(llm.FinishStop), over)
	for i := range log {
		if i > 4 {
			log[i].Time = log[i].Time.Add(1000 * time.Hour)
		}
	}
	s := tookUp(t, llmtest.Play(), nil, log...)
	if got := s.Total().Worked; got != 5*time.Second { // from the input to the crash, and from the call to the end
		t.Errorf("%v", got)
	}
}

func TestResume_ThinkingBudgetAndTimeoutsStayAsTheyWereSetUp(t *testing.T) {
	store := &event.Memory{}
	e, err := local.New(local.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	script := llmtest.Play(llmtest.Say("1"), llmtest.Say("2"), llmtest.Say("3"), llmtest.Say("4"))
	budget := 2000
	timeouts := tool.Timeouts{Default: time.Second, Max: time.Minute}
	s, err := New(Config{ID: "life", Client: script, Env: e, Model: "m", Store: store, ThinkingBudget: &budget, Timeouts: timeouts})
	if err != nil {
		t.Fatal(err)
	}
	submit(t, s, "one")
	s.Close()
	for range 2 {
		s = tookUpFrom(t, store, script, func(c *Config) { c.Tools = nil })
		submit(t, s, "two")
		if got := s.state.Setup(); got.ThinkingBudget == nil || *got.ThinkingBudget != 2000 || got.Timeouts != timeouts {
			t.Errorf("got %+v, want ThinkingBudget 2000, Timeouts %+v", got, timeouts)
		}
		if b := records[event.CacheBroken](s); len(b) != 0 {
			t.Errorf("nothing has changed, but %+v", b)
		}
		s.Close()
	}
}

// The log may end between a change to the conversation and the request that shows it.
func TestResume_RequestThatDoesNotContinueTheLastOneIsAnnounced(t *testing.T) {
	lifeSoFar := []event.Data{begun, asked, called, wrote(text("Well.")), answered(llm.FinishStop), over}
	object := event.SteeringInjected{Message: llm.UserText("As JSON."), Source: "structured_output"}
	second := event.ModelCallStart{Call: 2, Model: "m", Messages: 4, Object: true}
	for _, tt := range []struct {
		name  string
		then  []event.Data
		wants bool
	}{
		{"nothing", nil, false},
		{"quarantine", []event.Data{event.Quarantine{Position: 1, Message: llm.UserText("[gone]")}}, true},
		{"undo", []event.Data{event.Rewind{Input: 2, Chat: true}}, true},
		{"undo and redo", []event.Data{event.Rewind{Input: 2, Chat: true}, event.Rewind{Input: 2, Chat: true, Redo: true}}, false},
		{"a summary by another model", []event.Data{event.Settings{Setup: event.Setup{ModelSetup: event.ModelSetup{Model: "other"}}}, event.ModelCallStart{Call: 2, Model: "other", Purpose: "summary"}}, true},
		{"an object", []event.Data{object, second, wrote(text("{}")), answered(llm.FinishStop), over}, true},
	} {
		s := tookUp(t, llmtest.Play(llmtest.Say("And?")), nil, logged(append(slices.Clone(lifeSoFar), tt.then...)...)...)
		submit(t, s, "more")
		if got := records[event.CacheBroken](s); len(got) > 0 != tt.wants {
			t.Errorf("%s: got %+v, want some: %v", tt.name, got, tt.wants)
		}
	}
}

func TestResume_NewSubagentsHaveTheSystemPromptThatWas(t *testing.T) {
	script := play(map[string][]llmtest.Turn{
		"go": {spawn(`{"task":"child"}`), wait("1"), llmtest.Say("Done.")}, "child": {llmtest.Say("Yes.")},
	})
	s := tookUp(t, script, nil, logged(begun)...)
	submit(t, s, "go")
	if got := step.Messages(s.log.Records(0), "1"); len(got) == 0 || got[0].Role != llm.RoleSystem || got[0].Text() != "Be good." {
		t.Errorf("%s", sketch(got))
	}
}

// of assigns records to an agent.
func of(agent string, records ...event.Record) []event.Record {
	for i := range records {
		records[i].Agent = agent
	}
	return records
}

func TestResume_SubagentAtItsSecondTaskIsBroughtBackOnce(t *testing.T) {
	log := logged(begun, asked, begun, event.SubagentStart{ID: "1", Task: "a"}, event.SubagentEnd{ID: "1", Status: "completed"}, event.SubagentStart{ID: "1", Task: "b"},
		event.UserInput{Message: llm.UserText("b")}, called, wrote(calledFor("echo", `{"text":"x"}`, "a")...), answered(llm.FinishToolCalls), event.ToolCallStart{ID: "a", Name: "echo"})
	of("1", log[6:]...)
	of("1", log[2:3]...)
	s := tookUp(t, llmtest.Play(llmtest.Say("Well.")), nil, log...)
	submit(t, s, "more")
	ends := 0
	for _, r := range s.log.Records(0) {
		if r.Kind() == event.KindToolCallEnd {
			ends++
		}
	}
	if ends != 1 {
		t.Errorf("the call of the subagent ended %d times", ends)
	}
}

func TestResume_SubagentThatWasOnlyNamedLeavesItsNumberTaken(t *testing.T) {
	log := logged(begun, asked, begun)
	of("1", log[2:]...)
	s := tookUp(t, llmtest.Play(), nil, log...)
	if got := s.nextPath(); got != "2" {
		t.Errorf("the next subagent is %s, whose history another one began", got)
	}
}

func TestUndo_BringsNoOldSystemPromptBack(t *testing.T) {
	s := tookUp(t, llmtest.Play(), func(c *Config) { c.System = "Be better." }, logged(begun, asked, called, wrote(text("Well.")), answered(llm.FinishStop), over)...)
	if _, err := s.Undo(t.Context(), Parts{Chat: true}); err != nil {
		t.Fatal(err)
	}
	if got := s.Messages(); len(got) != 1 || got[0].Text() != "Be better." {
		t.Errorf("%s", sketch(got))
	}
}

func TestResume_ModelThatStandsInDoesSoToTheEndOfTheInput(t *testing.T) {
	script := llmtest.Play(llmtest.Say("1"), llmtest.Say("2"))
	s := tookUp(t, script, func(c *Config) { c.Fallback = []Model{{Name: "other"}, {Name: "spare"}} }, logged(begun, asked, called,
		event.ModelCallEnd{Call: 1, Model: "m", Error: &event.Error{Message: "overloaded"}}, event.ModelFallback{From: "m", To: "spare"})...)
	if _, err := s.Continue(t.Context()); err != nil {
		t.Fatal(err)
	}
	submit(t, s, "more")
	if r := script.Requests(); r[0].Model != "spare" || r[1].Model != "m" {
		t.Errorf("asked were %s and %s", r[0].Model, r[1].Model)
	}
}

func TestResume_CallInPlaceOfAnObjectIsNoQuestion(t *testing.T) {
	object := event.SteeringInjected{Message: llm.UserText("As JSON."), Source: "structured_output"}
	second := event.ModelCallStart{Call: 2, Model: "m", Messages: 4, Object: true}
	s := tookUp(t, llmtest.Play(llmtest.Say("Well.")), nil, logged(begun, asked, called, wrote(text("Shall I?")), answered(llm.FinishStop), object, second,
		wrote(calledFor("echo", `{"text":"x"}`, "a")...), answered(llm.FinishToolCalls))...)
	submit(t, s, "more")
	if starts, ends := records[event.ToolCallStart](s), records[event.ToolCallEnd](s); len(starts) != 1 || len(ends) != 1 {
		t.Errorf("got %+v, %+v, want 1, 1 ends", starts, ends)
	}
}

func TestResume_StandInStaysWhenAMessageJoinsTheWorkAtHand(t *testing.T) {
	script := llmtest.Play(llmtest.Say("1"))
	s := tookUp(t, script, func(c *Config) { c.Fallback = []Model{{Name: "spare"}} }, logged(begun, asked, event.ModelFallback{From: "m", To: "spare"}, called,
		wrote(calledFor("write", `{"text":"x"}`, "a")...), answered(llm.FinishToolCalls), event.ToolCallStart{ID: "a", Name: "write"}, event.ApprovalRequested{ID: "a", Name: "write"})...)
	submit(t, s, "more")
	if r := script.Requests(); len(r) != 1 || r[0].Model != "spare" {
		t.Errorf(`got %+v, want 1, [0].Model "spare"`, r)
	}
}
