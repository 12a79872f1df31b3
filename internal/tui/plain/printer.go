package plain

import (
	"fmt"
	"io"
	"strings"
	"sync"
)

// printer writes lines. It may be used concurrently.
type printer struct {
	w    io.Writer
	bell bool

	mu      sync.Mutex
	midLine bool // a question is shown, and its answer is typed behind it
	failed  error
}

// line writes lines of text that is safe to print.
func (p *printer) line(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.write(strings.TrimRight(text, "\n") + "\n")
}

// write writes text on a line of its own.
func (p *printer) write(text string) {
	if p.midLine {
		text = "\n" + text
		p.midLine = false
	}
	if _, err := io.WriteString(p.w, text); err != nil && p.failed == nil {
		p.failed = fmt.Errorf("cannot write the output: %w", err)
	}
}

// output writes command output as it arrives.
func (p *printer) output(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.write(text)
	p.midLine = !strings.HasSuffix(text, "\n")
}

// ready writes that a prompt can be typed.
func (p *printer) ready(stop string) {
	if stop != "" {
		stop += " "
	}
	p.line(p.ring() + stop + Ready)
}

func (p *printer) ring() string {
	if p.bell {
		return "\a"
	}
	return ""
}

// prompt writes the text behind which an answer is typed. The keyboard calls it, also with remarks.
func (p *printer) prompt(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	remark := strings.HasSuffix(text, "\n")
	if remark { // the user has just ended a line
		p.midLine = false
	}
	p.write(strings.TrimPrefix(text, "\r"))
	p.midLine = !remark
}

// answered notes that the user ended the line behind a prompt.
func (p *printer) answered() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.midLine = false
}

func (p *printer) err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

// end ends an unfinished line.
func (p *printer) end() error {
	p.mu.Lock()
	if p.midLine {
		p.write("")
	}
	p.mu.Unlock()
	return p.err()
}
