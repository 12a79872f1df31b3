package edit

import (
	"strings"
	"unicode"

	"github.com/reins-agent/reins/internal/tui/keys"
)

// vim is the state of vim mode: insert and normal mode, the motions h j k l w W b B e E 0 ^ $ gg G f F t T ; , the
// operators d c y with counts and the words iw and aw, and the commands x X s S D C Y r ~ J p P u ctrl+r . i I a A o O.
type vim struct {
	e      *Editor
	normal bool

	command  []keys.Key // since the last command
	last     []keys.Key // the last change, for dot
	playing  bool
	counts   [2]int // before and after the operator
	operator rune   // d, c, y or 0
	prefix   rune   // f, F, t, T, r, g, i or a: the next character belongs to it
	find     rune   // the last of f, F, t and T
	target   string // and its character

	register string
	lines    bool // the register has whole lines
}

// Mode returns the mode of vim mode: "insert", "normal", or "" without vim mode.
func (e *Editor) Mode() string {
	switch {
	case e.vim == nil:
		return ""
	case e.vim.normal:
		return "normal"
	}
	return "insert"
}

// SetVim turns vim mode on or off.
func (e *Editor) SetVim(on bool) {
	e.buf.release()
	e.vim = nil
	if on {
		e.vim = &vim{e: e}
	}
}

func (v *vim) reset() {
	*v = vim{e: v.e, last: v.last, find: v.find, target: v.target}
}

// cancel forgets a command that is not complete.
func (v *vim) cancel() {
	v.command, v.counts, v.operator, v.prefix = nil, [2]int{}, 0, 0
}

// key handles a key, and reports whether it did.
func (v *vim) key(k keys.Key) bool {
	if !v.normal {
		return v.insertKey(k)
	}
	name := k.String()
	switch name {
	case "esc", "ctrl+[":
		pending := len(v.command) > 0
		v.cancel()
		return pending
	case "left", "backspace":
		name = "h"
	case "right", "space":
		name = "l"
	case "up":
		name = "k"
	case "down":
		name = "j"
	case "home":
		name = "0"
	case "end":
		name = "$"
	case "delete":
		name = "x"
	case "ctrl+r":
	default:
		if k.Text == "" || name != k.Text {
			v.cancel()
			return false
		}
	}
	if v.prefix != 0 && k.Text != "" {
		name = k.Text
	}
	v.command = append(v.command, k)
	if v.input(name) {
		v.cancel()
	}
	b := &v.e.buf
	b.caret = b.snap(b.caret)
	if v.normal {
		v.clamp()
	}
	return true
}

// insertKey handles a key in insert mode.
func (v *vim) insertKey(k keys.Key) bool {
	if len(v.command) > 0 { // a change that began in normal mode
		v.command = append(v.command, k)
	}
	if name := k.String(); name != "esc" && name != "ctrl+[" {
		return false
	}
	v.normal = true
	if len(v.command) > 0 && !v.playing {
		v.last = v.command
	}
	v.cancel()
	b := &v.e.buf
	b.release()
	if line := b.line(b.caret); b.caret > line.from {
		b.caret = b.prev(b.caret)
	}
	v.clamp()
	v.e.popup = nil
	return true
}

// clamp moves the caret onto a character, if its line has one.
func (v *vim) clamp() {
	b := &v.e.buf
	if line := b.line(b.caret); b.caret == line.to && line.to > line.from {
		b.caret = b.prev(b.caret)
	}
}

// count returns how often to do something.
func (v *vim) count() int {
	return min(max(v.counts[0], 1)*max(v.counts[1], 1), 10_000)
}

// input handles a character in normal mode, and reports whether the command is complete.
func (v *vim) input(s string) bool {
	if v.prefix != 0 {
		return v.prefixed(s)
	}
	c, _ := firstRune(s)
	if len(s) > 1 && s != "ctrl+r" {
		return true
	}
	n := &v.counts[0]
	if v.operator != 0 {
		n = &v.counts[1]
	}
	switch {
	case s == "ctrl+r":
		for range v.count() {
			v.e.buf.redo()
		}
		return true
	case unicode.IsDigit(c) && (c != '0' || *n > 0) && c < 0x80:
		*n = min(*n*10+int(c-'0'), 100_000)
		return false
	case strings.ContainsRune("fFtTg", c), v.operator != 0 && (c == 'i' || c == 'a'), v.operator == 0 && c == 'r':
		v.prefix = c
		return false
	case v.operator == c:
		v.wholeLines(v.count())
		return v.finished()
	case v.operator == 0 && strings.ContainsRune("dcy", c):
		v.operator = c
		return false
	}
	if to, kind, ok := v.motion(c); ok {
		v.reach(to, kind)
		return v.finished()
	}
	if v.operator != 0 {
		return true
	}
	v.simple(c)
	return v.finished()
}

// finished ends a command, and reports whether normal mode continues. A change that inserts text ends with esc.
func (v *vim) finished() bool {
	if !v.normal {
		v.counts, v.operator, v.prefix = [2]int{}, 0, 0
		return false
	}
	return true
}

// changed saves the command for dot.
func (v *vim) changed() {
	if !v.playing {
		v.last = append([]keys.Key(nil), v.command...)
	}
}

// insertMode starts insert mode. Everything until esc is one change.
func (v *vim) insertMode() {
	v.normal = false
	v.e.buf.hold()
}

// prefixed handles the character after f, F, t, T, r, g, i and a.
func (v *vim) prefixed(s string) bool {
	p := v.prefix
	v.prefix = 0
	b := &v.e.buf
	switch p {
	case 'g':
		if s != "g" {
			return true
		}
		v.reach(b.lineNumber(max(v.counts[0], v.counts[1], 1)), linewise)
	case 'r':
		v.changed()
		v.replaceChars(s)
	case 'i', 'a':
		if s != "w" {
			return true
		}
		w := v.object(p == 'a')
		v.operate(w, false)
	default:
		v.find, v.target = p, s
		if to, kind, ok := v.findChar(p, v.count()); ok {
			v.reach(to, kind)
		}
	}
	return v.finished()
}

// kind is how an operator uses a motion.
type kind int

const (
	exclusive kind = iota
	inclusive
	linewise
)

// reach moves the caret, or applies the operator up to a position.
func (v *vim) reach(to int, k kind) {
	b := &v.e.buf
	if v.operator == 0 {
		goal := b.goal
		b.move(to)
		b.goal = goal
		if k != linewise {
			b.goal = -1
		}
		return
	}
	from := b.caret
	if to < from {
		from, to = to, from
	}
	switch k {
	case linewise:
		v.operate(span{b.line(from).from, b.line(to).to}, true)
		return
	case inclusive:
		to = b.next(to)
	}
	v.operate(span{from, to}, false)
}

// wholeLines applies the operator to n lines.
func (v *vim) wholeLines(n int) {
	b := &v.e.buf
	line := b.line(b.caret)
	for to := line.to; n > 1 && to < len(b.text); n-- {
		to = b.line(to + 1).to
		line.to = to
	}
	v.operate(line, true)
}

// operate applies the operator to a span. A span of whole lines does not include the last line break.
func (v *vim) operate(s span, lines bool) {
	b := &v.e.buf
	v.register, v.lines = b.text[s.from:s.to], lines
	if v.register != "" {
		b.keep(v.register)
	}
	switch v.operator {
	case 'y':
		if !lines || s.from < b.line(b.caret).from {
			b.move(s.from)
		}
		return
	case 'c':
		v.changed()
		v.insertMode()
		b.begin(other)
		b.replace(s.from, s.to, "")
		b.caret = b.snap(s.from)
		return
	}
	v.changed()
	if lines {
		if s.to < len(b.text) {
			s.to++
		} else if s.from > 0 {
			s.from--
		}
	}
	b.remove(s.from, s.to)
	b.caret = b.snap(s.from)
	if lines {
		b.caret = b.indent(b.line(min(b.caret, len(b.text))))
	}
}

// simple runs a command without a motion.
func (v *vim) simple(c rune) {
	b := &v.e.buf
	line := b.line(b.caret)
	if short, ok := map[rune]string{'D': "d$", 'C': "c$", 'Y': "yy", 'S': "cc"}[c]; ok {
		v.operator = rune(short[0])
		if short[1] == '$' {
			v.operate(span{b.caret, v.lineEnd(v.count())}, false)
		} else {
			v.wholeLines(v.count())
		}
		return
	}
	switch c {
	case 'x', 's', 'X':
		from, to := b.caret, b.caret
		for range v.count() {
			if c == 'X' && from > line.from {
				from = b.prev(from)
			}
			if c != 'X' && to < line.to {
				to = b.next(to)
			}
		}
		v.operator = map[rune]rune{'x': 'd', 'X': 'd', 's': 'c'}[c]
		if from < to || c == 's' {
			v.operate(span{from, to}, false)
		}
	case 'i', 'I', 'a', 'A', 'o', 'O':
		v.open(c, line)
	case 'p', 'P':
		v.changed()
		v.put(c == 'p')
	case 'J':
		v.changed()
		v.join()
	case '~':
		v.changed()
		v.switchCase()
	case 'u':
		for range v.count() {
			b.undo()
		}
	case '.':
		v.repeat()
	}
}

// open starts insert mode at a place.
func (v *vim) open(c rune, line span) {
	b := &v.e.buf
	v.insertMode()
	b.begin(other)
	switch c {
	case 'I':
		b.caret = b.indent(line)
	case 'a':
		if b.caret < line.to {
			b.caret = b.next(b.caret)
		}
	case 'A':
		b.caret = line.to
	case 'o':
		b.replace(line.to, line.to, "\n")
	case 'O':
		b.replace(line.from, line.from, "\n")
		b.caret = line.from
	}
}

// put inserts the register after or before the caret.
func (v *vim) put(after bool) {
	b := &v.e.buf
	s := strings.Repeat(v.register, min(v.count(), max(1, 1<<20/max(len(v.register), 1))))
	if v.register == "" && !v.lines {
		return
	}
	b.begin(other)
	line := b.line(b.caret)
	switch {
	case v.lines:
		s = strings.Repeat(v.register+"\n", v.count())
		at := line.from
		if after {
			at, s = line.to, "\n"+strings.TrimSuffix(s, "\n")
		}
		b.replace(at, at, s)
		if after {
			at++
		}
		b.caret = b.indent(b.line(at))
	case after && b.caret < line.to:
		at := b.next(b.caret)
		b.replace(at, at, s)
		b.caret = b.prev(b.caret)
	default:
		b.replace(b.caret, b.caret, s)
		b.caret = b.prev(b.caret)
	}
}

// join joins lines with a blank.
func (v *vim) join() {
	b := &v.e.buf
	b.hold()
	for range max(v.count()-1, 1) {
		line := b.line(b.caret)
		if line.to == len(b.text) {
			break
		}
		to := b.indent(b.line(line.to + 1))
		b.replace(line.to, to, " ")
		b.caret = b.snap(line.to)
	}
	b.release()
}

// switchCase changes the case of characters.
func (v *vim) switchCase() {
	b := &v.e.buf
	b.hold()
	for range v.count() {
		if b.caret >= b.line(b.caret).to {
			break
		}
		to := b.next(b.caret)
		b.replace(b.caret, to, strings.Map(func(r rune) rune {
			if unicode.IsUpper(r) {
				return unicode.ToLower(r)
			}
			return unicode.ToUpper(r)
		}, b.text[b.caret:to]))
	}
	b.release()
}

// replaceChars replaces characters by another one.
func (v *vim) replaceChars(s string) {
	b := &v.e.buf
	to := b.caret
	for range v.count() {
		if to >= b.line(b.caret).to {
			return
		}
		to = b.next(to)
	}
	b.begin(other)
	b.replace(b.caret, to, b.admit(strings.Repeat(s, v.count())))
	b.caret = b.prev(b.caret)
}

// repeat repeats the last change.
func (v *vim) repeat() {
	if v.playing {
		return
	}
	n := v.count()
	v.playing = true
	defer func() { v.playing = false }()
	v.e.buf.hold()
	for range min(n, 1000) {
		v.cancel()
		for _, k := range v.last {
			if v.key(k) {
				continue
			}
			if a, ok := v.e.keys.Find(k, keys.Editor); ok && a != keys.Submit {
				v.e.do(a)
			} else if a == keys.Submit || k.Text == "" {
				continue
			} else {
				v.e.buf.insert(k.Text)
			}
		}
	}
	v.e.buf.release()
}
