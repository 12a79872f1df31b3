package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
)

// crashing is a view that fails over its first event.
type crashing struct {
	how    func() error
	result result
}

func (c *crashing) show(event.Record) error { return c.how() }
func (c *crashing) finish(r result) error   { c.result = r; return nil }
func (c *crashing) ask(string) func()       { return func() {} }
func (c *crashing) recall(event.Record)     {}
func (c *crashing) worksIn(string)          {}

func TestRun_EndsWithAResultWhenReinsItselfFails(t *testing.T) {
	for name, how := range map[string]func() error{
		"panic": func() error { panic("oops") },
		"error": func() error { return errors.New("oops") },
	} {
		server := llmtest.NewServer(&llmtest.Script{Reply: reply})
		v := &crashing{how: how}
		h := Host{Stdin: strings.NewReader(""), Getenv: func(string) string { return canary }}
		o := run{connection: connection{provider: "anthropic", baseURL: server.BaseURL("anthropic")}, dir: t.TempDir(), noSave: true}
		err := newRunner(h, v, o).run(t.Context(), []string{"ping"})
		server.Close()
		if exitCode(t.Context(), err) != exitFailed {
			t.Errorf("%s: the error is %v", name, err)
		}
		if v.result.Type != "result" || v.result.Outcome != "failed" || !strings.Contains(v.result.Error.Message, "oops") {
			t.Errorf("%s: the result is %+v", name, v.result)
		}
	}
}

func TestText_AnswerThatIsBrokenOffAndBegunAgain(t *testing.T) {
	var out, side bytes.Buffer
	v := &textView{out: &out, side: &side, live: true, calls: openCalls{}}
	for _, d := range []event.Data{
		event.TextDelta{Text: "Hal"}, event.ModelRetry{Delay: time.Second, Discard: true, Error: event.Error{Message: "cut"}},
		event.TextDelta{Text: "He"}, event.TextDelta{Text: "ll"}, // the rest was lost on the way to a slow reader
		event.TextEnd{Message: llm.AssistantText("Hello")},
	} {
		if err := v.show(event.Record{Data: d}); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := out.String(), "Hal [broken off]\nHello\n"; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
	if got, want := side.String(), "· cut; trying again in 1s\n"; got != want {
		t.Errorf("it shows %q, want %q", got, want)
	}
}

func TestPrompt_SilentInputIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent, w := io.Pipe()
		defer w.Close() // lets the reading end, which cannot be broken off
		if text, err := readInput(t.Context(), silent, time.Minute); text != "" || err != nil {
			t.Errorf("a silent input gives %q (%v)", text, err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		slow, w := io.Pipe()
		go func() {
			io.WriteString(w, "slow")
			time.Sleep(time.Hour)
			io.WriteString(w, "ly")
			w.Close()
		}()
		if text, err := readInput(t.Context(), slow, time.Minute); text != "slowly" || err != nil {
			t.Errorf("a slow input gives %q (%v)", text, err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Hour, errDeadline)
		defer cancel()
		silent, w := io.Pipe()
		defer w.Close()
		if _, err := readInput(ctx, silent, 0); !errors.Is(err, errDeadline) {
			t.Errorf("an input that was asked for ends with %v", err)
		}
	})
}

func FuzzVisible_NothingActsOnTheTerminal(f *testing.F) {
	f.Add("a\x1b[2J\r\n\tb\u009b\u202e\U000E0041\xff")
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range visible(s) {
			if r != '\n' && r != '\t' && (unicode.IsControl(r) || deceptive(r)) {
				t.Errorf("%q is left of %q", r, s)
			}
		}
		if strings.ContainsAny(summary(s)+inLine(s), "\n\t") {
			t.Errorf("%q is more than one line", summary(s))
		}
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		escaped := escapeDeceptive(b)
		if bytes.IndexFunc(escaped, deceptive) >= 0 {
			t.Errorf("control characters are left in %q", escaped)
		}
		var before, after string
		if json.Unmarshal(b, &before) != nil || json.Unmarshal(escaped, &after) != nil || before != after {
			t.Errorf("%q means another text than %q", escaped, b)
		}
	})
}

func TestStatus_FitsTheTerminal(t *testing.T) {
	for text, want := range map[string]string{"abcdef": "abcd", "ab": "ab", "日本語": "日本", "⠋⠙⠹⠸⠼": "⠋⠙⠹⠸", "": ""} {
		if got := fit(text, 4); got != want {
			t.Errorf("fit(%q, 4) = %q, want %q", text, got, want)
		}
	}
}

func TestStatus_LongCommandLeavesRoomForTimeAndPrice(t *testing.T) {
	s := status{what: "shell " + strings.Repeat("go test ./… && ", 10)}
	s.count(event.Record{Data: event.ModelCallEnd{Usage: llm.Usage{Input: 171_000, CacheRead: 148_000, Output: 4000}, Cost: new(0.3187)}})
	const rest = " · 1m15s · 171.0k tokens in (87% cached), 4.0k out · $0.3187"
	for _, width := range []int{79, 119} {
		line := s.line(75*time.Second, width)
		if columns(line) > width || !strings.HasSuffix(line, "…"+rest) || !strings.HasPrefix(line, "⠋ shell go te") {
			t.Errorf("in %d columns it is %q", width, line)
		}
	}
	if line := s.line(75*time.Second, 30); columns(line) != 30 || !strings.HasPrefix(line, "⠋ shell go te… · 1m15s") {
		t.Errorf("in a narrow terminal it is %q", line)
	}
	s.what = ""
	if line := s.line(75*time.Second, 79); line != "⠋ working"+rest {
		t.Errorf("without a tool it is %q", line)
	}
}
