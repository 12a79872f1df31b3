package cli

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"
)

// typing returns a keyboard, and a writer to type on it.
func typing(t *testing.T) (*keyboard, *io.PipeWriter) {
	r, w := io.Pipe()
	t.Cleanup(func() { w.Close() })
	return &keyboard{in: r}, w
}

func TestKeyboard_LineIsAnAnswerOnlyWhileAQuestionWaits(t *testing.T) {
	k, w := typing(t)
	steered := make(chan string, 10)
	k.listen(func(line string) { steered <- line })
	io.WriteString(w, "first\n\n")
	if got := <-steered; got != "first" {
		t.Errorf("the agent got %q", got)
	}
	hidden := false
	answer, err := k.ask(t.Context(), func() func(bool) {
		go io.WriteString(w, " yes \nsecond\n")
		return func(answered bool) { hidden = answered }
	})
	if answer != "yes" || err != nil || !hidden {
		t.Errorf("the answer is %q (%v); the question is gone: %v", answer, err, hidden)
	}
	if got := <-steered; got != "second" {
		t.Errorf("after the answer the agent got %q", got)
	}
}

func TestKeyboard_QuestionEndsWithItsContextAndTheNextOneIsAnswered(t *testing.T) {
	k, w := typing(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	_, err := k.ask(ctx, func() func(bool) { cancel(errInterrupted); return func(bool) {} })
	if !errors.Is(err, errInterrupted) {
		t.Errorf("the error is %v", err)
	}
	answer, err := k.ask(t.Context(), func() func(bool) { go io.WriteString(w, "n\n"); return func(bool) {} })
	if answer != "n" || err != nil {
		t.Errorf("the answer is %q (%v)", answer, err)
	}
}

func TestKeyboard_ClosedTerminalGivesNoAnswer(t *testing.T) {
	k, w := typing(t)
	_, err := k.ask(t.Context(), func() func(bool) { w.Close(); return func(bool) {} })
	if !errors.Is(err, errNoAnswer) {
		t.Errorf("the error is %v", err)
	}
	if _, err := k.ask(t.Context(), func() func(bool) { return func(bool) {} }); !errors.Is(err, errNoAnswer) {
		t.Errorf("the next error is %v", err)
	}
}

func TestChoice_IsOneOfTheLettersOrForTheModel(t *testing.T) {
	for answer, want := range map[string]choice{
		"y": {allow: true}, " YES ": {allow: true}, "a": {allow: true, all: true},
		"": {message: "the user said no"}, "No": {message: "the user said no"},
		"use b.txt": {message: "the user said: use b.txt"},
	} {
		if got := parseChoice(answer); got != want {
			t.Errorf("%q means %+v, want %+v", answer, got, want)
		}
	}
}

func TestKeyboard_LineFromBeforeTheQuestionIsNotItsAnswer(t *testing.T) {
	var steered string
	k := &keyboard{steer: func(line string) { steered = line }}
	answer := make(chan string, 1)
	k.answer, k.asked = answer, time.Now()
	k.deliver("y\n", k.asked.Add(-time.Millisecond))
	if len(answer) > 0 || steered != "y" {
		t.Errorf("%d answers; the agent got %q", len(answer), steered)
	}
	k.deliver("n\n", k.asked.Add(time.Millisecond))
	if got := <-answer; got != "n\n" {
		t.Errorf("the answer is %q", got)
	}
}
