package event

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Snippet is a match with some of the text around it, on one line: runs of white space are one
// space, and an ellipsis says that the text goes on.
type Snippet struct {
	Text string `json:"snippet"`
	// Start and End are where the match is in Text, in bytes.
	Start int `json:"start"`
	End   int `json:"end"`
}

// around is how many characters of a snippet stand before the match and behind it.
const around = 48

func newSnippet(text string, start, end int) Snippet {
	from, to := start, end
	for range around {
		_, n := utf8.DecodeLastRuneInString(text[:from])
		from -= n
	}
	for range around {
		_, n := utf8.DecodeRuneInString(text[to:])
		to += n
	}
	from, to = wholeStart(text, from), wholeEnd(text, to)
	before := strings.TrimLeft(oneSpace(text[from:start]), " ")
	match := oneSpace(text[start:end])
	behind := strings.TrimRight(oneSpace(text[end:to]), " ")
	if from > 0 {
		before = "…" + before
	}
	if to < len(text) {
		behind += "…"
	}
	return Snippet{before + match + behind, len(before), len(before) + len(match)}
}

// wholeStart moves a cut back to where a character as people see it begins, if that is not far.
func wholeStart(text string, at int) int {
	for i, tries := at, 0; tries < around; tries++ {
		r, _ := utf8.DecodeRuneInString(text[i:])
		before, n := utf8.DecodeLastRuneInString(text[:i])
		if n == 0 || !joins(before, r) {
			return i
		}
		i -= n
	}
	return at
}

// wholeEnd moves a cut on to where a character ends.
func wholeEnd(text string, at int) int {
	for i, tries := at, 0; tries < around; tries++ {
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		r, n := utf8.DecodeRuneInString(text[i:])
		if n == 0 || !joins(before, r) {
			return i
		}
		i += n
	}
	return at
}

// joins reports whether a rune makes one character with the one before it: an accent, a variant, a
// skin tone, or what is joined by a joiner.
func joins(before, r rune) bool {
	const joiner = '\u200d'
	return r == joiner || before == joiner || unicode.Is(unicode.M, r) || r >= 0x1F3FB && r <= 0x1F3FF
}

// oneSpace makes each run of white space one space, and of what is no UTF-8 U+FFFD.
func oneSpace(s string) string {
	var b strings.Builder
	space := false
	for _, r := range s {
		if unicode.IsSpace(r) {
			if !space {
				b.WriteByte(' ')
			}
			space = true
			continue
		}
		space = false
		b.WriteRune(r)
	}
	return b.String()
}

// needle is a text to look for, whatever the case of its letters.
type needle struct {
	runes []rune   // folded
	first []string // the forms that the first of them has in a text
}

func newNeedle(text string) needle {
	var n needle
	for _, r := range text {
		n.runes = append(n.runes, fold(r))
	}
	r := n.runes[0]
	for next := r; ; {
		n.first = append(n.first, string(next))
		if next = unicode.SimpleFold(next); next == r {
			return n
		}
	}
}

// fold is the smallest of the runes that differ in case only.
func fold(r rune) rune {
	if r < utf8.RuneSelf {
		// Of the letters of ASCII the upper-case ones are the smallest, also among their forms
		// beyond ASCII.
		if 'a' <= r && r <= 'z' {
			r -= 'a' - 'A'
		}
		return r
	}
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return least
}

// index is where the first match begins and ends, in bytes; -1 if there is none.
func (n needle) index(text string) (start, end int) {
	next := make([]int, len(n.first)) // where each form of the first rune is found next
	for i := range next {
		next[i] = -1
	}
	for at := 0; ; {
		start := len(text)
		for i, form := range n.first {
			if next[i] < at {
				next[i] = len(text)
				if found := strings.Index(text[at:], form); found >= 0 {
					next[i] = at + found
				}
			}
			start = min(start, next[i])
		}
		if start == len(text) {
			return -1, -1
		}
		if end, ok := n.matches(text, start); ok {
			return start, end
		}
		at = start + 1
	}
}

// matches reports where a match that begins at start ends.
func (n needle) matches(text string, start int) (end int, ok bool) {
	end = start
	for _, want := range n.runes {
		r, size := utf8.DecodeRuneInString(text[end:])
		if size == 0 || fold(r) != want {
			return 0, false
		}
		end += size
	}
	return end, true
}
