// Package keyboard reads lines that a user types while questions may be shown. It needs no raw mode. A line that was typed
// before a question could be read never answers it.
package keyboard

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reins-agent/reins/internal/show"
)

// Keyboard reads lines typed on the terminal during a run. A line answers a question if the user started to type it
// after having had time to read the question. Other lines go to steer.
type Keyboard struct {
	In io.Reader
	// Words are the answers that are longer than a character. Such a line is never steered while a question is shown.
	Words []string
	// Closed is called when nothing more can be read. On a terminal that is when it was closed, or when the user ended the
	// input with ctrl-d while no question was shown, if EndsWithInput is set.
	Closed        func()
	EndsWithInput bool

	mu       sync.Mutex
	reading  bool
	steer    func(line string) // nil drops lines that are not answers
	line     string            // an unfinished line, as far as it was read
	question *prompt           // the current one, if any
	closed   bool              // the terminal was closed
}

// prompt is a question that waits for a line.
type prompt struct {
	text   string
	show   func(text string) // shows more of the question
	answer chan string
	since  time.Time // when the question was shown, or when the last line that does not answer it was read
	timer  *time.Timer
	open   bool // the text is shown: the next line is the answer
}

// ReadingTime is how long a question is visible before it accepts an answer. Anything typed earlier was meant for
// something else.
const ReadingTime = 500 * time.Millisecond

// ErrNoAnswer means that the terminal was closed.
var ErrNoAnswer = errors.New("the terminal was closed before there was an answer")

// Listen starts reading. Lines that are not answers go to steer; nil drops them.
func (k *Keyboard) Listen(steer func(line string)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.steer = steer
	k.start()
}

// start starts reading, unless it was started before. The caller must hold k.mu.
func (k *Keyboard) start() {
	if !k.reading {
		k.reading = true
		failBackgroundReads()
		go k.read()
	}
}

// Flush discards an unfinished line, which the shell would otherwise run as a command.
func (k *Keyboard) Flush() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.steer = nil
	if f, ok := k.In.(*os.File); ok && k.reading {
		flushInput(f)
	}
}

// Ask waits for the answer to a question that was just shown. It shows the text once it accepts an answer.
func (k *Keyboard) Ask(ctx context.Context, text string, more func(text string)) (string, error) {
	q := &prompt{text: text, show: more, answer: make(chan string, 1)}
	if !k.expect(q) {
		return "", ErrNoAnswer
	}
	defer k.end(q)
	select {
	case line, ok := <-q.answer:
		if !ok {
			return "", ErrNoAnswer
		}
		return strings.TrimSpace(line), nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// expect starts a question. It reports false if the terminal was closed.
func (k *Keyboard) expect(q *prompt) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.start()
	if k.closed {
		return false
	}
	k.question, q.since = q, time.Now()
	q.timer = time.AfterFunc(ReadingTime, func() { k.open(q) })
	return true
}

func (k *Keyboard) end(q *prompt) {
	k.mu.Lock()
	defer k.mu.Unlock()
	q.timer.Stop()
	if k.question == q {
		k.question = nil
	}
}

// open makes the next line the answer to a question, unless the user has already started to type that line. It must
// be completed first.
func (k *Keyboard) open(q *prompt) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.question != q || q.open || time.Since(q.since) < ReadingTime || k.line != "" {
		return
	}
	if f, ok := k.In.(*os.File); ok && pushInput(f) {
		return
	}
	q.open = true
	q.show(q.text)
}

// read reads lines until the terminal is closed. A read cannot be interrupted, so it may run until the process
// exits. Ctrl-D ends a line or a question, not the input.
func (k *Keyboard) read() {
	const gone = 100 // consecutive EOFs
	buf := make([]byte, 4096)
	for ends := 0; ends < gone; {
		n, err := k.In.Read(buf)
		switch {
		case n > 0:
			ends = 0
			for piece := range strings.Lines(string(buf[:n])) {
				k.deliver(piece)
			}
		case errors.Is(err, io.EOF):
			ends++
			if !k.hangUp() && k.EndsWithInput {
				ends = gone
			}
		case isBackgroundRead(err):
			// Poll: a shell that moves a running job to the foreground sends it no signal.
			time.Sleep(time.Second / 2)
		default:
			ends = gone
		}
	}
	k.mu.Lock()
	k.closed = true
	line, steer := strings.TrimSpace(k.line), k.steer
	k.line = ""
	k.mu.Unlock()
	k.hangUp()
	if line != "" && steer != nil {
		steer(line) // the last line of a file may lack its end
	}
	if k.Closed != nil {
		k.Closed()
	}
}

// hangUp ends the current question without an answer, and reports whether there was one.
func (k *Keyboard) hangUp() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.question == nil {
		return false
	}
	close(k.question.answer)
	k.question = nil
	return true
}

// deliver passes a line to the current question or to steer. A piece without a newline is the beginning of a line.
func (k *Keyboard) deliver(piece string) {
	k.mu.Lock()
	k.line += piece
	line, q, steer := k.line, k.question, k.steer
	complete := strings.HasSuffix(line, "\n")
	answers := q != nil && q.open
	switch {
	case !complete && q != nil: // pushInput made it readable, so it was started too early
		q.open = false
	case !complete:
	case answers:
		k.line, k.question = "", nil
		q.answer <- line
	default:
		k.line = ""
		if q != nil {
			q.since = time.Now()
		}
	}
	k.mu.Unlock()
	switch {
	case complete && answers:
	case complete:
		k.divert(strings.TrimSpace(line), steer, q)
	case q != nil:
		q.show("\rfor the agent: " + show.OneLine(line))
	}
}

// divert handles a line that is not an answer. If a question is shown, it tells the user what happened to the line, and
// the question accepts an answer later.
func (k *Keyboard) divert(line string, steer func(string), q *prompt) {
	note := "ignored, because it was typed before you could read the question"
	if steer != nil && line != "" && (q == nil || !k.looksLikeAnswer(line)) {
		steer(line)
		note = "sent to the agent, because it was typed before you could read the question"
	}
	if q != nil {
		q.show("· " + note + "\n")
		q.timer.Reset(ReadingTime)
	}
}

// looksLikeAnswer reports whether a line was meant for a question rather than for the agent.
func (k *Keyboard) looksLikeAnswer(line string) bool {
	return len([]rune(line)) == 1 || slices.Contains(k.Words, strings.ToLower(line))
}
