package show

import (
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

func TestFormats(t *testing.T) {
	half, then := 0.5, time.Date(2026, 3, 4, 12, 0, 0, 0, time.Local)
	spent := event.Spent{Calls: 1, Usage: llm.Usage{Input: 10_000, CacheRead: 8000, Output: 5}, Dollars: 0.5}
	unpriced := spent
	unpriced.Unpriced, unpriced.Usage.CacheRead = 1, 0
	for _, c := range []struct{ got, want string }{
		{Price(nil), "?"},
		{Price(&half), "$0.5000"},
		{SmallPrice(0.0001), "$0.0001"},
		{SmallPrice(0.00001), "$0.0000100"},
		{Tokens(999), "999"},
		{Tokens(1000), "1.0k"},
		{Usage(spent), "10.0k tokens in (80% cached), 5 out · $0.5000"},
		{Usage(unpriced), "10.0k tokens in, 5 out · cost unknown"},
		{Plural(1, "file"), "1 file"},
		{Plural(0, "file"), "0 files"},
		{Ago(9*time.Second, then), "just now"},
		{Ago(10*time.Second, then), "10 s ago"},
		{Ago(time.Minute, then), "1 min ago"},
		{Ago(time.Hour, then), "1 h ago"},
		{Ago(24*time.Hour, then), "1 d ago"},
		{Ago(30*24*time.Hour, then), "2026-03-04"},
		{Duration(time.Microsecond), "<1ms"},
		{Duration(1234 * time.Microsecond), "1ms"},
		{Duration(1234 * time.Millisecond), "1.2s"},
		{Summary(strings.Repeat("x", 101)), strings.Repeat("x", 100) + "…"},
		{Summary("a\tb\nc"), "a b …"},
		{FirstLine(strings.Repeat("x", 501)), strings.Repeat("x", 500) + "…"},
		{Cut("abcdef", 4, false), "abc…"},
		{Cut("abcdef", 4, true), "…def"},
		{Diff("+a\n-b\n c\n", "> ", 1, false), "> +a\n> … 2 more lines\n"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestNotice_Formats(t *testing.T) {
	failed := event.Error{Message: "overloaded"}
	for _, c := range []struct {
		data event.Data
		want string
	}{
		{event.SessionResume{Interrupted: true, Lost: 2}, "resumed an interrupted session; 2 records could not be read"},
		{event.ModelFallback{From: "big", To: "small", Error: failed}, "big failed, using small: overloaded"},
		{event.ModelRetry{Error: failed, Delay: 2 * time.Second}, "overloaded; retried after 2s"},
		{event.Quarantine{What: "an image", Reason: "too large"}, "removed an image: too large"},
		{event.Rewind{Input: 7, Chat: true, Files: true}, "undone: conversation and files since @7"},
		{event.Rewind{Input: 7, Redo: true, Files: true, Paths: []string{"a", "b"}}, "redone: files a, b since @7"},
		{event.Compaction{Reason: "manual", Method: "digest", Before: 100_000, After: 9000}, "compacted (manual, digest): about 100.0k tokens reduced to 9.0k"},
		{event.Compaction{Reason: "threshold", Method: event.CompactionServer, Before: 100_000, After: 9000}, "compacted (threshold, by the provider): about 100.0k tokens reduced to 9.0k"},
		{event.ModelFallback{From: "big", To: "small", Error: event.Error{Message: "the model refused to answer (cyber)"}}, "big failed, using small: the model refused to answer (cyber)"},
		{event.Warning{Code: event.WarningPriceStep, Message: "tokens cost more now"}, "tokens cost more now"},
		{event.TurnLimit{Limit: event.LimitTurns, Value: 3}, "stopped at the limit of 3 model calls"},
		{event.TurnLimit{Limit: event.LimitToolRounds, Value: 1}, "stopped at the limit of 1 tool round"},
		{event.ApprovalResolved{Allowed: true}, ""},
		{event.ApprovalResolved{Reason: "no"}, "not approved: no"},
		{event.TextEnd{}, ""},
	} {
		if got := Notice(c.data); got != c.want {
			t.Errorf("%T: got %q, want %q", c.data, got, c.want)
		}
	}
}

func TestTable_TruncatesTheLastColumnToTheTerminal(t *testing.T) {
	table := &Table{Columns: []Column{{Title: "N", Right: true}, {Title: "TEXT"}}}
	table.Add("10", strings.Repeat("x", 40))
	for width, want := range map[int]string{
		0:  " N  TEXT\n10  " + strings.Repeat("x", 40) + "\n",
		30: " N  TEXT\n10  " + strings.Repeat("x", 25) + "…\n",
		5:  " N  TEXT\n10  " + strings.Repeat("x", 9) + "…\n", // at least 10
	} {
		var b strings.Builder
		if err := table.Print(&b, width, false); err != nil || b.String() != want {
			t.Errorf("width %d: got error %v and\n%swant\n%s", width, err, b.String(), want)
		}
	}
}

// TestTable_NarrowsColumnsWithAMaximum has a table like that of sessions, which must fit on a terminal of 80 columns.
func TestTable_NarrowsColumnsWithAMaximum(t *testing.T) {
	table := &Table{Columns: []Column{{Title: "ID"}, {Title: "DIRECTORY", Max: 32, Tail: true}, {Title: "STATE", Max: 20}, {Title: "TITLE"}}}
	table.Add(strings.Repeat("I", 26), "/home/me/src/github.com/example/project", "an unusual state", strings.Repeat("t", 40))
	for width, want := range map[int]string{
		120: strings.Repeat("I", 26) + "  …/src/github.com/example/project  an unusual state  " + strings.Repeat("t", 40) + "\n",
		80:  strings.Repeat("I", 26) + "  …b.com/example/project  an unusual state  ttttttttt…\n",
		60:  strings.Repeat("I", 19) + "…  …ple/project  an unusual …  ttttttttt…\n", // other columns last
	} {
		var b strings.Builder
		err := table.Print(&b, width, false)
		if _, row, _ := strings.Cut(b.String(), "\n"); err != nil || row != want {
			t.Errorf("width %d: got error %v and\n%swant\n%s", width, err, row, want)
		}
	}
}

func TestEvent_EndOfACallTellsARefusalAndWhatWasLeftOut(t *testing.T) {
	end := event.ModelCallEnd{Usage: llm.Usage{Input: 10, Output: 2}, Finish: llm.FinishContentFilter, Dropped: []llm.Dropped{{Reason: "a"}, {Reason: "b"}, {Reason: "a"}, {}}}
	const want = "10 tokens in, 2 out, ?; the model refused to answer; the server left out 4 thinking blocks: a, b"
	if got := Event(end); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTable_FitsTheTerminal(t *testing.T) {
	table := Table{Columns: []Column{{Title: "ID"}, {Title: "DIRECTORY"}, {Title: "COST", Right: true}, {Title: "TITLE"}}}
	table.Add("4TKZ6W2QJ5RHX3LDPAVN7YEMUC", "~/src/a/rather/long/directory/name", "$0.0498", "Find out why the parser fails")
	for _, width := range []int{60, 80, 120} {
		var b strings.Builder
		if err := table.Print(&b, width, false); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if n := Width(strings.TrimSuffix(line, "\n")); n > width || !strings.Contains(line, "COST") && !strings.Contains(line, "$0.0498") {
				t.Errorf("at %d columns a row has %d: %q", width, n, line)
			}
		}
	}
}

func TestRows_WrapBetweenWords(t *testing.T) {
	got := Rows("the quick brown fox jumps over the lazy dog and onewordthatismuchlongerthantherow", 20)
	want := []string{"the quick brown fox ", "    jumps over the ", "    lazy dog and ", "    onewordthatismuc", "    hlongerthanthero", "    w"}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, row := range got {
		if Width(row) > 20 {
			t.Errorf("%q is too wide", row)
		}
	}
}
