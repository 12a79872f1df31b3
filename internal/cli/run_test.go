package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/reins-agent/reins/config"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
)

// crashing is a view that fails on its first event.
type crashing struct {
	how    func() error
	result result
}

func (c *crashing) show(event.Record) error { return c.how() }
func (c *crashing) finish(r result) error   { c.result = r; return nil }
func (c *crashing) ask(string) func(bool)   { return func(bool) {} }
func (c *crashing) replay(event.Record)     {}
func (c *crashing) workingIn(string)        {}
func (c *crashing) sawDiff(string)          {}
func (c *crashing) typed()                  {}
func (c *crashing) prompt(string)           {}

func TestRun_EndsWithAResultWhenReinsItselfFails(t *testing.T) {
	for name, how := range map[string]func() error{
		"panic": func() error { panic("oops") },
		"error": func() error { return errors.New("oops") },
	} {
		server := llmtest.NewServer(&llmtest.Script{Reply: reply})
		v := &crashing{how: how}
		state := t.TempDir()
		h := Host{Stdin: strings.NewReader(""), Stderr: io.Discard, systemDir: t.TempDir(), Getenv: func(name string) string {
			if name == "REINS_HOME" {
				return state
			}
			if strings.HasSuffix(name, "_API_KEY") {
				return canary
			}
			return ""
		}}
		given := []config.Override{{Key: "provider", Value: "anthropic"}, {Key: "base_url", Value: server.BaseURL("anthropic")}}
		o := run{connection: connection{given: given}, dir: t.TempDir()}
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

func TestTextView_InterruptedAnswerIsMarkedAndPrintedAgain(t *testing.T) {
	var out, side bytes.Buffer
	v := &textView{out: &out, side: &side, live: true}
	for _, d := range []event.Data{
		event.ModelCallStart{},
		event.TextDelta{Text: "Hal"}, event.ModelRetry{Attempt: 3, Max: 11, Delay: 8 * time.Second, Discard: true, Error: event.Error{Message: "cut"}},
		event.TextDelta{Text: "He"}, event.TextDelta{Text: "ll"}, // a slow reader missed the rest
		event.TextEnd{Message: llm.AssistantText("Hello")},
	} {
		if err := v.show(event.Record{Data: d}); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := out.String(), "Hal [interrupted]\nHello\n"; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
	if got, want := side.String(), "· retrying in 8s (attempt 3 of 11): cut\n"; got != want {
		t.Errorf("it shows %q, want %q", got, want)
	}
}

func TestPrompt_SilentInputIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent, w := io.Pipe()
		defer w.Close() // ends the read, which cannot be interrupted
		if text, err := readInput(t.Context(), silent, time.Minute); text != "" || !errors.Is(err, errSilent) {
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

func TestPrompt_PipedInputJoinsIt(t *testing.T) {
	for _, c := range []struct {
		args  []string
		piped io.Reader
		want  string
	}{
		{[]string{"review", "this"}, strings.NewReader("a diff\n"), "review this\n\na diff\n"},
		{[]string{"-", "review this"}, strings.NewReader("a diff\n"), "review this\n\na diff\n"},
		{[]string{"review this"}, strings.NewReader(" \n"), "review this"},
		{[]string{"review this"}, iotest.ErrReader(errors.New("bad file descriptor")), "review this"},
		{[]string{"-"}, strings.NewReader("the task\n"), "the task\n"},
		{nil, strings.NewReader("the task\n"), "the task\n"},
	} {
		var side strings.Builder
		got, err := readPrompt(t.Context(), Host{Stdin: c.piped, Stderr: &side}, c.args)
		if got != c.want || err != nil || side.Len() > 0 {
			t.Errorf("%q: the prompt is %q, want %q (%v, %q)", c.args, got, c.want, err, side.String())
		}
	}
	huge := io.LimitReader(zeros{}, maxInput+1)
	if _, err := readPrompt(t.Context(), Host{Stdin: huge}, []string{"review"}); exitCode(t.Context(), err) != exitUsage || !strings.Contains(err.Error(), "larger than 8 MiB") {
		t.Errorf("an input that is too large: %v", err)
	}
}

// zeros is an endless input.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestPrompt_SilentPipeBesideAPromptIsLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent, w := io.Pipe()
		defer w.Close()
		var side strings.Builder
		got, err := readPrompt(t.Context(), Host{Stdin: silent, Stderr: &side}, []string{"go"})
		if got != "go" || err != nil || !strings.Contains(side.String(), "continuing without it") {
			t.Errorf("the prompt is %q (%v), and it says %q", got, err, side.String())
		}
	})
}

func TestStatus_LongCommandLeavesRoomForTimeAndPrice(t *testing.T) {
	var s status
	what := "shell " + strings.Repeat("go test ./… && ", 10)
	s.spent.Add(event.Record{Data: event.ModelCallEnd{Usage: llm.Usage{Input: 171_000, CacheRead: 148_000, Output: 4000}, Cost: new(0.3187)}})
	const rest = " · 1m15s · 171.0k tokens in (87% cached), 4.0k out · $0.3187"
	for _, width := range []int{79, 119} {
		line := s.line(what, 75*time.Second, width)
		if show.Width(line) > width || !strings.HasSuffix(line, "…"+rest) || !strings.HasPrefix(line, "⠋ shell go te") {
			t.Errorf("in %d columns it is %q", width, line)
		}
	}
	if line := s.line(what, 75*time.Second, 30); show.Width(line) != 30 || !strings.HasPrefix(line, "⠋ shell go te… · 1m15s") {
		t.Errorf("in a narrow terminal it is %q", line)
	}
	if line := s.line("working", 75*time.Second, 79); line != "⠋ working"+rest {
		t.Errorf("without a tool it is %q", line)
	}
}

func TestRun_SaysAllThatIsWrongWithItsFlagsInOneLine(t *testing.T) {
	_, stderr := newMachine(t).reins(exitUsage, "run", "--max-rounds=-1", "--timeout=-3s", "hello")
	if want := "reins: --max-rounds must not be negative; --timeout must not be negative\n"; stderr != want {
		t.Errorf("got %q, want %q", stderr, want)
	}
}
