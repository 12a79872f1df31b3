package view_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
	"github.com/reins-agent/reins/view"
)

// maker makes the records for a session with several agents, in an order in which they can happen.
type maker struct {
	all  []event.Record
	time time.Duration
	seq  event.Seq
	made map[string]*made

	background int // commands left running
}

// made is a maker's agent and its unfinished work.
type made struct {
	call    int
	calling bool
	text    string
	open    []string
	started map[string]bool
	inputs  []event.Seq
}

func (m *maker) add(agent string, d event.Data) event.Seq {
	r := event.Record{Time: epoch.Add(m.time), Agent: agent, Data: d}
	m.time += time.Second
	if !event.KindOf(d).Transient() {
		m.seq++
		r.Seq = m.seq
	}
	m.all = append(m.all, r)
	return r.Seq
}

func user(text string) llm.Message { return llm.UserText(text) }

// step makes some of an agent's possible next records.
func (m *maker) step(t *rapid.T, agent string) {
	a := m.made[agent]
	switch n := rapid.IntRange(0, 9).Draw(t, "what"); {
	case a.calling && n < 6:
		m.stream(t, agent, a)
	case a.calling:
		m.finish(t, agent, a)
	case len(a.open) > 0:
		m.work(t, agent, a)
	case n == 0:
		a.inputs = append(a.inputs, m.add(agent, event.UserInput{Message: user(fmt.Sprint("input ", m.seq))}))
	case n == 1:
		seq := m.add(agent, event.SteeringQueued{Message: user("steer"), FollowUp: rapid.Bool().Draw(t, "follow")})
		if rapid.Bool().Draw(t, "withdraw") {
			m.add(agent, event.SteeringWithdrawn{Queued: seq})
		} else {
			m.add(agent, event.SteeringInjected{Message: user("steer"), Queued: seq, Source: event.SourceHost})
		}
	case n == 2 && agent == "" && len(a.inputs) > 0:
		at := a.inputs[rapid.IntRange(0, len(a.inputs)-1).Draw(t, "input")]
		m.add(agent, event.Rewind{Input: at, Chat: true, Redo: rapid.Bool().Draw(t, "redo")})
	case n == 3:
		m.add(agent, event.Warning{Message: rapid.SampledFrom([]string{"careful", "slow"}).Draw(t, "warning")})
	case n == 4:
		m.add(agent, event.ProcessingEnd{Outcome: event.StatusDone, State: event.StateIdle})
	case n == 5 && m.background > 0:
		id := strconv.Itoa(rapid.IntRange(1, m.background).Draw(t, "background"))
		m.add("", event.BackgroundEnd{ID: id, Command: "make serve", Duration: time.Minute})
	case n == 6 && agent == "" && rapid.IntRange(0, 5).Draw(t, "resume") == 0:
		m.add("", event.SessionResume{})
	default:
		a.call++
		a.calling, a.text = true, ""
		m.add(agent, event.ModelCallStart{Call: a.call, Provider: "p", Model: "m"})
	}
}

func (m *maker) stream(t *rapid.T, agent string, a *made) {
	switch rapid.IntRange(0, 4).Draw(t, "delta") {
	case 0:
		m.add(agent, event.ReasoningStart{Call: a.call})
		m.add(agent, event.ReasoningDelta{Call: a.call, Text: "hm ", Tokens: 3})
	case 1:
		m.add(agent, event.ArgumentsDelta{Call: a.call, ID: fmt.Sprint("c", a.call), Name: "shell", Text: "{"})
	case 2:
		m.add(agent, event.ModelRetry{Call: a.call, Attempt: 2, Discard: true, Error: event.Error{Message: "overloaded"}})
		a.text = ""
	default:
		text := rapid.SampledFrom([]string{"word ", "日本", "\n", "\xff"}).Draw(t, "text")
		a.text += text
		m.add(agent, event.TextDelta{Call: a.call, Text: text})
	}
}

func (m *maker) finish(t *rapid.T, agent string, a *made) {
	a.calling = false
	end := event.ModelCallEnd{Call: a.call, Model: "m", Usage: llm.Usage{Input: 10, Output: 1}}
	if rapid.IntRange(0, 4).Draw(t, "fails") == 0 {
		end.Error, end.Partial = &event.Error{Message: "broken"}, a.text
		m.add(agent, end)
		return
	}
	answer := llm.Message{Role: llm.RoleAssistant}
	if a.text != "" {
		answer.Parts = append(answer.Parts, llm.Text{Text: a.text})
	}
	a.started = make(map[string]bool)
	for i := range rapid.IntRange(0, 3).Draw(t, "calls") {
		id := fmt.Sprint("c", i)
		a.open = append(a.open, id)
		answer.Parts = append(answer.Parts, llm.ToolCall{ID: id, Name: "shell", Arguments: `{"command":"make"}`})
	}
	m.add(agent, event.TextEnd{Call: a.call, Message: answer})
	m.add(agent, end)
}

func (m *maker) work(t *rapid.T, agent string, a *made) {
	id := a.open[0]
	if !a.started[id] {
		a.started[id] = true
		m.add(agent, event.ToolCallStart{ID: id, Name: "shell", Arguments: []byte(`{"command":"make"}`)})
		return
	}
	switch rapid.IntRange(0, 5).Draw(t, "tool") {
	case 0:
		m.add(agent, event.ApprovalRequested{ID: id, Name: "shell", Reason: "why not"})
		m.add(agent, event.ApprovalResolved{ID: id, Allowed: rapid.Bool().Draw(t, "allowed"), Deferred: rapid.Bool().Draw(t, "deferred")})
	case 1, 2:
		m.add(agent, event.ToolCallDelta{ID: id, Text: strings.Repeat("line\n", rapid.IntRange(0, 3000).Draw(t, "lines"))})
	default:
		end := event.ToolCallEnd{ID: id, Name: "shell", Model: strings.Repeat("line\n", rapid.IntRange(0, 200).Draw(t, "lines")), Duration: time.Second}
		if rapid.Bool().Draw(t, "fails") {
			end.Error = &tool.Error{Code: rapid.SampledFrom([]tool.Code{tool.Cancelled, tool.ShellExitError}).Draw(t, "code"), Message: "it failed"}
		}
		if rapid.IntRange(0, 2).Draw(t, "stays") == 0 {
			m.background++
			end.Artifacts = tool.Artifacts{CommandsRun: []string{"make serve"}, Background: strconv.Itoa(m.background)}
		}
		m.add(agent, end)
		a.open = a.open[1:]
	}
}

// end ends unfinished work.
func (m *maker) end(t *rapid.T) {
	for _, agent := range []string{"", "1", "1/2"} {
		a := m.made[agent]
		if a.calling {
			m.finish(t, agent, a)
		}
		for len(a.open) > 0 {
			m.work(t, agent, a)
		}
	}
}

// decoded returns a record as it is read from disk.
func decoded(t fataler, r event.Record) (out event.Record) {
	t.Helper()
	b, err := json.Marshal(r)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		t.Fatalf("record %d: %v", r.Seq, err)
	}
	return out
}

func TestState_GeneratedSessionsAreTheSameLiveAndReplayed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := maker{made: map[string]*made{"": {}, "1": {}, "1/2": {}}}
		m.add("", event.SubagentStart{ID: "1", Name: "red", Task: "look"})
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			m.step(t, rapid.SampledFrom([]string{"", "", "1", "1/2"}).Draw(t, "agent"))
		}
		m.end(t)
		replayed, live := new(view.State), new(view.State)
		shown := make(map[view.Key]bool) // what a face shows that follows the changes
		for _, r := range m.all {
			if r.Durable() {
				replayed.Apply(decoded(t, r))
			} else if rapid.IntRange(0, 3).Draw(t, "lost") == 0 {
				continue
			}
			for _, key := range live.Apply(r) {
				_, shown[key] = live.Find(key)
			}
			switch rapid.IntRange(0, 20).Draw(t, "save") {
			case 0:
				live = again(t, live)
			case 1:
				copied := live
				live = copied.Clone()
				before := encoded(t, copied)
				if got := encoded(t, live); got != before {
					t.Fatalf("the copy differs (-state +copy):\n%s", cmp.Diff(before, got))
				}
				defer func() {
					if after := encoded(t, copied); after != before {
						t.Errorf("a record of the copy changed the state (-before +after):\n%s", cmp.Diff(before, after))
					}
				}()
			}
			checkWhole(t, live)
		}
		if want, got := encoded(t, replayed), encoded(t, live); got != want {
			t.Fatalf("a host that follows shows something else (-replayed +live):\n%s", cmp.Diff(want, got))
		}
		for i := range live.Len() {
			if key := live.Item(i).Key; !shown[key] {
				t.Fatalf("item %s was never reported as changed", key)
			} else {
				delete(shown, key)
			}
		}
		for key, still := range shown {
			if still {
				t.Fatalf("item %s disappeared, and was not reported as changed", key)
			}
		}
	})
}

func TestClone_SharesTexts(t *testing.T) {
	var s view.State
	s.Apply(event.Record{Seq: 1, Data: event.UserInput{Message: user(strings.Repeat("text ", 1000))}})
	s.Apply(event.Record{Seq: 2, Data: event.ToolCallEnd{ID: "c", Name: "shell", Model: strings.Repeat("output ", 100)}})
	c := s.Clone()
	for i, text := range []func(view.Item) string{
		func(item view.Item) string { return item.Text },
		func(item view.Item) string { return item.Tool.Output.Tail },
	} {
		if own, shared := text(c.Item(i)), text(s.Item(i)); own == "" || unsafe.StringData(own) != unsafe.StringData(shared) {
			t.Errorf("the copy has its own text of item %d", i)
		}
	}
}

func TestClone_ContinuesOnItsOwn(t *testing.T) {
	var s view.State
	write := func(s *view.State, text string) {
		s.Apply(event.Record{Data: event.ToolCallDelta{ID: "c", Text: text}})
	}
	s.Apply(event.Record{Seq: 1, Data: event.ToolCallStart{ID: "c", Name: "shell"}})
	write(&s, "1\n")
	c := s.Clone()
	write(&s, "s") // short, so that it fits into the capacity of the buffer
	write(c, "c")
	for _, tt := range []struct {
		of   *view.State
		want string
	}{{&s, "1\ns"}, {c, "1\nc"}} {
		if got := tt.of.Item(0).Tool.Output.Tail; got != tt.want {
			t.Errorf("the output is %q, want %q", got, tt.want)
		}
	}
}

// FuzzState applies hostile records in any order.
func FuzzState(f *testing.F) {
	b, err := os.ReadFile(filepath.Join("..", "event", "testdata", "records-2026-11.jsonl"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b, []byte{})
	f.Add(b, []byte{9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 11, 200, 10, 20, 30, 40, 12, 13, 13, 13})
	f.Add([]byte(`{"seq":1,"kind":"MODEL_CALL_START","data":{"call":1}}
{"kind":"TOOL_CALL_ARGUMENTS_DELTA","data":{"call":1,"id":"","text":"{"}}
{"kind":"ASSISTANT_TEXT_DELTA","data":{"call":1,"text":"x"}}
{"seq":1,"kind":"TOOL_CALL_START","data":{"id":"","name":"x","arguments":"{"}}
{"seq":1,"kind":"APPROVAL_REQUESTED","data":{"id":""}}
{"kind":"TOOL_CALL_OUTPUT_DELTA","data":{"id":"","text":"a\rb\n"}}
{"seq":2,"kind":"REWIND","data":{"input":0,"chat":true}}`), []byte{0, 1, 2, 1, 3, 4, 5, 6, 0, 1, 2})
	f.Fuzz(func(t *testing.T, lines, order []byte) {
		var records []event.Record
		for line := range strings.Lines(string(lines)) {
			var r event.Record
			if json.Unmarshal([]byte(line), &r) == nil {
				records = append(records, r)
			}
		}
		if len(records) == 0 {
			return
		}
		s := new(view.State)
		for _, r := range records {
			s.Apply(r)
		}
		for _, i := range order {
			s.Apply(records[int(i)%len(records)])
		}
		seen := make(map[view.Key]bool)
		for i := range s.Len() {
			if item := s.Item(i); !item.Live() && seen[item.Key] {
				t.Errorf("two items have the key %s", item.Key)
			} else {
				seen[item.Key] = true
			}
		}
		saved, err := json.Marshal(s)
		if err != nil {
			return // a time that has no JSON form
		}
		var next view.State
		if err := json.Unmarshal(saved, &next); err != nil {
			t.Fatalf("%s does not decode: %v", saved, err)
		}
		if got, want := next.Len(), s.Len(); got != want {
			t.Errorf("%d items after it was saved, want %d", got, want)
		}
		for _, r := range records {
			next.Apply(r)
		}
	})
}

func FuzzState_DecodesNothingThatPanics(f *testing.F) {
	f.Add([]byte(`{"items":[{"key":"a","kind":"tool"}],"agents":[{"agent":{"path":""},"open":{"x":{"item":9},"y":null}},null],"writing":["","","9"],"notices":{"\u0000x":7}}`))
	f.Add([]byte(`{"agents":[{"agent":{"path":""},"answer":{"last":"writing"}}],"writing":[""],"notices":{"\u0000x":-7}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var s view.State
		if json.Unmarshal(b, &s) != nil {
			return
		}
		s.Screen()
		s.Apply(event.Record{Seq: 1, Data: event.Warning{Message: "x"}})
		s.Apply(event.Record{Seq: 2, Data: event.ToolCallEnd{ID: "x", Name: "x"}})
	})
}

func TestTool_TimeIsWithoutTheWaitForAnApproval(t *testing.T) {
	at := func(s int) time.Time { return epoch.Add(time.Duration(s) * time.Second) }
	var s view.State
	took := func(now int, data event.Data) time.Duration {
		s.Apply(event.Record{Seq: s.Last() + 1, Time: at(now), Data: data})
		return s.Item(0).Tool.Took(at(now))
	}
	for _, c := range []struct {
		now  int
		data event.Data
		want time.Duration
	}{
		{0, event.ToolCallStart{ID: "c", Name: "shell", Arguments: []byte(`{"command":"make"}`)}, 0},
		{1, event.ApprovalRequested{ID: "c"}, time.Second},
		{31, event.Warning{}, time.Second},
		{61, event.ApprovalResolved{ID: "c", Allowed: true}, time.Second},
		{71, event.Warning{}, 11 * time.Second},
		{72, event.ToolCallEnd{ID: "c", Name: "shell", Duration: 12 * time.Second}, 12 * time.Second},
		{99, event.Warning{}, 12 * time.Second},
	} {
		if got := took(c.now, c.data); got != c.want {
			t.Errorf("after %d s and %T: %v, want %v", c.now, c.data, got, c.want)
		}
	}
	if item := s.Item(0); item.Tool.Title != "shell make" || item.Tool.State != view.ToolDone {
		t.Errorf("the call is %+v", item.Tool)
	}
}

func TestActivity_MovesWhileTheModelWritesArguments(t *testing.T) {
	var s view.State
	for i, c := range []struct {
		data event.Data
		want view.Activity
	}{
		{event.UserInput{Message: user("go")}, view.Activity{Doing: view.DoingWork}},
		{event.ModelCallStart{Call: 1}, view.Activity{Doing: view.DoingRequest}},
		{event.ReasoningDelta{Call: 1, Tokens: 900}, view.Activity{Doing: view.DoingThink, Tokens: 900}},
		{event.ArgumentsDelta{Call: 1, ID: "c", Name: "write_file", Text: `{"content":"`}, view.Activity{Doing: view.DoingArguments, Title: "write_file", Bytes: 12}},
		{event.ArgumentsDelta{Call: 1, ID: "c", Name: "write_file", Text: strings.Repeat("x", 1000)}, view.Activity{Doing: view.DoingArguments, Title: "write_file", Bytes: 1012}},
		{event.ArgumentsDelta{Call: 2, ID: "c", Name: "late", Text: "late"}, view.Activity{Doing: view.DoingArguments, Title: "write_file", Bytes: 1012}},
		{event.TextDelta{Call: 1, Text: "abc"}, view.Activity{Doing: view.DoingAnswer, Bytes: 3}},
	} {
		s.Apply(event.Record{Seq: event.Seq(i + 1), Data: c.data})
		root, _ := s.Agent("")
		if got := root.Activity; got.Doing != c.want.Doing || got.Title != c.want.Title || got.Bytes != c.want.Bytes || got.Tokens != c.want.Tokens {
			t.Errorf("after %T it is %+v, want %+v", c.data, got, c.want)
		}
	}
}

func TestState_AbandonedItemsDisappear(t *testing.T) {
	var s view.State
	apply := func(seq event.Seq, d event.Data) string {
		s.Apply(event.Record{Seq: seq, Time: epoch, Data: d})
		return brief(&s)
	}
	apply(1, event.ModelCallStart{Call: 1})
	apply(0, event.TextDelta{Call: 1, Text: "I beg"})
	if got, want := apply(2, event.ModelRetry{Call: 1, Attempt: 2, Error: event.Error{Message: "cut"}}), "text: I beg\n"; !strings.HasSuffix(got, want) {
		t.Errorf("an attempt that continues shows %q", got)
	}
	if got := apply(3, event.ModelRetry{Call: 1, Attempt: 3, Discard: true, Error: event.Error{Message: "cut"}}); strings.Contains(got, "I beg") {
		t.Errorf("a discarded attempt shows %q", got)
	}
	apply(0, event.TextDelta{Call: 1, Text: "I begin again"})
	apply(4, event.ToolCallStart{ID: "c", Name: "shell"})
	apply(5, event.ApprovalRequested{ID: "d", Name: "shell"})
	want := "notice: retrying in <1ms (attempt 3): cut\nshell: interrupted \nshell: waiting \n"
	if got := apply(6, event.SessionResume{}); got != want+"notice: resumed\n" {
		t.Errorf("after the process was killed it shows %q", got)
	}
	if root, _ := s.Agent(""); root.Activity.Doing != view.DoingApproval {
		t.Errorf("it does %+v", root.Activity)
	}
}

func TestOutput_RunningCommandShowsItsLastLines(t *testing.T) {
	var s view.State
	s.Apply(event.Record{Seq: 1, Data: event.ToolCallStart{ID: "c", Name: "shell"}})
	for i := range 100_000 {
		s.Apply(event.Record{Data: event.ToolCallDelta{ID: "c", Text: fmt.Sprintf("line %d\n", i)}})
	}
	s.Apply(event.Record{Data: event.ToolCallDelta{ID: "c", Text: "10%\r20%\r30%"}})
	got := s.Item(0).Tool.Output
	if _, tail := got.Lines(); len(tail) != 10 || tail[9] != "30%" || tail[8] != "line 99999" || got.Omitted != 99_991 {
		t.Errorf("it shows %+v", got)
	}
	s.Apply(event.Record{Data: event.ToolCallDelta{ID: "c", Text: strings.Repeat("y", 1<<20) + "\nend\n"}})
	if _, tail := s.Item(0).Tool.Output.Lines(); tail[len(tail)-1] != "end" || len(s.Item(0).Tool.Output.Tail) > 8<<10 {
		t.Errorf("after a long line it shows %d bytes: %q", len(s.Item(0).Tool.Output.Tail), tail[len(tail)-1])
	}
}

func TestNotices_CountsRepetitions(t *testing.T) {
	var s view.State
	for i, d := range []event.Data{
		event.Warning{Message: "slow"}, event.Warning{Message: "odd"}, event.Warning{Message: "slow"},
		event.UserInput{Message: user("next")}, event.Warning{Message: "slow"},
	} {
		s.Apply(event.Record{Seq: event.Seq(i + 1), Data: d})
	}
	var got []string
	for _, item := range s.Items(0, s.Len()) {
		got = append(got, fmt.Sprint(item.Text, item.Count))
	}
	if want := "slow2 odd1 next0 slow1"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

func TestDiff_IsTheFieldThatToolsRecord(t *testing.T) {
	var s view.State
	end := event.ToolCallEnd{ID: "c", Name: "edit_file", Fields: map[string]any{coding.DiffField: "--- a\n+++ b\n"}, Decision: policy.Decision{Verdict: policy.Allow}}
	s.Apply(event.Record{Seq: 1, Data: end})
	if got := s.Item(0).Tool.Diff; got != "--- a\n+++ b\n" {
		t.Errorf("the diff is %q", got)
	}
}

// A session of 100,000 lines costs as much per record as a short one.
func BenchmarkState_Apply(b *testing.B) {
	for _, size := range []int{100, 100_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			var s view.State
			for i := range size {
				s.Apply(event.Record{Seq: event.Seq(i + 1), Data: event.TextEnd{Message: llm.AssistantText("a line")}})
			}
			b.ReportAllocs()
			for b.Loop() {
				seq := s.Last() + 1
				s.Apply(event.Record{Seq: seq, Data: event.ModelCallStart{Call: 1}})
				for range 20 {
					s.Apply(event.Record{Data: event.TextDelta{Call: 1, Text: "word "}})
					_ = s.Item(s.Len() - 1)
				}
				s.Apply(event.Record{Seq: seq + 1, Data: event.ModelCallEnd{Call: 1, Error: &event.Error{}}})
			}
		})
	}
}
