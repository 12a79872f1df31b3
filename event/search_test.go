package event_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/tool"
)

// hits returns a query's hits as "session where seq snippet" with the match in brackets.
func hits(t *testing.T, s event.Store, q event.Query) []string {
	t.Helper()
	var out []string
	for h, err := range event.Search(t.Context(), s, q) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, describe(h))
	}
	return out
}

func describe(h event.Hit) string {
	return fmt.Sprintf("%s %s %d %s[%s]%s", h.Session.ID, h.Where, h.Seq, h.Text[:h.Start], h.Text[h.Start:h.End], h.Text[h.End:])
}

func equal(t *testing.T, want, got []string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the hits differ (-want +got):\n%s", diff)
	}
}

func TestSearch_FindsTextOfUserModelAndTools(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			save(t, s, event.Meta{ID: "a", Title: "The Fox", Prompt: "a fox?", Summary: "of foxes", Tags: []string{"foxy", "x"}},
				event.SessionStart{System: "no fox here"},
				event.UserInput{Message: llm.UserText("a fox?")},
				event.TextEnd{Message: llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{
					llm.Thinking{Text: "fox"}, llm.Text{Text: "Quick FOX."}, llm.ToolCall{ID: "c", Name: "grep", Arguments: `{"pattern":"Fox"}`}}}},
				event.ToolCallStart{ID: "c", Name: "foxhunt", Arguments: json.RawMessage(`{"fox":1,"all":{"fox":[true,"a \"f\u006fx\""]}}`)},
				event.ToolCallEnd{ID: "c", Name: "grep", Output: tool.Text("the fox that the model did not see"), Model: "a line\nwith a\n\tfox in it"},
				event.ToolCallEnd{ID: "d", Name: "grep", Error: &tool.Error{Code: "x", Message: "no such fox"}},
				event.SteeringInjected{Message: llm.UserText("faster, fox")},
				event.Warning{Message: "fox"},
			)
			equal(t, []string{
				"a title 0 The [Fox]",
				"a summary 0 of [fox]es",
				"a tag 0 [fox]y",
				"a user 2 a [fox]?",
				"a assistant 3 Quick [FOX].",
				`a arguments 4 a "[fox]"`,
				"a output 5 a line with a [fox] in it",
				"a output 6 no such [fox]",
				"a user 7 faster, [fox]",
			}, hits(t, s, event.Query{Text: "fOx"}))
		})
	}
}

func TestSearch_NewestSessionFirstAndFiltered(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			for i, m := range []event.Meta{
				{ID: "a", Dir: "/x", Tags: []string{"t"}}, {ID: "b", Dir: "/y", Tags: []string{"t", "u"}}, {ID: "c", Dir: "/x"},
			} {
				w, err := s.Create(t.Context(), m)
				if err != nil {
					t.Fatal(err)
				}
				now := time.Now().Add(time.Duration(i) * time.Hour)
				for seq := range event.Seq(2) {
					r := event.Record{Seq: seq + 1, Time: now, Session: m.ID, Data: event.UserInput{Message: llm.UserText("word")}}
					if err := w.Append(t.Context(), r); err != nil {
						t.Fatal(err)
					}
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
			}
			for _, c := range []struct {
				query event.Query
				want  string
			}{
				{event.Query{}, "c1 c2 b1 b2 a1 a2"},
				{event.Query{Dir: "/x"}, "c1 c2 a1 a2"},
				{event.Query{Tag: "t"}, "b1 b2 a1 a2"},
				{event.Query{Tag: "t", Dir: "/x"}, "a1 a2"},
				{event.Query{Limit: 3}, "c1 c2 b1"},
				{event.Query{PerSession: 1}, "c1 b1 a1"},
				{event.Query{PerSession: 1, Limit: 2}, "c1 b1"},
				{event.Query{Dir: "/none"}, ""},
			} {
				c.query.Text = "WORD"
				var got []string
				for h, err := range event.Search(t.Context(), s, c.query) {
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, fmt.Sprint(h.Session.ID, h.Seq))
				}
				if strings.Join(got, " ") != c.want {
					t.Errorf("%+v found %v, want %s", c.query, got, c.want)
				}
			}
		})
	}
}

func TestSearch_PromptIsReportedOnce(t *testing.T) {
	s := new(event.Memory)
	save(t, s, event.Meta{ID: "same", Prompt: "a word"}, event.UserInput{Message: llm.UserText("a word")}, event.UserInput{Message: llm.UserText("word again")})
	equal(t, []string{"same user 1 a [word]", "same user 2 [word] again"}, hits(t, s, event.Query{Text: "word"}))
	s = new(event.Memory)
	save(t, s, event.Meta{ID: "other", Prompt: "a word"}, event.UserInput{Message: llm.UserText("something else")}, event.UserInput{Message: llm.UserText("word again")})
	equal(t, []string{"other prompt 0 a [word]", "other user 2 [word] again"}, hits(t, s, event.Query{Text: "word"}))
	s = new(event.Memory)
	save(t, s, event.Meta{ID: "none", Prompt: "a word"})
	equal(t, []string{"none prompt 0 a [word]"}, hits(t, s, event.Query{Text: "word"}))
}

func TestSearch_SnippetsAreOneLineAndIgnoreCase(t *testing.T) {
	family := "👩\u200d👩\u200d👧"
	for _, c := range []struct{ text, query, want string }{
		{strings.Repeat("ab ", 40) + "needle" + strings.Repeat(" cd", 40), "NEEDLE", "…" + strings.Repeat("ab ", 16) + "[needle]" + strings.Repeat(" cd", 16) + "…"},
		{"x\r\n\t y\n needle\n\n z ", "needle", "x y [needle] z"},
		{"two\n words", "two\n w", "[two w]ords"},
		{family + strings.Repeat("x", 46) + "needle", "needle", "…👧" + strings.Repeat("x", 46) + "[needle]"},
		{"needle" + strings.Repeat("x", 47) + "e\u0301" + "yy", "needle", "[needle]" + strings.Repeat("x", 47) + "e…"},
		{"\xff\xfeneedle\xff", "needle", "\ufffd\ufffd[needle]\ufffd"},
		{"ΣΊΣΥΦΟΣ", "σίσυφος", "[ΣΊΣΥΦΟΣ]"},
		{"100 \u212A", "100 k", "[100 \u212A]"},
		{"straſſe", "STRASSE", "[straſſe]"},
		{"ПРИВЕТ, мир", "привет", "[ПРИВЕТ], мир"},
		{"日本語のテスト", "テスト", "日本語の[テスト]"},
		{"aaab", "AAB", "a[aab]"},
	} {
		s := new(event.Memory)
		save(t, s, event.Meta{ID: "a"}, event.UserInput{Message: llm.UserText(c.text)})
		equal(t, []string{"a user 1 " + c.want}, hits(t, s, event.Query{Text: c.query}))
	}
}

func TestSearch_ContinuesAfterDamage(t *testing.T) {
	dir := t.TempDir()
	s := newFiles(t, dir)
	save(t, s, event.Meta{ID: "a"}, event.UserInput{Message: llm.UserText("word one")}, event.Warning{Message: "spoiled"}, event.UserInput{Message: llm.UserText("word two")})
	save(t, s, event.Meta{ID: "b"}, event.UserInput{Message: llm.UserText("word three")})
	damage(t, dir, "a", "spoiled")
	var got []string
	var corrupt *event.CorruptError
	for h, err := range event.Search(t.Context(), s, event.Query{Text: "word"}) {
		if errors.As(err, &corrupt) {
			got = append(got, "damage in "+h.Session.ID)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, describe(h))
	}
	equal(t, []string{"b user 1 [word] three", "a user 1 [word] one", "damage in a", "a user 3 [word] two"}, got)
}

func TestSearch_Stops(t *testing.T) {
	s := new(event.Memory)
	for i := range 3 {
		save(t, s, event.Meta{ID: fmt.Sprint("s", i), Title: "word"}, event.UserInput{Message: llm.UserText("word")}, event.UserInput{Message: llm.UserText("word")})
	}
	for most := 1; most <= 9; most++ {
		n := 0
		for range event.Search(t.Context(), s, event.Query{Text: "word"}) {
			if n++; n == most {
				break
			}
		}
		if n != most {
			t.Errorf("%d hits, want %d", n, most)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	n := 0
	for _, err := range event.Search(ctx, s, event.Query{Text: "word"}) {
		n++
		last = err
		cancel()
	}
	if !errors.Is(last, context.Canceled) || n > 3 {
		t.Errorf("after %d steps: %v", n, last)
	}
	for _, err := range event.Search(t.Context(), s, event.Query{}) {
		if err == nil {
			t.Error("an empty text is accepted")
		}
	}
}
