package keyboard

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// desk is a keyboard, and what happens to the keys that are pressed on it.
type desk struct {
	Keyboard
	w       *io.PipeWriter
	steered []string

	showing sync.Mutex
	shown   string
}

// screen returns what was shown.
func (d *desk) screen() string {
	d.showing.Lock()
	defer d.showing.Unlock()
	return d.shown
}

func (d *desk) print(text string) {
	d.showing.Lock()
	defer d.showing.Unlock()
	d.shown += text
}

func newDesk(t *testing.T) *desk {
	r, w := io.Pipe()
	t.Cleanup(func() { w.Close(); synctest.Wait() })
	d := &desk{w: w}
	d.In = r
	d.Words = []string{"yes", "no"}
	d.Listen(func(line string) { d.steered = append(d.steered, line) })
	return d
}

// press types keys and waits until they have been handled.
func (d *desk) press(keys string) {
	io.WriteString(d.w, keys)
	synctest.Wait()
}

var errGone = errors.New("gone")

type answered struct {
	line string
	err  error
}

// question asks, and returns where the answer will be.
func (d *desk) question(ctx context.Context) <-chan answered {
	c := make(chan answered, 1)
	go func() {
		line, err := d.Ask(ctx, "Allow? ", d.print)
		c <- answered{line, err}
	}()
	synctest.Wait()
	return c
}

// pass lets time pass.
func pass(d time.Duration) {
	time.Sleep(d) // of the clock of synctest
	synctest.Wait()
}

func TestKeyboard_LineIsAnAnswerOnlyWhileAQuestionWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.press("first\n\n")
		answer := d.question(t.Context())
		pass(500 * time.Millisecond)
		if got := d.screen(); got != "Allow? " {
			t.Errorf("it shows %q", got)
		}
		d.press(" yes \nsecond\n")
		if got := <-answer; got != (answered{"yes", nil}) {
			t.Errorf("the answer is %+v", got)
		}
		if want := []string{"first", "second"}; !slices.Equal(d.steered, want) {
			t.Errorf("the agent got %q, want %q", d.steered, want)
		}
	})
}

func TestKeyboard_KeysAcrossAQuestionDoNotAnswerIt(t *testing.T) {
	for name, c := range map[string]struct {
		keys    string
		steered []string
	}{
		"answers":              {strings.Repeat("y\n", 30), nil},
		"lines":                {"first\nthis\nand y\n", []string{"first", "this", "and y"}},
		"a line and an answer": {"this\ny\n", []string{"this"}},
		"blank lines":          {strings.Repeat("\n", 40), nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t)
				var answer <-chan answered
				line := ""
				for i, key := range []byte(c.keys) {
					if i == 3 {
						answer = d.question(t.Context())
					}
					if line += string(key); key == '\n' { // as a terminal delivers it
						d.press(line)
						line = ""
					}
					pass(time.Second / 20)
				}
				if i := slices.Index(d.steered, "y"); i == 0 { // typed before the question
					d.steered = d.steered[1:]
				}
				if len(answer) > 0 || !slices.Equal(d.steered, c.steered) {
					t.Errorf("%d answers; the agent got %q, want %q", len(answer), d.steered, c.steered)
				}
				pass(500 * time.Millisecond)
				d.press("n\n")
				if got := <-answer; got != (answered{"n", nil}) {
					t.Errorf("the answer is %+v", got)
				}
				if got := d.screen(); !strings.HasSuffix(got, "because it was typed before you could read the question\nAllow? ") {
					t.Errorf("it shows %q", got)
				}
			})
		})
	}
}

func TestKeyboard_TakesNoAnswerForHalfASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		answer := d.question(t.Context())
		pass(499 * time.Millisecond)
		if d.press("y\n"); len(answer) > 0 || len(d.steered) > 0 {
			t.Errorf("%d answers; the agent got %q", len(answer), d.steered)
		}
		pass(499 * time.Millisecond)
		if d.press("no, use b.txt\n"); len(answer) > 0 || !slices.Equal(d.steered, []string{"no, use b.txt"}) {
			t.Errorf("%d answers; the agent got %q", len(answer), d.steered)
		}
		pass(499 * time.Millisecond)
		if strings.Contains(d.screen(), "Allow?") {
			t.Errorf("it shows %q", d.screen())
		}
		pass(time.Millisecond)
		if d.press("y\n"); len(answer) != 1 {
			t.Error("no answer")
		}
	})
}

func TestKeyboard_QuestionEndsWithItsContextAndTheNextOneIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		answer := d.question(ctx)
		cancel(errGone)
		if got := <-answer; !errors.Is(got.err, errGone) {
			t.Errorf("got %+v", got)
		}
		answer = d.question(t.Context())
		pass(500 * time.Millisecond)
		d.press("n\n")
		if got := <-answer; got != (answered{"n", nil}) {
			t.Errorf("got %+v", got)
		}
	})
}

func TestKeyboard_ClosedTerminalGivesNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		answer := d.question(t.Context())
		d.w.Close()
		if got := <-answer; !errors.Is(got.err, ErrNoAnswer) {
			t.Errorf("got %+v", got)
		}
		if got := <-d.question(t.Context()); !errors.Is(got.err, ErrNoAnswer) {
			t.Errorf("then got %+v", got)
		}
	})
}

func TestKeyboard_LineThatWasBegunTooEarlyIsNotAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		answer := d.question(t.Context())
		pass(500 * time.Millisecond)
		d.press("y") // a terminal delivers the beginning of a line only if it was pushed
		if d.press("\n"); len(answer) > 0 {
			t.Errorf("the answer is %+v", <-answer)
		}
		pass(500 * time.Millisecond)
		d.press("y\n")
		if got := <-answer; got != (answered{"y", nil}) {
			t.Errorf("the answer is %+v", got)
		}
	})
}

func TestKeyboard_CtrlDEndsTheInputOnlyWithoutAQuestion(t *testing.T) {
	for _, asks := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			closed := false
			k := &Keyboard{In: &sometimes{texts: []string{"", "later\n"}}, EndsWithInput: true, Closed: func() { closed = true }}
			var got []string
			steer := func(line string) { got = append(got, line) }
			if asks {
				k.question = &prompt{answer: make(chan string, 1), show: func(string) {}}
			}
			k.Listen(steer)
			synctest.Wait()
			if want := asks; slices.Contains(got, "later") != want || !closed {
				t.Errorf("with a question %v: got %q, closed %v", asks, got, closed)
			}
		})
	}
}

func TestKeyboard_TheLastLineMayLackItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.press("a\nb")
		d.w.Close()
		synctest.Wait()
		if want := []string{"a", "b"}; !slices.Equal(d.steered, want) {
			t.Errorf("got %q, want %q", d.steered, want)
		}
	})
}

// sometimes is a terminal on which texts are typed. An empty text is ctrl-d.
type sometimes struct{ texts []string }

func (s *sometimes) Read(b []byte) (int, error) {
	if len(s.texts) == 0 {
		return 0, io.EOF
	}
	text := s.texts[0]
	s.texts = s.texts[1:]
	if text == "" {
		return 0, io.EOF
	}
	return copy(b, text), nil
}
