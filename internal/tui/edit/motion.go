package edit

import (
	"strings"
	"unicode/utf8"
)

func firstRune(s string) (rune, int) { return utf8.DecodeRuneInString(s) }

// motion returns where a motion leads.
func (v *vim) motion(c rune) (to int, k kind, ok bool) {
	b := &v.e.buf
	at, line, n := b.caret, b.line(b.caret), v.count()
	switch c {
	case 'h':
		for ; n > 0 && at > line.from; n-- {
			at = b.prev(at)
		}
		return at, exclusive, true
	case 'l':
		for ; n > 0 && at < line.to; n-- {
			at = b.next(at)
		}
		return at, exclusive, true
	case 'j', 'k':
		return v.lineMotion(c, n)
	case '0':
		return line.from, exclusive, true
	case '^':
		return b.indent(line), exclusive, true
	case '$':
		return v.lineEnd(n), exclusive, true
	case 'G':
		if v.counts == [2]int{} {
			return b.lineNumber(1 << 30), linewise, true
		}
		return b.lineNumber(n), linewise, true
	case 'w', 'W':
		return v.wordMotion(c == 'W', n)
	case 'b', 'B':
		for range n {
			at = b.vimBack(at, c == 'B')
		}
		return at, exclusive, true
	case 'e', 'E':
		for range n {
			at = b.vimEnd(at, c == 'E')
		}
		return at, inclusive, true
	case ';', ',':
		find := v.find
		if c == ',' {
			find = map[rune]rune{'f': 'F', 'F': 'f', 't': 'T', 'T': 't'}[find]
		}
		if to, k, ok := v.findChar(find, n); ok {
			return to, k, true
		}
		return 0, 0, false
	}
	return 0, 0, false
}

// lineMotion moves n lines up or down, in the column that the caret had.
func (v *vim) lineMotion(c rune, n int) (int, kind, bool) {
	b := &v.e.buf
	line := b.line(b.caret)
	if b.goal < 0 {
		b.goal = clusters(b.text[line.from:b.caret])
	}
	for ; n > 0; n-- {
		if c == 'k' && line.from > 0 {
			line = b.line(line.from - 1)
		}
		if c == 'j' && line.to < len(b.text) {
			line = b.line(line.to + 1)
		}
	}
	at := line.from
	for i := 0; i < b.goal && at < line.to; i++ {
		at = b.next(at)
	}
	return at, linewise, true
}

func clusters(s string) (n int) {
	for ; s != ""; n++ {
		s = s[len(cluster(s)):]
	}
	return n
}

// lineEnd returns where the line n-1 lines below ends.
func (v *vim) lineEnd(n int) int {
	b := &v.e.buf
	line := b.line(b.caret)
	for ; n > 1 && line.to < len(b.text); n-- {
		line = b.line(line.to + 1)
	}
	return line.to
}

// wordMotion moves to the n-th next word. After an operator it stays within the line, and cw ends with the word.
func (v *vim) wordMotion(big bool, n int) (int, kind, bool) {
	b := &v.e.buf
	at := b.caret
	if v.operator == 'c' && at < len(b.text) && vimClass(b.text[at:], big) != blank {
		for i := range n {
			if i == 0 {
				at = b.wordEnd(at, big)
			} else {
				at = b.vimEnd(at, big)
			}
		}
		return at, inclusive, true
	}
	for i := range n {
		from := at
		at = b.vimWord(at, big)
		if line := b.line(from); v.operator != 0 && i == n-1 && at > line.to && from < line.to {
			at = line.to
		}
	}
	return at, exclusive, true
}

// vimClass returns a character's class. In big words, every character but a blank has the same class.
func vimClass(s string, big bool) class {
	c := classOf(s)
	if big && c != blank {
		return word
	}
	return c
}

// vimWord returns where the next word starts. An empty line is a word.
func (b *Buffer) vimWord(at int, big bool) int {
	if at >= len(b.text) {
		return at
	}
	if c := vimClass(b.text[at:], big); c != blank {
		for at < len(b.text) && vimClass(b.text[at:], big) == c {
			at = b.next(at)
			if c == folded {
				break
			}
		}
	} else {
		at = b.next(at)
	}
	for at < len(b.text) && vimClass(b.text[at:], big) == blank && !b.emptyLine(at) {
		at = b.next(at)
	}
	return at
}

func (b *Buffer) emptyLine(at int) bool {
	line := b.line(at)
	return line.from == line.to
}

// vimBack returns where the word before a position starts.
func (b *Buffer) vimBack(at int, big bool) int {
	for at > 0 {
		p := b.prev(at)
		if vimClass(b.text[p:], big) != blank || b.emptyLine(p) {
			break
		}
		at = p
	}
	if at == 0 {
		return 0
	}
	at = b.prev(at)
	c := vimClass(b.text[at:], big)
	if c == blank || c == folded {
		return at
	}
	for at > 0 {
		p := b.prev(at)
		if vimClass(b.text[p:], big) != c {
			break
		}
		at = p
	}
	return at
}

// vimEnd returns the last character of the next word to end after a position.
func (b *Buffer) vimEnd(at int, big bool) int {
	if at >= len(b.text) {
		return at
	}
	at = b.next(at)
	for at < len(b.text) && vimClass(b.text[at:], big) == blank {
		at = b.next(at)
	}
	if at >= len(b.text) {
		return b.prev(len(b.text))
	}
	return b.wordEnd(at, big)
}

// wordEnd returns the last character of the word at a position.
func (b *Buffer) wordEnd(at int, big bool) int {
	c := vimClass(b.text[at:], big)
	for c != folded {
		n := b.next(at)
		if n >= len(b.text) || vimClass(b.text[n:], big) != c {
			break
		}
		at = n
	}
	return at
}

// object returns the word at the caret, with the blanks after it (or before it) if around is set.
func (v *vim) object(around bool) span {
	b := &v.e.buf
	line := b.line(b.caret)
	s := span{b.caret, b.caret}
	if s.from == line.to {
		return s
	}
	s = b.run(b.caret, line)
	if !around {
		return s
	}
	switch {
	case s.to < line.to && (classOf(b.text[s.to:]) == blank || classOf(b.text[s.from:]) == blank):
		s.to = b.run(s.to, line).to
	case s.from > line.from && classOf(b.text[b.prev(s.from):]) == blank:
		s.from = b.run(b.prev(s.from), line).from
	}
	return s
}

// run returns the characters of one class around a position in a line.
func (b *Buffer) run(at int, line span) span {
	c := classOf(b.text[at:])
	s := span{at, b.next(at)}
	if c == folded {
		return s
	}
	for s.from > line.from && classOf(b.text[b.prev(s.from):]) == c {
		s.from = b.prev(s.from)
	}
	for s.to < line.to && classOf(b.text[s.to:]) == c {
		s.to = b.next(s.to)
	}
	return s
}

// findChar returns where the n-th character of f, F, t or T is in the line.
func (v *vim) findChar(find rune, n int) (to int, k kind, ok bool) {
	b := &v.e.buf
	line := b.line(b.caret)
	at := b.caret
	switch find {
	case 'f', 't':
		for found := 0; ; {
			if at = b.next(at); at >= line.to {
				return 0, 0, false
			}
			if strings.HasPrefix(b.text[at:], v.target) {
				if found++; found == n {
					break
				}
			}
		}
		if find == 't' {
			at = b.prev(at)
		}
		return at, inclusive, true
	case 'F', 'T':
		for found := 0; ; {
			if at <= line.from {
				return 0, 0, false
			}
			at = b.prev(at)
			if strings.HasPrefix(b.text[at:], v.target) {
				if found++; found == n {
					break
				}
			}
		}
		if find == 'T' {
			at = b.next(at)
		}
		return at, exclusive, true
	}
	return 0, 0, false
}

// lineNumber returns the first character that is not blank in the n-th line, counted from 1, or in the last line.
func (b *Buffer) lineNumber(n int) int {
	line := b.line(0)
	for ; n > 1 && line.to < len(b.text); n-- {
		line = b.line(line.to + 1)
	}
	return b.indent(line)
}

// indent returns a line's first character that is not blank, or the line's end.
func (b *Buffer) indent(line span) int {
	at := line.from
	for at < line.to && (b.text[at] == ' ' || b.text[at] == '\t') {
		at++
	}
	return at
}
