package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/host/show"
)

// view shows a run.
type view interface {
	// worksIn says that the work is done in a directory which is not the present one.
	worksIn(dir string)
	// recall takes in an event that was shown to whoever watched then.
	recall(r event.Record)
	// show shows an event. An error says that nobody can see it.
	show(r event.Record) error
	// finish shows the result. Nothing is shown after it.
	finish(r result) error
	// ask shows a question, until the function that it returns is called, with whether it was
	// answered. Nothing else is shown meanwhile.
	ask(question string) (done func(answered bool))
	// typed says that a line was typed, which has moved the cursor to the next one.
	typed()
	// saw says that a question has shown a diff, which need not be shown again when it is made true.
	saw(diff string)
}

func newView(h Host, output string) (view, error) {
	switch output {
	case "text":
		return newTextView(h), nil
	case "json":
		return &jsonView{w: h.Stdout, questions: h.Stderr}, nil
	case "stream-json":
		return &jsonView{w: h.Stdout, questions: h.Stderr, events: true}, nil
	}
	return nil, usagef("--output is %q; it is text, json or stream-json", output)
}

// jsonView prints the result as JSON, and before it the events, one per line.
type jsonView struct {
	w, questions io.Writer
	events       bool

	mu       sync.Mutex
	finished bool
}

func (*jsonView) worksIn(string) {} // the events tell it

func (*jsonView) recall(event.Record) {}

func (v *jsonView) show(r event.Record) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.events || v.finished {
		return nil
	}
	return v.print(r)
}

func (v *jsonView) finish(r result) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.finished = true
	return v.print(r)
}

func (v *jsonView) ask(question string) func(bool) {
	fmt.Fprint(v.questions, question)
	return func(answered bool) {
		if !answered {
			fmt.Fprintln(v.questions)
		}
	}
}

func (*jsonView) typed() {}

func (*jsonView) saw(string) {}

func (v *jsonView) print(value any) error {
	b, err := json.Marshal(value)
	if err != nil {
		return err
	}
	_, err = v.w.Write(append(show.EscapeJSON(b), '\n'))
	return err
}
