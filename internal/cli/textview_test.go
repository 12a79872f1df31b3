package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/tool"
	"github.com/reins-agent/reins/view"
)

func TestTextView_SaysInOneLineWhatHappensToTheConversation(t *testing.T) {
	for _, c := range []struct {
		data event.Data
		want string // "" is nothing
	}{
		{event.Compaction{Reason: "threshold", Method: "summary", Before: 171000, After: 21500}, "171.0k"},
		{event.Quarantine{What: "an image", Reason: "it is \x1b[2J broken"}, "an image"},
		{event.ModelFallback{From: "big", To: "small", Error: event.Error{Message: "overloaded"}}, "big failed, using small: overloaded"},
		{event.Compaction{Reason: "threshold", Method: "server", Before: 171000, After: 21500}, "by the provider"},
		{event.Warning{Code: event.WarningPriceStep, Message: "tokens cost more now"}, "tokens cost more now"},
		{event.Rewind{Input: 7, Chat: true, Files: true}, "@7"},
		{event.Rewind{Input: 7, Files: true, Paths: []string{"a.go"}}, "a.go"},
		{event.SessionResume{Interrupted: true}, "interrupted"},
		{event.SessionResume{Lost: 2}, "2 records"},
		{event.SessionResume{}, ""},
		{event.CacheBroken{Reason: "the model was changed"}, ""},
		{event.Checkpoint{ID: "1"}, ""},
		{event.Settings{Setup: event.Setup{Effort: "low"}}, ""},
	} {
		var out, side strings.Builder
		v := &textView{out: &out, side: &side}
		if err := v.show(event.Record{Seq: 1, Data: c.data}); err != nil {
			t.Error(err)
		}
		got := side.String()
		if out.Len() > 0 || strings.Contains(got, "\x1b") || (c.want == "") != (got == "") {
			t.Errorf("%+v shows %q and says %q", c.data, got, out.String())
		}
		if c.want != "" && (!strings.HasPrefix(got, "· ") || strings.Count(got, "\n") != 1 || !strings.Contains(got, c.want)) {
			t.Errorf("%+v shows %q, want it to say %q on one line", c.data, got, c.want)
		}
	}
}

func TestTextView_TellsWhatCameFromTheCacheAndWhatHasNoPrice(t *testing.T) {
	for _, c := range []struct {
		call event.ModelCallEnd
		want string
	}{
		{event.ModelCallEnd{Usage: llm.Usage{Input: 10000, CacheRead: 8000, Output: 5}, Cost: new(0.5)}, "10.0k tokens in (80% cached), 5 out · $0.5000"},
		{event.ModelCallEnd{Usage: llm.Usage{Input: 10000, Output: 5}, Cost: new(0.0)}, "10.0k tokens in, 5 out · $0.0000"},
		{event.ModelCallEnd{Usage: llm.Usage{Input: 10000, Output: 5}}, "10.0k tokens in, 5 out · cost unknown"},
	} {
		var out, side strings.Builder
		v := &textView{out: &out, side: &side}
		_ = v.show(event.Record{Data: c.call})
		_ = v.finish(result{Outcome: "done", Turns: 1, SessionID: "S", saved: true})
		if got := side.String(); !strings.Contains(got, c.want) || !strings.HasSuffix(got, "\nsession S\n") {
			t.Errorf("it shows %q, want %q", got, c.want)
		}
	}
}

func TestTextView_HoldsBackWhatHappensWhileAQuestionWaits(t *testing.T) {
	var side strings.Builder
	v := &textView{out: &side, side: &side, live: true}
	answered := v.ask("Allow? ")
	for _, d := range []event.Data{event.TextDelta{Text: "Hel"}, event.TextEnd{Message: llm.AssistantText("Hello")}, event.Warning{Message: "careful"}} {
		if err := v.show(event.Record{Data: d}); err != nil {
			t.Fatal(err)
		}
	}
	if got := side.String(); got != "Allow? " {
		t.Errorf("beside the question it shows %q", got)
	}
	answered(true)
	if got, want := side.String(), "Allow? Hello\n· careful\n"; got != want {
		t.Errorf("after the answer it shows %q, want %q", got, want)
	}
}

func TestTextView_WarningKeepsItsReason(t *testing.T) {
	var side strings.Builder
	v := &textView{out: &side, side: &side}
	_ = v.show(event.Record{Data: event.Warning{Message: strings.Repeat("No checkpoint taken. ", 6) + "\nThe reason: the disk is full"}})
	if got := side.String(); !strings.Contains(got, "The reason: the disk is full\n") || strings.Count(got, "\n") != 1 {
		t.Errorf("it shows %q", got)
	}
}

func TestTextView_SaysWhatTheAgentNeverRead(t *testing.T) {
	var side strings.Builder
	v := &textView{out: &side, side: &side}
	_ = v.show(event.Record{Data: event.SessionEnd{Undelivered: []llm.Message{llm.UserText("stop\nthat")}}})
	if got, want := side.String(), "· not delivered to the agent: stop that\n"; got != want {
		t.Errorf("it shows %q, want %q", got, want)
	}
}

func TestStatus_CountsDownToTheNextAttempt(t *testing.T) {
	now := time.Now()
	retry := event.ModelRetry{Attempt: 3, Max: 11, Error: event.Error{Message: "overloaded"}}
	a := view.Activity{Doing: view.DoingRetry, Retry: &retry, Until: now.Add(8 * time.Second)}
	for after, want := range map[time.Duration]string{
		time.Millisecond:                     "retrying in 8s (attempt 3 of 11): overloaded",
		2*time.Second + time.Millisecond:     "retrying in 6s (attempt 3 of 11): overloaded",
		7*time.Second + 999*time.Millisecond: "retrying in 1s (attempt 3 of 11): overloaded",
		9 * time.Second:                      "working",
	} {
		if got := doing(a, 0, now.Add(after)); got != want {
			t.Errorf("after %v it is %q, want %q", after, got, want)
		}
	}
}

// callRecords returns the records of a call with a duration and a wait for approval.
func callRecords(id, command string, took, waited time.Duration) []event.Record {
	args, _ := json.Marshal(map[string]string{"command": command})
	then := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	return []event.Record{
		{Seq: 1, Time: then, Data: event.ToolCallStart{ID: id, Name: "shell", Arguments: args}},
		{Seq: 2, Time: then, Data: event.ApprovalRequested{ID: id}},
		{Seq: 3, Time: then.Add(waited), Data: event.ApprovalResolved{ID: id, Allowed: true}},
		{Seq: 4, Time: then.Add(took), Data: event.ToolCallEnd{ID: id, Name: "shell", Duration: took}},
	}
}

func TestTool_TimeIsWithoutTheWaitForAnApproval(t *testing.T) {
	records := callRecords("c1", "make", 62*time.Second, time.Minute)
	const want = "✓ shell make 1m2s\n" // of an event whose duration excludes the wait
	var side, shown strings.Builder
	v := &textView{out: &side, side: &side}
	past := newTranscript(&shown, itemText{})
	for _, r := range records {
		if err := v.show(r); err != nil {
			t.Error(err)
		}
		if err := past.show(r); err != nil {
			t.Error(err)
		}
	}
	if err := past.end(); err != nil {
		t.Error(err)
	}
	if side.String() != want || shown.String() != want {
		t.Errorf("the run shows %q and the transcript %q, want %q", side.String(), shown.String(), want)
	}
}

func TestTextView_ResumedRunSaysWhichCallWasInterrupted(t *testing.T) {
	var side strings.Builder
	v := &textView{out: &side, side: &side}
	for _, r := range callRecords("c1", "make", time.Second, 0) {
		v.replay(r)
	}
	for _, r := range callRecords("c2", "make test", time.Second, 0)[:1] {
		v.replay(r)
	}
	if v.state.Open() != 1 || side.Len() > 0 {
		t.Errorf("what was shown before is shown again: %q, with %d open calls", side.String(), v.state.Open())
	}
	end := event.ToolCallEnd{ID: "c2", Name: "shell", Error: &tool.Error{Message: "interrupted: it may have taken effect"}}
	if err := v.show(event.Record{Seq: 9, Data: end}); err != nil {
		t.Error(err)
	}
	if want := "✗ shell make test <1ms interrupted: it may have taken effect\n"; side.String() != want {
		t.Errorf("it shows %q, want %q", side.String(), want)
	}
}

func TestTextView_ShowsMessagesOfTheAgent(t *testing.T) {
	var out, side strings.Builder
	v := &textView{out: &out, side: &side}
	message := tool.Message{Content: "two\x1b[2J\nthree", Level: "warning", Title: "Tests", Thought: "to be sure", Evidence: []string{"a.go:1"}}
	end := event.ToolCallEnd{ID: "1", Name: "display", Output: tool.Text("shown"), Artifacts: tool.Artifacts{Message: &message}}
	if err := v.show(event.Record{Seq: 1, Data: end}); err != nil {
		t.Fatal(err)
	}
	if want := "! Tests: two\ufffd[2J\n  three\n  · to be sure\n  · a.go:1\n"; side.String() != want || out.Len() > 0 {
		t.Errorf("it shows %q, want %q", side.String(), want)
	}
	if got, want := show.Event(end), "! Tests: two\ufffd[2J …"; got != want {
		t.Errorf("on one line: %q, want %q", got, want)
	}
}

func TestTextView_FailedCommandShowsTheEndOfItsOutput(t *testing.T) {
	var side strings.Builder
	v := &textView{out: &side, side: &side}
	var output strings.Builder
	for i := range 100 {
		fmt.Fprintf(&output, "line %d\n", i)
	}
	end := event.ToolCallEnd{ID: "c", Name: "shell", Model: output.String() + "\n\nThe command exited with code 1.", Duration: time.Second,
		Error: &tool.Error{Code: tool.ShellExitError, Message: "The command exited with code 1."}}
	for i, d := range []event.Data{event.ToolCallStart{ID: "c", Name: "shell", Arguments: []byte(`{"command":"make"}`)}, end} {
		_ = v.show(event.Record{Seq: event.Seq(i + 1), Agent: "1", Data: d})
	}
	want := "[1] ✗ shell make 1s The command exited with code 1.\n    line 0\n"
	if got := side.String(); !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "    … 65 lines not shown …\n    line 70\n"+got[strings.Index(got, "    line 71"):]) || !strings.HasSuffix(got, "    line 99\n") {
		t.Errorf("it shows %s", got)
	}
}

func TestStatus_ShowsTheLastLinesOfARunningCommand(t *testing.T) {
	var s view.State
	s.Apply(event.Record{Seq: 1, Data: event.ToolCallStart{ID: "c", Name: "shell"}})
	s.Apply(event.Record{Data: event.ToolCallDelta{ID: "c", Text: "one\n\x1b[31mtwo\r10%\r20%\nthree is much too long for this terminal"}})
	want := []string{"    one", "    20%", "    three is much t"}
	if got := runningOutput(&s, 19); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	s.Apply(event.Record{Seq: 2, Data: event.ToolCallEnd{ID: "c", Name: "shell", Model: "three"}})
	if got := runningOutput(&s, 19); got != nil {
		t.Errorf("when it has ended: %q", got)
	}
}

func TestTextView_TerminalStylesLinesThatAreComplete(t *testing.T) {
	var out, side strings.Builder
	v := &textView{out: &out, side: &side, live: true, styled: true}
	show := func(d event.Data) string {
		if err := v.show(event.Record{Data: d}); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	show(event.ModelCallStart{})
	if got := show(event.TextDelta{Text: "# He"}); got != "" {
		t.Errorf("before the line is complete: %q", got)
	}
	if got := strings.Join(unfinished(v.partial, 20), "|"); got != "# He" {
		t.Errorf("the status shows %q", got)
	}
	if got, want := show(event.TextDelta{Text: "llo\nI **am** th"}), "\x1b[1mHello\x1b[0m\n"; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
	want := "\x1b[1mHello\x1b[0m\nI \x1b[1mam\x1b[0m there.\n"
	if got := show(event.TextEnd{Message: llm.AssistantText("# Hello\nI **am** there.")}); got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
}
