package event

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func read(t *testing.T, l *Log, after Seq) []Record {
	t.Helper()
	var out []Record
	for r, err := range l.Events(t.Context(), after) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

func names(records []Record) string {
	var out []string
	for _, r := range records {
		out = append(out, string(r.Kind()))
	}
	return strings.Join(out, " ")
}

func TestLog_DurableRecordsAreNumberedAndTransientOnesAreNot(t *testing.T) {
	l := &Log{}
	a, _ := l.Append(Record{Data: Warning{Message: "one"}})
	b, _ := l.Append(Record{Data: TextDelta{Text: "x"}})
	c, _ := l.Append(Record{Data: Warning{Message: "two"}})
	if a.Seq != 1 || b.Seq != 0 || c.Seq != 2 || a.Time.IsZero() {
		t.Errorf("got numbers %d, %d and %d, want 1, 0 and 2", a.Seq, b.Seq, c.Seq)
	}
	if l.Last() != 2 {
		t.Errorf("got last %d, want 2", l.Last())
	}
}

func TestLog_LateReaderSeesAllDurableRecords(t *testing.T) {
	l := &Log{}
	for range 200 {
		l.Append(Record{Data: TextDelta{Text: "x"}})
		l.Append(Record{Data: TextEnd{}})
	}
	l.Close()
	if got := read(t, l, 0); len(got) != 200 {
		t.Errorf("%d records from the start", len(got))
	}
	for _, after := range []Seq{1, 77, 199, 200, 500} {
		got := read(t, l, after)
		if want := max(200-int(after), 0); len(got) != want {
			t.Errorf("after %d: %d records, want %d", after, len(got), want)
		}
		if len(got) > 0 && got[0].Seq != after+1 {
			t.Errorf("got record %d after %d", got[0].Seq, after)
		}
	}
}

func TestLog_LiveReaderSeesDeltas(t *testing.T) {
	l := &Log{}
	seen := make(chan string)
	attached := make(chan struct{})
	go func() {
		var got []Record
		for r, err := range l.Events(context.Background(), 0) {
			if err != nil {
				break
			}
			if r.Kind() == KindWarning {
				close(attached)
			}
			got = append(got, r)
		}
		seen <- names(got)
	}()
	l.Append(Record{Data: Warning{Message: "go"}})
	<-attached
	for range 3 {
		l.Append(Record{Data: TextDelta{Text: "x"}})
	}
	l.Append(Record{Data: TextEnd{}})
	l.Close()
	want := "WARNING ASSISTANT_TEXT_DELTA ASSISTANT_TEXT_DELTA ASSISTANT_TEXT_DELTA ASSISTANT_TEXT_END"
	if got := <-seen; got != want {
		t.Errorf("got %s", got)
	}
}

func TestLog_SlowReaderLosesTransientRecordsOnly(t *testing.T) {
	l := &Log{}
	r := l.join(0) // a reader that follows but does not read
	defer l.leave(r)
	for range 20 {
		for range maxTransient {
			l.Append(Record{Data: TextDelta{Text: "x"}})
		}
		l.Append(Record{Data: TextEnd{}})
	}
	if len(l.loose) > maxTransient {
		t.Errorf("the log keeps %d transient records", len(l.loose))
	}
	if got := len(l.Records(0)); got != 20 {
		t.Errorf("%d durable records", got)
	}
}

func TestLog_DropsTransientRecordsThatAllReadersHaveSeen(t *testing.T) {
	l := &Log{}
	for range 100 {
		l.Append(Record{Data: TextDelta{Text: "x"}})
	}
	l.Append(Record{Data: TextEnd{}})
	if len(l.durable) != 1 || len(l.loose) != 0 {
		t.Errorf("%d durable and %d transient records", len(l.durable), len(l.loose))
	}
}

func TestLog_ReaderEndsWithTheLogOrItsContext(t *testing.T) {
	l := &Log{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range l.Events(ctx, 0) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	}
	l.Append(Record{Data: Warning{Message: "x"}})
	for range l.Events(t.Context(), 0) {
		break
	}
	l.Close()
	if _, ok := l.Append(Record{Data: Warning{Message: "y"}}); ok {
		t.Error("a closed log accepted a record")
	}
	if len(l.readers) != 0 {
		t.Errorf("%d readers remain", len(l.readers))
	}
}

func TestLog_ManyReadersAndWritersLoseNothing(t *testing.T) {
	l := &Log{}
	var readers, writers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			var last Seq
			n := 0
			for r, err := range l.Events(context.Background(), 0) {
				if err != nil {
					t.Error(err)
				}
				if r.Seq != 0 {
					if r.Seq != last+1 {
						t.Errorf("got record %d after %d", r.Seq, last)
					}
					last = r.Seq
					n++
				}
			}
			if n != 2000 {
				t.Errorf("%d durable records", n)
			}
		})
	}
	for range 4 {
		writers.Go(func() {
			for range 500 {
				l.Append(Record{Data: TextDelta{Text: "x"}})
				l.Append(Record{Data: Warning{Message: "w"}})
			}
		})
	}
	writers.Wait()
	l.Close()
	readers.Wait()
}

func TestRecord_EveryKindSurvivesARoundTrip(t *testing.T) {
	cost, budget := 0.5, 1024
	all := []Data{
		SessionStart{ID: "1", Setup: Setup{ModelSetup: ModelSetup{Provider: "p", Model: "m", Window: 5}, Rules: Rules{Turns: 2, Fallback: []ModelSetup{{Model: "f"}}}}, System: "s"}, SessionEnd{Reason: "closed", State: "CLOSED", Undelivered: []llm.Message{llm.UserText("late")}},
		UserInput{Message: llm.UserText("hi"), FollowUp: true, Answers: "c"}, ProcessingEnd{Outcome: "done", State: "IDLE", Rounds: 3, Question: "why?"},
		ModelCallStart{Call: 1, Model: "m", Messages: 2}, ModelCallEnd{Call: 1, Cost: &cost, Usage: llm.Usage{Input: 5}},
		ModelRetry{Call: 1, Attempt: 2, Error: Error{Class: "server", Message: "x"}},
		TextStart{1}, TextDelta{1, "x"}, TextEnd{1, "id", llm.AssistantText("hello")},
		ReasoningStart{1}, ReasoningDelta{Call: 1, Text: "x"}, ReasoningEnd{1, "xx"},
		ToolCallStart{ID: "c", Name: "n", Arguments: json.RawMessage(`{"a":1}`)}, ToolCallDelta{"c", "x"},
		ToolCallEnd{ID: "c", Name: "n", Output: tool.Text("whole"), Model: "cut", Error: &tool.Error{Code: tool.IOError, Message: "m"},
			Images: []llm.Image{{Media: llm.Media{MIME: "image/png", Data: []byte{1}}}}, Artifacts: tool.Artifacts{FilesChanged: []string{"f"}}, Accesses: []policy.Access{}, Decision: policy.Decision{Verdict: policy.Allow, Rule: "r"}, Plan: true},
		ApprovalRequested{ID: "c", Name: "n", Reason: "r", Accesses: []policy.Access{{Kind: policy.Exec, Target: "x", Dir: "/d"}}}, ApprovalResolved{ID: "c", Allowed: true, Scope: tool.Always},
		SteeringQueued{Message: llm.UserText("x")}, SteeringInjected{Message: llm.UserText("x"), Source: "host"},
		TurnLimit{"max_turns", 3, "d"}, LoopDetection{"m", 2, 1}, Settings{Setup: Setup{Effort: "low", ThinkingBudget: &budget}, System: "s"}, Interrupted{Reason: "r", Abandon: true}, Continue{}, SteeringWithdrawn{Queued: 4}, ArgumentsDelta{1, "c", "n", "{"}, CacheBroken{"r"},
		SubagentStart{ID: "1", Task: "t"}, SubagentEnd{ID: "1", Status: "completed", Success: true},
		Task{ID: "task_1", Subject: "s", Status: TaskPending}, Team{Name: "t", Members: []Member{{"main", RoleLeader}}, Status: TeamActive}, Mail{Team: "t", From: "main", To: []string{"a"}, Type: MailText, Content: "c"}, Warning{Message: "w"}, Error{Class: "c", Message: "m"},
	}
	for _, s := range sections() {
		all = append(all, s.data)
	}
	for _, d := range all {
		b, err := json.Marshal(Record{Seq: 7, Session: "s", Agent: "1/2", Data: d})
		if err != nil {
			t.Errorf("%s: %v", d.kind(), err)
			continue
		}
		var got Record
		if err := json.Unmarshal(b, &got); err != nil {
			t.Errorf("%s: %v", d.kind(), err)
			continue
		}
		if diff := cmp.Diff(Record{Seq: 7, Session: "s", Agent: "1/2", Data: d}, got); diff != "" {
			t.Errorf("%s: %s", d.kind(), diff)
		}
	}
}

func TestRecord_UnknownKindSurvivesARoundTrip(t *testing.T) {
	const in = `{"seq":3,"time":"2026-01-02T03:04:05Z","kind":"FROM_THE_FUTURE","data":{"x":[1,2]}}`
	var r Record
	if err := json.Unmarshal([]byte(in), &r); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(r)
	if err != nil || string(out) != in {
		t.Errorf("got %s, want %s (%v)", out, in, err)
	}
}

func FuzzRecord(f *testing.F) {
	f.Add([]byte(`{"seq":3,"time":"2026-01-02T03:04:05Z","kind":"TOOL_CALL_END","data":{"id":"x"}}`))
	f.Add([]byte(`{"kind":"ASSISTANT_TEXT_END","data":{"message":{"role":"assistant","parts":[{"type":"text","text":"x"}]}}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var r Record
		if json.Unmarshal(b, &r) != nil {
			return
		}
		out, err := json.Marshal(r)
		if err != nil {
			return // a time without a JSON form
		}
		var again Record
		if err := json.Unmarshal(out, &again); err != nil {
			t.Fatalf("%q encodes as %q, which does not decode: %v", b, out, err)
		}
	})
}

// TestLog_KeepsAFewMegabytesOfOutputForASlowReader has a reader that pauses while a command prints.
func TestLog_KeepsAFewMegabytesOfOutputForASlowReader(t *testing.T) {
	var l Log
	next, stop := iter.Pull2(l.Events(t.Context(), 0))
	defer stop()
	l.Append(Record{Data: TextDelta{Text: "first"}})
	if r, err, ok := next(); !ok || err != nil || r.Data != (TextDelta{Text: "first"}) {
		t.Fatalf("read %+v, %v", r, err)
	}
	const pieces, size = 1000, 64 << 10
	for i := range pieces {
		l.Append(Record{Data: ToolCallDelta{ID: strconv.Itoa(i), Text: strings.Repeat("x", size)}})
	}
	l.Close()
	kept, last := 0, ""
	for r, err, ok := next(); ok; r, err, ok = next() {
		if err != nil {
			t.Fatal(err)
		}
		d := r.Data.(ToolCallDelta)
		kept, last = kept+len(d.Text), d.ID
	}
	if kept < 2<<20-size || kept > 4<<20 || last != "999" {
		t.Errorf("the reader got %d bytes, the last of piece %s; want the newest 2 to 4 MiB", kept, last)
	}
}
