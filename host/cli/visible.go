package cli

import (
	"strings"
	"unicode"
)

// visible is text of unknown origin as it may be shown on a terminal. With control characters it
// could move the cursor, change the title or hide what it says; each becomes U+FFFD. Line ends and
// tabs stay, carriage returns go.
func visible(s string) string {
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
// seen: controls, marks that turn the direction of writing, tags.
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

// summary is a text on one line, cut to a readable length.
func summary(s string) string {
	s, _, more := strings.Cut(strings.TrimSpace(visible(s)), "\n")
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

// firstLine is how a text begins, of unknown origin as it is.
func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	const most = 500
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}

// inLine is a whole text on one line.
func inLine(s string) string { return strings.Join(strings.Fields(visible(s)), " ") }

const (
	red   = "\x1b[31m"
	green = "\x1b[32m"
	cyan  = "\x1b[36m"
	grey  = "\x1b[90m"
	plain = "\x1b[0m"
)

// paint colours a text that is visible already.
func paint(colour, text string) string {
	if colour == "" || text == "" {
		return text
	}
	return colour + text + plain
}
