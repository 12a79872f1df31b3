package compact

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm"
)

// work returns a conversation of so many rounds, each with a result of size bytes.
func work(rounds, size int) []llm.Message {
	msgs := []llm.Message{llm.SystemText("Be good."), llm.UserText("the task")}
	for i := range rounds {
		msgs = append(msgs, step(i, size)...)
	}
	return msgs
}

func step(i, size int) []llm.Message {
	call := llm.ToolCall{ID: fmt.Sprint("c", i), Name: "read_file", Arguments: fmt.Sprintf(`{"path":"file%d.go"}`, i)}
	text := fmt.Sprintf("package p%d\n", i) + strings.Repeat("some code\n", size/10)
	return []llm.Message{{Role: llm.RoleAssistant, Parts: []llm.Part{call}}, llm.ToolResults(llm.TextResult(call, text, false))}
}

func apply(t *testing.T, e Edit, msgs []llm.Message) []llm.Message {
	t.Helper()
	out, err := e.Apply(msgs)
	if err != nil {
		t.Fatal(err)
	}
	if err := wellFormed(out); err != nil {
		t.Fatalf("%v\n%s", err, sketch(out))
	}
	return out
}

func TestClear_ClearsTheOldestFirstAndNoMoreThanNeeded(t *testing.T) {
	var m Meter
	msgs := work(10, 4000)
	g := Goal{Tokens: m.Weigh(msgs...) - 1500}
	e, ok := Clear(m, msgs, g)
	if !ok || len(e.Cleared) != 2 || e.Cleared[0].Message != 3 || e.Cleared[1].Message != 5 {
		t.Fatalf("got %v and edit %+v, want messages 3 and 5 cleared", ok, e)
	}
	if !g.Met(m, apply(t, e, msgs)) {
		t.Error("the goal is not met")
	}
	if !strings.Contains(e.Cleared[0].Text, "read_file") || !strings.Contains(e.Cleared[0].Text, "First line: package p0") {
		t.Errorf("got note %q, want the tool and the first line in it", e.Cleared[0].Text)
	}
	e, _ = Clear(m, msgs, Goal{})
	if len(e.Cleared) != 7 {
		t.Errorf("%d of 10 results were cleared, want all but the last 3", len(e.Cleared))
	}
	if _, ok := Clear(m, apply(t, e, msgs), Goal{}); ok {
		t.Error("cleared results are cleared again")
	}
}

func TestFallback_KeepsTheLastRoundWithItsResultShortened(t *testing.T) {
	var m Meter
	msgs := work(3, 400_000)
	g := Goal{Tokens: 10_000}
	e, ok := Fallback(m, msgs, g, Facts{})
	after := apply(t, e, msgs)
	if !ok || !g.Met(m, after) {
		t.Fatalf("got %v and %d tokens, want at most 10,000", ok, m.Weigh(after...))
	}
	last := after[len(after)-1].Parts[0].(llm.ToolResult)
	if last.ID != "c2" || !strings.HasPrefix(last.Text(), "package p2\n") || len(last.Text()) < 5000 {
		t.Errorf("the last result is %.40q with %d bytes, want at least 5000 of package p2", last.Text(), len(last.Text()))
	}
	summary := after[2]
	if !isSummary(summary) || !strings.Contains(summary.Text(), `read_file {"path":"file1.go"} → package p1`) {
		t.Errorf("got summary\n%s\nwant the call of round 1 in it", summary.Text())
	}
}

func TestFallback_LargeUserMessagesAreTruncatedInTheMiddleExceptTheNewest(t *testing.T) {
	var m Meter
	first, newest := "first "+strings.Repeat("old words\n", 10_000)+"last word", strings.Repeat("new words\n", 2_000)
	msgs := append([]llm.Message{llm.UserText(first)}, step(1, 40_000)...)
	msgs = append(msgs, llm.UserText(newest))
	g := Goal{Tokens: 8_000}
	e, ok := Fallback(m, msgs, g, Facts{Plan: "the plan"})
	after := apply(t, e, msgs)
	if !ok || !g.Met(m, after) {
		t.Fatalf("got %v and %d tokens, want at most 8000\n%s", ok, m.Weigh(after...), sketch(after))
	}
	if got := after[0].Text(); !strings.HasPrefix(got, "first ") || !strings.HasSuffix(got, "last word") || !strings.Contains(got, "omitted") {
		t.Errorf("got first message %q, want it truncated in the middle", got)
	}
	if !contains(after, llm.UserText(newest)) {
		t.Error("the newest message changed")
	}
}

func TestFallback_KeepsOpenCallsUnchanged(t *testing.T) {
	var m Meter
	open := llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{
		llm.Thinking{Text: "hm"}, llm.ToolCall{ID: "c0", Name: "ask_user", Arguments: strings.Repeat("x", 5000)}, llm.ToolCall{ID: "c1", Name: "shell"},
	}}
	msgs := append(work(5, 10_000), open)
	e, ok := Fallback(m, msgs, Goal{Tokens: 100}, Facts{})
	after := apply(t, e, msgs)
	if !ok || !reflect.DeepEqual(after[len(after)-1], open) {
		t.Errorf("the open calls changed:\n%s", sketch(after))
	}
}

func TestSummary_KeptPartStartsWithThinking(t *testing.T) {
	var m Meter
	msgs := work(8, 4000)
	thinker := len(msgs) - 4 // the last round but one
	msgs[thinker].Parts = append([]llm.Part{llm.Thinking{Text: "hm"}}, msgs[thinker].Parts...)
	s, ok := Prepare(m, msgs, Goal{Tokens: 8_000})
	if !ok {
		t.Fatal("nothing to summarise")
	}
	e, err := s.Finish(llm.AssistantText("what was done"), llm.FinishStop, Facts{})
	if err != nil {
		t.Fatal(err)
	}
	after := apply(t, e, msgs)
	if !reflect.DeepEqual(after[len(after)-4:], msgs[thinker:]) || !isSummary(after[len(after)-5]) {
		t.Errorf("the kept part does not start with the thinking:\n%s", sketch(after))
	}
}

func TestSummary_BadAnswersAreRejected(t *testing.T) {
	var m Meter
	msgs := work(8, 4000)
	s, ok := Prepare(m, msgs, Goal{Tokens: 4000})
	if !ok {
		t.Fatal("nothing to summarise")
	}
	for _, text := range []string{"", "\n \t", strings.Repeat("words ", 20_000)} {
		_, err := s.Finish(llm.AssistantText(text), llm.FinishStop, Facts{})
		if err == nil || !strings.HasPrefix(err.Error(), "compact: summary rejected: ") {
			t.Errorf("summary %.10q: got error %v, want a rejection", text, err)
		}
	}
	good := llm.AssistantText("what was done")
	calls := good
	calls.Parts = append(calls.Parts[:1:1], llm.ToolCall{ID: "1", Name: "read_file", Arguments: "{}"})
	for name, tt := range map[string]struct {
		answer llm.Message
		reason llm.FinishReason
	}{
		"refused":              {llm.AssistantText("I cannot help with that."), llm.FinishContentFilter},
		"truncated":            {good, llm.FinishLength},
		"paused":               {good, llm.FinishPause},
		"failed":               {good, llm.FinishError},
		"without a reason":     {good, ""},
		"with a call":          {calls, llm.FinishStop},
		"stopped to call":      {good, llm.FinishToolCalls},
		"nothing but thinking": {llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Thinking{Text: "hm"}}}, llm.FinishStop},
	} {
		if _, err := s.Finish(tt.answer, tt.reason, Facts{}); err == nil || !strings.HasPrefix(err.Error(), "compact: summary rejected: ") {
			t.Errorf("%s: got error %v, want a rejection", name, err)
		}
	}
	if _, err := s.Finish(good, llm.FinishStop, Facts{}); err != nil {
		t.Errorf("a good summary is rejected: %v", err)
	}
	if _, err := (Summary{}).Finish(llm.AssistantText("text"), llm.FinishStop, Facts{}); err == nil {
		t.Error("a summary that was not prepared was accepted")
	}
}

func TestPrepare_ReportsNothingToSummarise(t *testing.T) {
	var m Meter
	for name, msgs := range map[string][]llm.Message{
		"nothing":      nil,
		"instructions": {llm.SystemText("Be good.")},
		"user alone":   {llm.UserText(strings.Repeat("x", 10_000)), llm.UserText("y")},
		"little":       work(2, 10),
	} {
		if s, ok := Prepare(m, msgs, Goal{}); ok {
			t.Errorf("%s: got a request, want none:\n%s", name, sketch(s.Messages))
		}
		if e, ok := Fallback(m, msgs, Goal{Tokens: 1 << 30}, Facts{}); ok {
			t.Errorf("%s: got edit %+v, want none", name, e)
		}
	}
}

func TestPrepare_RequestFitsEvenIfTheConversationDoesNot(t *testing.T) {
	var m Meter
	msgs := work(200, 8000)
	limit := m.Weigh(msgs...) / 2
	s, ok := Prepare(m, msgs, Goal{Tokens: limit / 2, Request: limit})
	if !ok || m.Weigh(s.Messages...) > limit || len(s.Messages) < 300 {
		t.Fatalf("got %v, %d messages and %d tokens, want at least 300 messages and at most %d tokens", ok, len(s.Messages), m.Weigh(s.Messages...), limit)
	}
	s, ok = Prepare(m, msgs, Goal{Tokens: limit / 2, Request: 3000})
	if !ok || m.Weigh(s.Messages...) > 3000 || !contains(s.Messages, llm.UserText("the task")) {
		t.Fatalf("got %v and %d tokens, want at most 3000 with the task", ok, m.Weigh(s.Messages...))
	}
	if _, ok = Prepare(m, msgs, Goal{Tokens: limit / 2, Request: 10}); ok {
		t.Error("got a request for a limit of 10 tokens, want none")
	}
}

func TestFacts_LongListsAreShortenedOnlyAsALastResort(t *testing.T) {
	var m Meter
	var f Facts
	for i := range 5000 {
		f.Files = append(f.Files, fmt.Sprintf("dir/file%d.go", i))
	}
	msgs := work(20, 40_000)
	e, ok := Fallback(m, msgs, Goal{Tokens: 30_000}, f)
	got, _ := factsOf(apply(t, e, msgs))
	if !ok || !reflect.DeepEqual(got.Files, f.Files) {
		t.Errorf("got %d files, want all 5000", len(got.Files))
	}
	g := Goal{Tokens: 4_000}
	e, ok = Fallback(m, msgs, g, f)
	after := apply(t, e, msgs)
	got, _ = factsOf(after)
	if n := len(got.Files); !ok || !g.Met(m, after) || n < 50 || got.Files[n-1] != "dir/file4999.go" || got.Files[0] != fmt.Sprintf("(%d more)", 5001-n) {
		t.Errorf("got %d files starting with %q, want at least 50 of the last and the number of the others", n, got.Files[:1])
	}
}

func TestFallback_MergesAnEarlierSummary(t *testing.T) {
	var m Meter
	old := record{body: "what the old summary says"}.message()
	msgs := append([]llm.Message{llm.UserText(strings.Repeat("large task ", 8000)), old}, step(1, 400)...)
	msgs = append(msgs, llm.UserText("continue"))
	e, ok := Fallback(m, msgs, Goal{Tokens: 5000}, Facts{})
	after := apply(t, e, msgs) // fails for two summaries
	if !ok || !isSummary(after[1]) || !strings.Contains(after[1].Text(), "what the old summary says") {
		t.Errorf("got %v, want one summary with the old one in it\n%s", ok, sketch(after))
	}
}

// With a window of 12,000 tokens, instructions and tools take most of the goal.
func TestSmallWindow_TheLastRoundIsKept(t *testing.T) {
	const window = 12_000
	for name, last := range map[string][]llm.Message{
		"results":           step(9, 2000),
		"a large result":    step(9, 20_000),
		"large arguments":   {{Role: llm.RoleAssistant, Parts: []llm.Part{llm.ToolCall{ID: "c9", Name: "write_file", Arguments: strings.Repeat("x", 4000)}}}, llm.ToolResults(llm.TextResult(llm.ToolCall{ID: "c9", Name: "write_file"}, "Written.", false))},
		"text":              {llm.AssistantText(strings.Repeat("words ", 500))},
		"an input after it": append(step(9, 8000), llm.UserText("and now the other file")),
	} {
		msgs := append([]llm.Message{llm.SystemText(strings.Repeat("You are a coding agent. ", 400)), llm.UserText("the task")}, work(8, 2000)[2:]...)
		msgs = append(msgs, last...)
		var m Meter
		m.Reset(msgs)
		m.Reported(llm.Usage{Input: m.Estimate() + 3000, Output: 1}) // the tools
		g := Goal{Tokens: window * 4 / 10, Request: window * 7 / 8}
		s, ok := Prepare(m, msgs, g)
		if !ok {
			t.Fatalf("%s: nothing to summarise", name)
		}
		summary, err := s.Finish(llm.AssistantText("what was done"), llm.FinishStop, Facts{})
		if err != nil {
			t.Fatal(err)
		}
		digest, ok := Fallback(m, msgs, g, Facts{})
		if !ok {
			t.Fatalf("%s: no digest", name)
		}
		for way, e := range map[string]Edit{"summary": summary, "digest": digest} {
			after := apply(t, e, msgs)
			if !contains(after, last[0]) {
				t.Errorf("%s, %s: the last round is gone\n%s", name, way, sketch(after))
			}
			if w := m.Weigh(after...); w > m.Weigh(msgs...)*3/4 || w+m.Overhead() > window*3/4 {
				t.Errorf("%s, %s: got %d tokens of %d, want at most three quarters", name, way, w+m.Overhead(), m.Estimate())
			}
		}
	}
}
