package main

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/internal/tui/tuitest"
)

func TestReplies_AnswersQueriesAsATerminalDoes(t *testing.T) {
	e := tuitest.New(columns, rows)
	_, _ = e.Write([]byte("\x1b[3;5H"))
	const queries = "a\x1b[6n\x1b[c\x1b[?u\x1b]11;?\x07\x1b[?2026$p\x1b[?2027$p"
	const want = "\x1b[3;5R\x1b[?62;22c\x1b]11;rgb:1111/1111/1111\x1b\\\x1b[?2026;2$y\x1b[?2027;0$y"
	if got := replies([]byte(queries), e); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestScreen_SeesKeysAndTheModesThatAreLeft(t *testing.T) {
	for script, want := range map[string][]string{
		`printf '\033[?1049h'; read x; printf "seen $x\033[?1049l"`:     nil,
		`stty raw; printf '\033[?2004h\033[?25l'; head -c 1; echo seen`: {"?2004", "?25", "tty"},
	} {
		s, err := launch([]string{"sh", "-c", script}, []string{"PATH=/usr/bin:/bin"}, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		s.record(true)
		s.press("x\n")
		<-s.exited
		<-s.closed
		if got := s.recorded(); !strings.Contains(got, "seen") {
			t.Errorf("%s: recorded %q", script, got)
		}
		if got := s.left(); !slices.Equal(got, want) {
			t.Errorf("%s: left %q, want %q", script, got, want)
		}
		s.end()
	}
}

func TestServer_StreamsAndNotesCancellation(t *testing.T) {
	s, err := newServer()
	if err != nil {
		t.Fatal(err)
	}
	defer s.http.Close()
	s.play(answer{pieces: []string{"one ", "two"}, gap: time.Microsecond, hold: true})
	r, err := http.Post(s.URL+"/v1/messages", "application/json", strings.NewReader(`{"tools":[{}]}`))
	if err != nil {
		t.Fatal(err)
	}
	c, ok := s.until(func(calls []*call) bool { return len(calls) == 1 && !calls[0].began.IsZero() }, time.Minute)
	if !ok || !strings.Contains(string(c.body), "tools") || c.began.Before(c.arrived) {
		t.Errorf("got %+v, %v", c, ok)
	}
	r.Body.Close()
	if c, ok = s.until(func(calls []*call) bool { return !calls[0].canceled.IsZero() }, time.Minute); !ok || !c.ended.IsZero() {
		t.Errorf("got %+v, %v", c, ok)
	}
}

func TestMedian_OfNumbersOrWords(t *testing.T) {
	n := func(x float64) value { return value{number: x, format: "%.1f ms"} }
	for want, list := range map[string][]value{
		"2.0 ms": {n(3), n(1), n(2)},
		"never":  {n(3), {words: "never"}},
		"–":      nil,
	} {
		if got := median(list); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
