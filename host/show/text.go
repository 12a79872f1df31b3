package show

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
)

// Visible makes untrusted text safe to print on a terminal. Control characters, which could move the
// cursor, change the title or hide what the text says, become U+FFFD. Newlines and tabs stay, carriage
// returns are removed.
func Visible(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r':
			return -1
		case deceptive(r):
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// deceptive reports whether a character acts on a terminal, or changes what is read without being
// seen: control characters, marks that change the direction of writing, tags.
func deceptive(r rune) bool {
	switch {
	case unicode.IsControl(r):
		return true
	case r == '\u2028' || r == '\u2029':
		return true
	case r >= '\u202A' && r <= '\u202E', r >= '\u2066' && r <= '\u2069':
		return true
	case r >= 0xE0000 && r <= 0xE007F:
		return true
	}
	return false
}

// Summary returns the first line of a text, cut to a readable length, with an ellipsis for the rest.
func Summary(s string) string {
	s, _, more := strings.Cut(strings.TrimSpace(Visible(s)), "\n")
	s = strings.ReplaceAll(s, "\t", " ")
	const most = 100
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	if more {
		return s + " …"
	}
	return s
}

// FirstLine returns the first line of a text, at most 500 characters of it. It is not made safe to print.
func FirstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	const most = 500
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}

// OneLine returns a whole text on one line.
func OneLine(s string) string { return strings.Join(strings.Fields(Visible(s)), " ") }

// The colours for [Paint].
const (
	Red   = "\x1b[31m"
	Green = "\x1b[32m"
	Cyan  = "\x1b[36m"
	Grey  = "\x1b[90m"
	Plain = "\x1b[0m"
)

// Paint colours a text that is safe to print; "" is no colour.
func Paint(colour, text string) string {
	if colour == "" || text == "" {
		return text
	}
	return colour + text + Plain
}

// EscapeJSON makes JSON safe to print on a terminal without changing its meaning: characters that
// Visible would replace are written as escapes.
func EscapeJSON(b []byte) []byte {
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

// Plural returns a number of things: "1 file", "2 files".
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
