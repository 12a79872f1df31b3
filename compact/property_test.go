package compact

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reins-agent/reins/llm"
)

// applied applies an edit and checks what holds for all edits.
func applied(t *rapid.T, m Meter, before []llm.Message, e Edit) []llm.Message {
	was, err := json.Marshal(before)
	if err != nil {
		t.Fatal(err)
	}
	after, err := e.Apply(before)
	if err != nil {
		t.Fatalf("the edit does not apply: %v\n%s", err, sketch(before))
	}
	fail := func(format string, args ...any) {
		t.Helper()
		t.Fatalf(format+"\nbefore:\n%s\nafter:\n%s", append(args, sketch(before), sketch(after))...)
	}
	if is, _ := json.Marshal(before); !slices.Equal(was, is) {
		fail("the given messages were changed")
	}
	if w, now := m.Weigh(before...), m.Weigh(after...); now >= w {
		fail("%d tokens became %d", w, now)
	}
	if err := wellFormed(after); err != nil {
		fail("%v", err)
	}
	// The protocol validators take most of the time and rarely find more than wellFormed does.
	if effort := rapid.SampledFrom([]string{"", "high", "skip", "skip"}).Draw(t, "effort"); effort != "skip" {
		if err := newlyRefused(before, after, effort); err != nil {
			fail("%v", err)
		}
	}
	head := leading(before)
	if !reflect.DeepEqual(before[:head], after[:head]) {
		fail("the leading messages changed")
	}
	if newest, ok := newestUser(before); ok && !contains(after, newest) {
		fail("the user's newest message is gone")
	}
	if last := before[len(before)-1]; len(last.ToolCalls()) > 0 && !reflect.DeepEqual(after[len(after)-1], last) {
		fail("the open calls changed")
	}
	recorded, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var read Edit
	if err := json.Unmarshal(recorded, &read); err != nil {
		t.Fatal(err)
	}
	again, err := read.Apply(before)
	if a, _ := json.Marshal(after); err != nil || string(a) != string(mustJSON(again)) {
		fail("the recorded edit gives another result: %v", err)
	}
	return after
}

func mustJSON(v any) []byte { b, _ := json.Marshal(v); return b }

func contains(msgs []llm.Message, msg llm.Message) bool {
	return slices.ContainsFunc(msgs, func(m llm.Message) bool { return reflect.DeepEqual(m, msg) })
}

// userMessages returns the messages that the user wrote.
func userMessages(msgs []llm.Message) (out []llm.Message) {
	for _, msg := range msgs {
		if msg.Role == llm.RoleUser && !isSummary(msg) {
			out = append(out, msg)
		}
	}
	return out
}

// factsOf returns the facts in the summary.
func factsOf(msgs []llm.Message) (Facts, bool) {
	for _, msg := range msgs {
		if isSummary(msg) {
			return readRecord(msg).facts, true
		}
	}
	return Facts{}, false
}

// checkFacts checks that the summary contains the facts, and the previous summary's facts.
func checkFacts(t *rapid.T, before, after []llm.Message, f Facts) {
	old, _ := factsOf(before)
	got, _ := factsOf(after)
	for _, name := range slices.Concat(f.Files, old.Files) {
		if !slices.Contains(got.Files, name) {
			t.Fatalf("the file %s is not in %q", name, got.Files)
		}
	}
	if want := f.merge(old).Plan; got.Plan != want {
		t.Fatalf("the plan is %q, want %q", got.Plan, want)
	}
}

func TestClear_ShrinksAndTouchesOnlyOldResultsAndFiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := drawConversation(t)
		m := drawMeter(t, before)
		g := drawGoal(t, m, before)
		e, ok := Clear(m, before, g)
		if g.Met(m, before) && ok {
			t.Fatal("got an edit although the goal was met")
		}
		if !ok {
			return
		}
		after := applied(t, m, before, e)
		if len(after) != len(before) {
			t.Fatal("messages are missing")
		}
		changed, kept := map[int]bool{}, divide(m, before)
		for _, c := range e.Cleared {
			changed[c.Message] = true
			if c.Message >= kept.at(kept.old()) {
				t.Fatalf("message %d of the last rounds was cleared", c.Message)
			}
		}
		for i := range before {
			if before[i].Text() != after[i].Text() && before[i].Role != llm.RoleUser || !changed[i] && !reflect.DeepEqual(before[i], after[i]) {
				t.Fatalf("message %d changed", i)
			}
		}
	})
}

func TestFallback_ShrinksKeepsPinsAndStaysValidAtAnySize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := drawConversation(t)
		m := drawMeter(t, before)
		g, f := drawGoal(t, m, before), drawFacts(t)
		e, ok := Fallback(m, before, g, f)
		if !ok {
			return
		}
		after := applied(t, m, before, e)
		old, _ := factsOf(before)
		if need := required(m, before, f.merge(old), g); need <= g.target(m) {
			if !g.Met(m, after) {
				t.Fatalf("got %d tokens, want at most %d, of which %d are required\n%s\n%s", m.Weigh(after...), g.target(m), need, sketch(before), sketch(after))
			}
			if e.Replaced > 0 {
				checkFacts(t, before, after, f)
			}
		}
	})
}

// required estimates the minimum weight after an edit.
func required(m Meter, msgs []llm.Message, f Facts, g Goal) int64 {
	c := divide(m, msgs)
	pins := msgs[:c.head:c.head]
	if c.newest >= 0 {
		pins = append(pins, c.of(c.units[c.newest])...)
	}
	for _, u := range c.units {
		if u.kind == instruction {
			pins = append(pins, c.of(u)...)
		}
	}
	pins = append(pins, msgs[c.at(c.mandatory()):]...)
	pins = append(pins, record{facts: f}.message())
	return m.Weigh(pins...) + c.room(g.target(m))/8 + 120
}

func TestFallback_MeetsTheGoalIfMandatoryMessagesFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := drawConversation(t)
		m := drawMeter(t, before)
		g, f := drawGoal(t, m, before), drawFacts(t)
		old, _ := factsOf(before)
		if g.Met(m, before) || required(m, before, f.merge(old), g) > g.target(m) {
			return
		}
		if _, ok := Fallback(m, before, g, f); !ok {
			t.Fatalf("%d tokens were not reduced to %d\n%s", m.Weigh(before...), g.target(m), sketch(before))
		}
	})
}

func TestSummary_ShrinksKeepsPinsAndStaysValidWhateverTheModelWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := drawConversation(t)
		m := drawMeter(t, before)
		g, f := drawGoal(t, m, before), drawFacts(t)
		s, ok := Prepare(m, before, g)
		if !ok {
			return
		}
		checkRequest(t, m, before, s, g)
		text := rapid.SampledFrom([]string{
			"", " \n\t", "Goal: all.", strings.Repeat("word ", 100), strings.Repeat("huge ", 100_000), "\xff\xfe\x00", "## Plan\n\nmine",
			heading, bodyTitle, filesTitle + "- x", "世界" + strings.Repeat("🎉", 300), `{"tool_use":[`,
		}).Draw(t, "summary")
		e, err := s.Finish(llm.AssistantText(text), llm.FinishStop, f)
		if err != nil {
			return
		}
		if strings.TrimSpace(text) == "" {
			t.Fatalf("the empty summary %q was accepted", text)
		}
		after := applied(t, m, before, e)
		checkFacts(t, before, after, f)
		checkPins(t, m, before, after, g)
	})
}

// checkRequest checks the request for a summary.
func checkRequest(t *rapid.T, m Meter, before []llm.Message, s Summary, g Goal) {
	n := len(s.Messages) - 1
	if err := wellFormed(s.Messages); err != nil {
		t.Fatalf("the request for a summary: %v\n%s\n%s", err, sketch(before), sketch(s.Messages))
	}
	if err := newlyRefused(before, s.Messages, "high"); err != nil {
		t.Fatalf("the request for a summary: %v\n%s", err, sketch(s.Messages))
	}
	if w := m.Weigh(s.Messages...) + m.Overhead(); g.Request > 0 && w > g.Request {
		t.Fatalf("the request for a summary has %d tokens, want at most %d", w, g.Request)
	}
	whole := append(slices.Clone(before[:s.c.at(s.l.n)]), s.Messages[n])
	// Prepare weighs the parts one by one, so it may round up once for each message.
	if fits := g.Request <= 0 || m.Weigh(whole...)+int64(len(whole))+m.Overhead() <= g.Request; fits && !reflect.DeepEqual(s.Messages, whole) {
		t.Fatal("the request for a summary is not a prefix of the conversation although it fits")
	}
	if s.Messages[n].Role != llm.RoleUser {
		t.Fatal("the prompt is not a user message")
	}
}

// checkPins checks that all user messages are kept if they fit their budget.
func checkPins(t *rapid.T, m Meter, before, after []llm.Message, g Goal) {
	all := userMessages(before)
	c := divide(m, before)
	least := shares(c.room(g.target(m)))[3].pins
	var sum int64
	for _, msg := range all {
		sum += m.Weigh(msg)
	}
	if sum > least {
		return
	}
	if got := userMessages(after); !reflect.DeepEqual(got, all) && g.Met(m, after) && least > 0 {
		t.Fatalf("%d user messages became %d", len(all), len(got))
	}
}

func TestCompactingAgain_KeepsOneSummaryAndTheFacts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m Meter
		msgs := []llm.Message{llm.SystemText("Be good."), llm.UserText("the task")}
		unique := 0
		f := Facts{Files: []string{"first.go"}, Plan: "- [ ] the plan"}
		for range rapid.IntRange(2, 4).Draw(t, "compactions") {
			for range rapid.IntRange(3, 6).Draw(t, "rounds") {
				msgs = append(msgs, drawRound(t, &unique)...)
			}
			goal := Goal{Tokens: max(4000, m.Weigh(msgs...)/3)}
			var e Edit
			ok := false
			if rapid.Bool().Draw(t, "model") {
				if s, can := Prepare(m, msgs, goal); can {
					var err error
					e, err = s.Finish(llm.AssistantText("the summary"), llm.FinishStop, f)
					ok = err == nil
				}
			} else {
				e, ok = Fallback(m, msgs, goal, f)
			}
			if !ok {
				continue
			}
			msgs = applied(t, m, msgs, e)
			if !contains(msgs, llm.UserText("the task")) {
				t.Fatal("the task is lost")
			}
			got, found := factsOf(msgs)
			if found && (got.Plan != "- [ ] the plan" || !slices.Equal(got.Files, []string{"first.go"})) {
				t.Fatalf("got facts %+v, want the first ones", got)
			}
			if found {
				f = Facts{} // from now on only the summary contains them
			}
		}
	})
}
