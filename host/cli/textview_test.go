package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/host/show"
	"github.com/reins-agent/reins/llm"
)

func TestTextView_SaysInOneLineWhatHappensToTheConversation(t *testing.T) {
	for _, c := range []struct {
		data event.Data
		want string // "" is nothing
	}{
		{event.Compaction{Reason: "threshold", Method: "summary", Before: 171000, After: 21500}, "171.0k"},
		{event.Quarantine{What: "an image", Reason: "it is \x1b[2J broken"}, "an image"},
		{event.ModelFallback{From: "big", To: "small", Error: event.Error{Message: "overloaded"}}, "big failed, using small: overloaded"},
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
		v := &textView{out: &out, side: &side, calls: show.Calls{}}
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
		v := &textView{out: &out, side: &side, calls: show.Calls{}}
		_ = v.show(event.Record{Data: c.call})
		_ = v.finish(result{Outcome: "done", Turns: 1, SessionID: "S", saved: true})
		if got := side.String(); !strings.Contains(got, c.want) || strings.Contains(got, "session S") {
			t.Errorf("it shows %q, want %q", got, c.want)
		}
	}
}

func TestTextView_HoldsBackWhatHappensWhileAQuestionWaits(t *testing.T) {
	var side strings.Builder
	v := &textView{out: &side, side: &side, live: true, calls: show.Calls{}}
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
	v := &textView{out: &side, side: &side, calls: show.Calls{}}
	_ = v.show(event.Record{Data: event.Warning{Message: strings.Repeat("No checkpoint taken. ", 6) + "\nThe reason: the disk is full"}})
	if got := side.String(); !strings.Contains(got, "The reason: the disk is full\n") || strings.Count(got, "\n") != 1 {
		t.Errorf("it shows %q", got)
	}
}

func TestTextView_SaysWhatTheAgentNeverRead(t *testing.T) {
	var side strings.Builder
	v := &textView{out: &side, side: &side, calls: show.Calls{}}
	_ = v.show(event.Record{Data: event.SessionEnd{Undelivered: []llm.Message{llm.UserText("stop\nthat")}}})
	if got, want := side.String(), "· not delivered to the agent: stop that\n"; got != want {
		t.Errorf("it shows %q, want %q", got, want)
	}
}

func TestStatus_CountsDownToTheNextAttempt(t *testing.T) {
	now := time.Now()
	s := status{what: "", next: event.ModelRetry{Attempt: 3, Max: 11, Error: event.Error{Message: "overloaded"}}, until: now.Add(8 * time.Second)}
	for after, want := range map[time.Duration]string{
		time.Millisecond:                     "retrying in 8s (attempt 3 of 11): overloaded",
		2*time.Second + time.Millisecond:     "retrying in 6s (attempt 3 of 11): overloaded",
		7*time.Second + 999*time.Millisecond: "retrying in 1s (attempt 3 of 11): overloaded",
		9 * time.Second:                      "working",
	} {
		if got := s.doingNow(now.Add(after)); got != want {
			t.Errorf("after %v it is %q, want %q", after, got, want)
		}
	}
	s.note(event.Record{Data: event.TextDelta{Text: "x"}})
	if got := s.doingNow(now); got != "working" {
		t.Errorf("when the model is heard it is %q", got)
	}
}
