package edit

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/reins-agent/reins/internal/tui/text"
)

const (
	maxChanges = 2000 // that can be undone
	maxKills   = 20
)

// Buffer is a text with a caret, which stands between two clusters, and with its earlier states. A text character
// may stand for a fold: see [Fold].
type Buffer struct {
	text  string
	caret int
	folds []Fold

	done, undone []change
	group        int  // for the next change
	held         bool // all changes belong to one group
	last         operation

	kills  []string // the last one last
	yanked span     // what the last yank inserted
	pop    int      // which kill it was, from the last one

	goal    int // column that up and down try to reach, or -1
	version int // counts changes
}

// span is a text range.
type span struct{ from, to int }

// change replaced old by new.
type change struct {
	at       int
	old, new string
	before   int // caret
	group    int // a group's changes are undone together
}

// operation is what was done last, which some operations continue.
type operation int

const (
	other operation = iota
	typing
	killing
	yanking
	moving // up or down
)

// begin starts an operation. Operations other than typing are undone one by one.
func (b *Buffer) begin(op operation) {
	if !b.held && (op != typing || b.last != typing) {
		b.group++
	}
	if op != moving {
		b.goal = -1
	}
	b.last = op
}

// hold makes all changes until release one change for undo.
func (b *Buffer) hold() {
	if !b.held {
		b.group++
	}
	b.held = true
}

func (b *Buffer) release() {
	b.held = false
	b.group++
	b.last = other
}

// replace replaces a text range, and sets the caret after it.
func (b *Buffer) replace(from, to int, s string) {
	if from == to && s == "" {
		return
	}
	c := change{
		at:     from,
		old:    strings.Clone(b.text[from:to]),
		new:    s,
		before: b.caret,
		group:  b.group,
	}
	if n := len(b.done); n > 0 && b.done[n-1].continues(c) {
		b.done[n-1].new += s
	} else {
		b.done = append(b.done, c)
	}
	if len(b.done) > maxChanges {
		b.forget()
	}
	b.undone = nil
	b.text = b.text[:from] + s + b.text[to:]
	b.caret = b.snap(from + len(s))
	b.version++
}

// continues reports whether a change inserts more text after the text that d inserted.
func (d change) continues(c change) bool {
	return d.group == c.group && d.old == "" && c.old == "" && d.at+len(d.new) == c.at
}

// forget drops the older changes, in whole groups, until half is left.
func (b *Buffer) forget() {
	n := len(b.done) / 2
	for n < len(b.done) && b.done[n].group == b.done[n-1].group {
		n++
	}
	b.done = append([]change(nil), b.done[n:]...)
}

// undo reverts the last group of changes.
func (b *Buffer) undo() bool {
	b.begin(other)
	n := len(b.done)
	if n == 0 {
		return false
	}
	for group := b.done[n-1].group; n > 0 && b.done[n-1].group == group; n-- {
		c := b.done[n-1]
		b.text = b.text[:c.at] + c.old + b.text[c.at+len(c.new):]
		b.caret = c.before
		b.undone = append(b.undone, c)
	}
	b.done = b.done[:n]
	b.version++
	return true
}

// redo reverts the last undo.
func (b *Buffer) redo() bool {
	b.begin(other)
	n := len(b.undone)
	if n == 0 {
		return false
	}
	for group := b.undone[n-1].group; n > 0 && b.undone[n-1].group == group; n-- {
		c := b.undone[n-1]
		b.text = b.text[:c.at] + c.new + b.text[c.at+len(c.old):]
		b.caret = b.snap(c.at + len(c.new))
		b.done = append(b.done, c)
	}
	b.undone = b.undone[:n]
	b.version++
	return true
}

// next returns where the cluster at a position ends.
func (b *Buffer) next(at int) int {
	if at >= len(b.text) {
		return len(b.text)
	}
	return at + len(cluster(b.text[at:]))
}

// prev returns where the cluster before a position starts.
func (b *Buffer) prev(at int) int {
	if at <= 0 {
		return 0
	}
	from := b.safe(at - 1)
	for {
		n := b.next(from)
		if n >= at {
			return from
		}
		from = n
	}
}

// snap returns the first cluster boundary at or after a position.
func (b *Buffer) snap(at int) int {
	if at >= len(b.text) {
		return len(b.text)
	}
	from := b.safe(at)
	for from < at {
		from = b.next(from)
	}
	return from
}

// safe returns a cluster boundary at or before a position: between two ASCII characters, or around a line break.
func (b *Buffer) safe(at int) int {
	for ; at > 0; at-- {
		if b.text[at-1] == '\n' || b.text[at] < utf8.RuneSelf && b.text[at-1] < utf8.RuneSelf {
			return at
		}
	}
	return 0
}

// cluster returns a non-empty text's first cluster. A line break and a fold are clusters.
func cluster(s string) string {
	if r, n := utf8.DecodeRuneInString(s); isFold(r) {
		return s[:n]
	}
	c, _ := text.Next(s)
	for i, r := range c {
		if i > 0 && isFold(r) {
			return c[:i]
		}
	}
	return c
}

// line returns the line at a position, without its line break.
func (b *Buffer) line(at int) span {
	from := strings.LastIndexByte(b.text[:at], '\n') + 1
	if n := strings.IndexByte(b.text[at:], '\n'); n >= 0 {
		return span{from, at + n}
	}
	return span{from, len(b.text)}
}

// class is a character's kind in word motions.
type class int

const (
	blank class = iota
	punctuation
	word
	folded
)

func classOf(s string) class {
	r, _ := utf8.DecodeRuneInString(s)
	switch {
	case isFold(r):
		return folded
	case unicode.IsSpace(r):
		return blank
	case r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
		return word
	}
	return punctuation
}

// wordLeft returns where the word before a position starts.
func (b *Buffer) wordLeft(at int) int {
	inside := false
	for at > 0 {
		p := b.prev(at)
		switch c := classOf(b.text[p:]); {
		case c == folded && !inside:
			return p
		case c == word:
			inside = true
		case inside:
			return at
		}
		at = p
	}
	return at
}

// wordRight returns where the word after a position ends.
func (b *Buffer) wordRight(at int) int {
	inside := false
	for at < len(b.text) {
		n := b.next(at)
		switch c := classOf(b.text[at:]); {
		case c == folded && !inside:
			return n
		case c == word:
			inside = true
		case inside:
			return at
		}
		at = n
	}
	return at
}

// move sets the caret.
func (b *Buffer) move(at int) {
	b.begin(other)
	b.caret = at
}

// remove deletes a text range.
func (b *Buffer) remove(from, to int) {
	b.begin(other)
	b.replace(from, to, "")
}

// kill deletes a text range that can be yanked. A kill right after another kill adds to it.
func (b *Buffer) kill(from, to int) {
	more := b.last == killing
	at := b.caret
	b.begin(killing)
	if from == to {
		return
	}
	s := b.text[from:to]
	b.replace(from, to, "")
	n := len(b.kills)
	switch {
	case more && n > 0 && from < at:
		b.kills[n-1] = s + b.kills[n-1]
	case more && n > 0:
		b.kills[n-1] += s
	default:
		b.keep(s)
	}
}

// keep adds a text to the kills.
func (b *Buffer) keep(s string) {
	b.kills = append(b.kills, strings.Clone(s))
	if len(b.kills) > maxKills {
		b.kills = b.kills[1:]
	}
}

// yank inserts the last kill.
func (b *Buffer) yank() {
	b.begin(yanking)
	b.pop = 0
	if n := len(b.kills); n > 0 {
		b.insertYank(b.caret, b.caret, b.kills[n-1])
	}
}

// yankPop replaces what the last operation yanked by the kill before.
func (b *Buffer) yankPop() {
	n := len(b.kills)
	if b.last != yanking || n == 0 {
		return
	}
	b.begin(yanking)
	b.pop = (b.pop + 1) % n
	b.insertYank(b.yanked.from, b.yanked.to, b.kills[n-1-b.pop])
}

func (b *Buffer) insertYank(from, to int, s string) {
	b.replace(from, to, s)
	b.yanked = span{from, from + len(s)}
}

// insert types text at the caret. Typing is undone word by word.
func (b *Buffer) insert(s string) {
	s = b.admit(s)
	if s == "" {
		return
	}
	if b.last == typing && b.caret > 0 && classOf(s) != blank && classOf(b.text[b.prev(b.caret):]) == blank {
		b.last = other // a new word
	}
	b.begin(typing)
	b.replace(b.caret, b.caret, s)
}

// set replaces the whole text, as one change.
func (b *Buffer) set(s string) {
	b.begin(other)
	b.replace(0, len(b.text), s)
}
