package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// keyboard reads the lines that are typed on the terminal during a run. A line that is typed while a
// question waits is its answer; all others go to steer.
type keyboard struct {
	in io.Reader

	mu      sync.Mutex
	reading bool
	steer   func(line string) // nil drops lines that are not answers
	answer  chan<- string     // of the question that waits; nil if there is none
	asked   time.Time         // since when it waits
	closed  bool              // there is nothing more to read
}

// errNoAnswer says that the terminal was closed.
var errNoAnswer = errors.New("the terminal was closed before there was an answer")

// listen begins to read. Lines that are not answers go to steer; nil drops them.
func (k *keyboard) listen(steer func(line string)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.steer = steer
	if !k.reading {
		k.reading = true
		surviveBackground()
		go k.read()
	}
}

// forget drops what was typed and not sent yet, so that the shell does not take it for a command.
func (k *keyboard) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.steer = nil
	if f, ok := k.in.(*os.File); ok && k.reading {
		forgetTyped(f)
	}
}

// ask shows a question and waits for its answer. What was typed before the question is not the answer.
// The function that show returns is told whether there was one.
func (k *keyboard) ask(ctx context.Context, show func() (done func(answered bool))) (line string, err error) {
	answer := make(chan string, 1)
	if !k.begin(answer) {
		return "", errNoAnswer
	}
	done := show()
	defer func() {
		k.mu.Lock()
		k.answer = nil
		k.mu.Unlock()
		done(err == nil)
	}()
	select {
	case line, ok := <-answer:
		if !ok {
			return "", errNoAnswer
		}
		return strings.TrimSpace(line), nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// begin makes the next line the answer to a question. It reports whether there can be one.
func (k *keyboard) begin(answer chan<- string) bool {
	k.mu.Lock()
	steer := k.steer
	k.mu.Unlock()
	k.listen(steer)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return false
	}
	if f, ok := k.in.(*os.File); ok {
		forgetTyped(f)
	}
	k.answer, k.asked = answer, time.Now()
	return true
}

// read reads lines until the terminal is gone. Reading cannot be interrupted, so it ends with the
// program. Ctrl-D ends a line or a question, not the input.
func (k *keyboard) read() {
	const gone = 100 // ends of the input in a row
	in := bufio.NewReader(k.in)
	for ends := 0; ends < gone; {
		line, err := in.ReadString('\n')
		at := time.Now()
		switch {
		case line != "":
			ends = 0
			k.deliver(line, at)
		case errors.Is(err, io.EOF):
			ends++
			k.give("", false)
		case inBackground(err):
			time.Sleep(time.Second / 2) // until the run is in the foreground again
		default:
			ends = gone
		}
	}
	k.mu.Lock()
	k.closed = true
	k.mu.Unlock()
	k.give("", false)
}

// deliver takes a line to whoever it is for.
func (k *keyboard) deliver(line string, at time.Time) {
	k.mu.Lock()
	early, steer := k.answer == nil || at.Before(k.asked), k.steer
	k.mu.Unlock()
	if !early && k.give(line, true) {
		return
	}
	if line = strings.TrimSpace(line); line != "" && steer != nil {
		steer(line)
	}
}

// give answers the question that waits, or ends it without an answer. It reports whether there was one.
func (k *keyboard) give(line string, ok bool) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.answer == nil {
		return false
	}
	if ok {
		k.answer <- line
	}
	close(k.answer)
	k.answer = nil
	return true
}
