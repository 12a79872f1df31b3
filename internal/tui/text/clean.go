package text

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/reins-agent/reins/internal/hidden"
)

const (
	tabStop  = 4
	maxMarks = 8 // combining marks in a row; longer runs cover other lines
)

// Clean makes untrusted text safe to show, as one line. Control characters become their pictures (␛), and invisible
// characters, direction controls and bytes that are not UTF-8 become U+FFFD: nothing is dropped. Tabs become spaces. A
// combining mark at the start gets a dotted circle, so that it cannot change the cell before it.
func Clean(s string) string {
	if printable(s) || isClean(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	unseen, _ := hidden.Index(s, 0)
	marks, column := 0, 0
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		bad := i == unseen
		if bad {
			unseen, _ = hidden.Index(s, i+n)
		}
		bad = bad || joinsNext(r) && i+n == len(s)
		if attaches(r) {
			marks++
		} else {
			marks = 0
		}
		was := b.Len()
		switch {
		case r == '\t':
			b.WriteString(blanks[:tabStop-column%tabStop])
		case r < ' ':
			b.WriteRune('\u2400' + r)
		case r == 0x7F:
			b.WriteRune('\u2421')
		case bad, unsafe(r):
			b.WriteRune(utf8.RuneError)
		case marks > maxMarks:
			if marks == maxMarks+1 {
				b.WriteRune(utf8.RuneError)
			}
		case marks == 1 && i == 0:
			b.WriteString("◌")
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
		column += Wcwidth.Width(b.String()[was:])
		i += n
	}
	return b.String()
}

// CleanLines returns the lines in untrusted text, each as [Clean] returns it. Line ends may be CRLF.
func CleanLines(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for line := range strings.SplitSeq(s, "\n") {
			if !yield(Clean(strings.TrimSuffix(line, "\r"))) {
				return
			}
		}
	}
}

// Unstyled removes the escape sequences from a command's output that only choose colors and attributes. The result is
// not clean.
func Unstyled(s string) string {
	at := strings.IndexByte(s, 0x1b)
	if at < 0 {
		return s
	}
	var b strings.Builder
	for ; at >= 0; at = strings.IndexByte(s, 0x1b) {
		b.WriteString(s[:at])
		n := colors(s[at:])
		if n == 0 {
			b.WriteByte(0x1b)
			n = 1
		}
		s = s[at+n:]
	}
	b.WriteString(s)
	return b.String()
}

// colors returns the length of a color sequence at the start of s, or 0.
func colors(s string) int {
	if len(s) < 3 || s[1] != '[' {
		return 0
	}
	for i := 2; i < len(s); i++ {
		switch c := s[i]; {
		case c == 'm':
			return i + 1
		case c != ';' && c != ':' && (c < '0' || c > '9'):
			return 0
		}
	}
	return 0
}

// printable reports whether a text is printable ASCII.
func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

func isClean(s string) bool {
	if at, _ := hidden.Index(s, 0); at >= 0 {
		return false
	}
	marks := 0
	for i, r := range s {
		switch {
		case r < 0x300 && r >= ' ' && (r < 0x7F || r > 0x9F):
			marks = 0
			continue
		case unsafe(r), r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			return false
		case !attaches(r):
			marks = 0
			continue
		}
		marks++
		if i == 0 || marks > maxMarks || joinsNext(r) && i+utf8.RuneLen(r) == len(s) {
			return false
		}
	}
	return true
}

// unsafe reports whether a character controls the terminal or the layout, shows a part of an image, or is a byte order mark,
// which is invisible.
func unsafe(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || r == '\ufeff' || r == imageCell
}

// joinsNext reports whether a character joins what follows it.
func joinsNext(r rune) bool { return r == '\u200c' || r == '\u200d' }

// attaches reports whether a character belongs to the one before it.
func attaches(r rune) bool {
	switch {
	case r < 0x300:
		return false
	case r < 0x370, joinsNext(r), r >= 0xFE00 && r <= 0xFE0F, r >= 0x1F3FB && r <= 0x1F3FF, r == 0xFF9E, r == 0xFF9F:
		return true
	case r >= 0x3041 && r < 0xA66F, r >= 0xAC00 && r < 0xD7B0:
		return false
	}
	// Some spacing marks, such as U+102B, count as separate characters.
	spacing := unicode.Is(unicode.Mc, r)
	return spacing && follows(r) || !spacing && (unicode.In(r, unicode.Mn, unicode.Me) || zeroHangul(r))
}

// follows reports whether a character is in one cluster with a letter before it.
func follows(r rune) bool {
	_, rest := Next("a" + string(r))
	return rest == ""
}
