package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/reins-agent/reins/event"
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
	// ask shows a question, until the function that it returns is called.
	ask(question string) (answered func())
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

func (v *jsonView) ask(question string) func() {
	fmt.Fprint(v.questions, question)
	return func() {}
}

func (v *jsonView) print(value any) error {
	b, err := json.Marshal(value)
	if err != nil {
		return err
	}
	_, err = v.w.Write(append(escapeDeceptive(b), '\n'))
	return err
}

// escapeDeceptive writes those characters of a JSON text as escapes that a terminal would act on.
// They can stand only in strings, and mean the same there.
func escapeDeceptive(b []byte) []byte {
	if bytes.IndexFunc(b, deceptive) < 0 {
		return b
	}
	out := make([]byte, 0, len(b)+32)
	for _, r := range string(b) {
		switch {
		case !deceptive(r):
			out = append(out, string(r)...)
		case r > 0xFFFF:
			r -= 0x10000
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xD800+r>>10, 0xDC00+r&0x3FF)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}
