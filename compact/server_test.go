package compact

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm"
)

// rounds returns a conversation with a question and n rounds, each a call and its result.
func rounds(n int) []llm.Message {
	msgs := []llm.Message{llm.SystemText("Be good."), llm.UserText("Find the bug. " + strings.Repeat("word ", 50))}
	for i := range n {
		call := llm.ToolCall{ID: fmt.Sprint(i), Name: "read", Arguments: "{}"}
		msgs = append(msgs, llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Thinking{Text: "Hm."}, call}},
			llm.ToolResults(llm.TextResult(call, strings.Repeat("line ", 200), false)))
	}
	return msgs
}

func TestServer_SummarisesTheOlderPartAndRepeatsTheUsersWords(t *testing.T) {
	msgs := rounds(20)
	var m Meter
	m.Reset(msgs)
	goal := Goal{Tokens: 2000}
	s, ok := PrepareServer(m, msgs, goal, Facts{Plan: "1. read"})
	if !ok || len(s.Messages) < 10 || s.Messages[len(s.Messages)-1].Role != llm.RoleTool || !strings.Contains(s.Instructions, "1. read") {
		t.Fatalf("got %d messages, %v, and the instructions %q", len(s.Messages), ok, s.Instructions)
	}
	state := llm.State{Dialect: "d", Data: []byte("signed")}
	more := append(msgs[:len(msgs):len(msgs)], llm.UserText("And hurry.")) // it arrived while the provider wrote
	signed, ok := Signed(m, more, len(s.Messages), goal)
	if !ok {
		t.Fatal("the summary does not fit the conversation")
	}
	e, err := signed.Finish(llm.Text{Text: "It was a long day.", State: state}, Facts{Plan: "1. read"})
	if err != nil {
		t.Fatal(err)
	}
	out, err := e.Apply(more)
	if err != nil {
		t.Fatal(err)
	}
	kept := more[len(s.Messages):]
	if first := out[1].Parts[0].(llm.Text); string(first.State.Data) != "signed" || !strings.Contains(out[1].Text(), "It was a long day.") || !strings.Contains(out[1].Text(), "1. read") {
		t.Errorf("the summary is %+v", out[1])
	}
	for i, msg := range kept {
		if !strings.EqualFold(fmt.Sprint(out[2+i]), fmt.Sprint(msg)) {
			t.Errorf("message %d of the kept part changed", i)
		}
	}
	last := out[len(out)-1]
	if len(out) != 2+len(kept)+1 || last.Role != llm.RoleUser || !strings.Contains(last.Text(), msgs[1].Text()) || strings.Contains(last.Text(), "And hurry.") {
		t.Errorf("the last of %d messages is %s %q, want the user's words of the older part", len(out), last.Role, last.Text())
	}
	again, err := e.Apply(more)
	if err != nil || fmt.Sprint(again) != fmt.Sprint(out) {
		t.Error("applying the edit again gives another result")
	}
	var repeated Meter
	repeated.Reset(out)
	c := divide(repeated, append(out, rounds(20)[2:]...))
	words, _ := c.words(len(c.units), 10_000)
	if n := strings.Count(words.Text(), "Find the bug."); n != 1 || strings.Count(words.Text(), wordsHeading) != 1 {
		t.Errorf("the next time, the words are repeated %d times", n)
	}
}

func TestServer_IsNotUsedWhereItWouldLoseSomething(t *testing.T) {
	late := rounds(20)
	late = append(append(late[:4:4], llm.SystemText("Also, be brief.")), late[4:]...)
	change := rounds(20)
	change = append(append(change[:4:4], llm.Message{Role: llm.RoleSystem, Parts: []llm.Part{llm.ToolChange{}}}), change[4:]...)
	open := rounds(20)
	open = open[:len(open)-1]
	for name, tt := range map[string]struct {
		msgs []llm.Message
		goal Goal
	}{
		"a late instruction":                  {late, Goal{Tokens: 2000}},
		"a change of tools":                   {change, Goal{Tokens: 2000}},
		"a call without result":               {open, Goal{Tokens: 2000}},
		"a request that is too long":          {rounds(20), Goal{Tokens: 2000, Request: 1000}},
		"a conversation that is short enough": {rounds(1), Goal{Tokens: 100_000}},
	} {
		var m Meter
		m.Reset(tt.msgs)
		if _, ok := PrepareServer(m, tt.msgs, tt.goal, Facts{}); ok {
			t.Errorf("%s: the provider is asked for a summary", name)
		}
	}
	if _, ok := Signed(Meter{}, rounds(3), 3, Goal{}); ok {
		t.Error("a summary that ends between a call and its result is accepted")
	}
	var s ServerSummary
	if _, err := s.Finish(llm.Text{Text: "x"}, Facts{}); err == nil {
		t.Error("a summary that was not prepared is accepted")
	}
}
