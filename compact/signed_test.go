package compact

import (
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm"
)

var signed = llm.Text{Text: "It went well.", State: llm.State{Dialect: "d", Model: "m", Data: []byte(`{"type":"compaction"}`)}}

func TestServer_ReplacesTheOlderPartAndRepeatsTheUsersWords(t *testing.T) {
	var m Meter
	msgs := work(10, 4000)
	s, ok := PrepareServer(m, msgs, Goal{Tokens: m.Weigh(msgs...) / 2}, Facts{Plan: "1. Read."})
	if !ok {
		t.Fatal("the provider is not asked")
	}
	if !strings.HasSuffix(s.Instructions, "End the summary with this plan, unchanged:\n1. Read.") {
		t.Errorf("the instructions do not ask for the plan: %s", s.Instructions)
	}
	if n := len(s.Messages); n >= len(msgs) || msgs[n].Role != llm.RoleAssistant || msgs[n-1].Role != llm.RoleTool {
		t.Errorf("%d of %d messages are summarised, want the older ones up to a result", n, len(msgs))
	}
	e, err := s.Finish(signed, Facts{})
	if err != nil {
		t.Fatal(err)
	}
	after := apply(t, e, msgs)
	if first, ok := after[1].Parts[0].(llm.Text); !ok || string(first.State.Data) != `{"type":"compaction"}` || !strings.Contains(after[1].Text(), "It went well.") {
		t.Errorf("the first message is %+v, want the signed summary", after[1])
	}
	if after[2].Role != llm.RoleAssistant {
		t.Errorf("a message of %s is between the summary and the kept part", after[2].Role)
	}
	last := after[len(after)-1]
	if last.Role != llm.RoleUser || len(last.Parts) != 2 || last.Parts[1].(llm.Text).Text != "the task" {
		t.Errorf("the last message is %+v, want the user's words", last)
	}
	if s, ok := PrepareServer(m, msgs, Goal{Tokens: m.Weigh(msgs...) / 2}, Facts{}); !ok || strings.Contains(s.Instructions, "plan, unchanged") {
		t.Errorf("the instructions without a plan: %v, %s", ok, s.Instructions)
	}
}

// The second summary repeats the words that the first one repeated, under one heading.
func TestServer_RepeatsWordsOnce(t *testing.T) {
	var m Meter
	msgs := work(10, 4000)
	for i := range 2 {
		s, ok := PrepareServer(m, msgs, Goal{Tokens: m.Weigh(msgs...) / 2}, Facts{})
		if !ok {
			t.Fatalf("summary %d: the provider is not asked", i+1)
		}
		e, err := s.Finish(signed, Facts{})
		if err != nil {
			t.Fatal(err)
		}
		msgs = apply(t, e, msgs)
		for k := range 10 {
			msgs = append(msgs, step(100*i+100+k, 4000)...)
		}
	}
	var words []string
	for _, msg := range msgs {
		if repeats(msg) {
			for _, p := range msg.Parts {
				words = append(words, p.(llm.Text).Text)
			}
		}
	}
	if want := []string{wordsHeading, "the task"}; !slices.Equal(words, want) {
		t.Errorf("got %q, want %q", words, want)
	}
}

func TestServer_IsNotAskedIfSomethingWouldLoseItsEffect(t *testing.T) {
	var m Meter
	late := work(10, 4000)
	late = slices.Insert(late, 4, llm.SystemText("Be brief."))
	open := work(10, 4000)
	open = append(open, llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.ToolCall{ID: "x", Name: "t", Arguments: "{}"}}})
	for name, tt := range map[string]struct {
		msgs    []llm.Message
		request int64
	}{
		"late instructions": {late, 0},
		"an open call":      {open, 0},
		"no room":           {work(10, 4000), 1000},
		"little to save":    {work(1, 100), 0},
	} {
		if s, ok := PrepareServer(m, tt.msgs, Goal{Tokens: m.Weigh(tt.msgs...) / 2, Request: tt.request}, Facts{}); ok {
			t.Errorf("%s: %d messages are to be summarised", name, len(s.Messages))
		}
	}
}

// A kept part that begins with a user message would follow tool results, which have the same role.
func TestServer_CutsWhereRolesChange(t *testing.T) {
	var m Meter
	said := func(n int) []llm.Message { return []llm.Message{llm.UserText(strings.Repeat("more ", n))} }
	results := slices.Concat(work(8, 4000), said(400), step(90, 200), step(91, 200))
	text := slices.Concat(work(8, 4000), []llm.Message{llm.AssistantText(strings.Repeat("Done. ", 1000))}, said(400), step(90, 200), step(91, 200))
	for name, tt := range map[string]struct {
		msgs []llm.Message
		want llm.Role // role of the first kept message
	}{
		"after a result":  {results, llm.RoleAssistant},
		"after an answer": {text, llm.RoleUser},
	} {
		s, ok := PrepareServer(m, tt.msgs, Goal{Tokens: 2600}, Facts{})
		if !ok {
			t.Fatalf("%s: the provider is not asked", name)
		}
		if got := tt.msgs[len(s.Messages)].Role; got != tt.want {
			t.Errorf("%s: the kept part begins with %s: %s", name, got, sketch(tt.msgs[len(s.Messages):]))
		}
	}
}

// The user's words may take a quarter of the room, or 20,000 tokens.
func TestServer_LimitsTheUsersWords(t *testing.T) {
	var m Meter
	msgs := slices.Insert(work(10, 20_000), 4, llm.UserText(strings.Repeat("first ", 5000)), llm.UserText(strings.Repeat("second ", 5000)), llm.UserText("third"))
	goal := Goal{Tokens: m.Weigh(msgs...) / 2}
	s, ok := PrepareServer(m, msgs, goal, Facts{})
	if !ok {
		t.Fatal("the provider is not asked")
	}
	e, err := s.Finish(signed, Facts{})
	if err != nil {
		t.Fatal(err)
	}
	if got, most := m.Weigh(e.Appended...), goal.Tokens/4+200; got > most {
		t.Errorf("the user's words take %d tokens, want at most %d", got, most)
	}
}
