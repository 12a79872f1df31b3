package show

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"github.com/reins-agent/reins/internal/hidden"
)

// Visible makes untrusted text safe to print on a terminal. Characters that could move the cursor, change
// the title or hide text become U+FFFD. Newlines, tabs and emoji are kept; carriage returns and a leading byte
// order mark are removed.
func Visible(s string) string {
	var stream Stream
	return stream.Visible(s)
}

// Stream makes text that arrives in pieces safe to print.
type Stream struct{ last string } // the last bytes of the text so far

// Visible returns the next piece as [Visible] does. An emoji may be split between pieces.
func (t *Stream) Visible(piece string) string {
	safe := strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return -1
		case r != '\n' && r != '\t' && controls(r):
			return unicode.ReplacementChar
		}
		return r
	}, piece)
	if t.last == "" {
		safe = strings.TrimLeft(safe, "\uFEFF")
	}
	all := t.last + safe
	safe = hidden.Replace(all, len(t.last))
	const context = 2 // characters that decide whether the next one is part of an emoji
	t.last = all
	for n := utf8.RuneCountInString(all); n > context; n-- {
		_, size := utf8.DecodeRuneInString(t.last)
		t.last = t.last[size:]
	}
	return safe
}

// controls reports whether a character can control the terminal.
func controls(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }

// Summary returns the first line of s, truncated to 100 characters, with an ellipsis if anything is omitted.
func Summary(s string) string {
	s, _, more := strings.Cut(strings.TrimSpace(Visible(s)), "\n")
	s = strings.ReplaceAll(s, "\t", " ")
	const maximum = 100
	if runes := []rune(s); len(runes) > maximum {
		return string(runes[:maximum]) + "…"
	}
	if more {
		return s + " …"
	}
	return s
}

// FirstLine returns the first line of s, truncated to 500 characters. The result is not safe to print.
func FirstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	const maximum = 500
	if runes := []rune(s); len(runes) > maximum {
		return string(runes[:maximum]) + "…"
	}
	return s
}

// OneLine returns a text on one line.
func OneLine(s string) string { return strings.Join(strings.Fields(Visible(s)), " ") }

// Colours for [Paint].
const (
	Red    = "\x1b[31m"
	Green  = "\x1b[32m"
	Yellow = "\x1b[33m"
	Cyan   = "\x1b[36m"
	Grey   = "\x1b[90m"
	Plain  = "\x1b[0m"
)

// Paint colours a text; "" means no colour. The text must be safe to print.
func Paint(colour, text string) string {
	if colour == "" || text == "" {
		return text
	}
	return colour + text + Plain
}

// EscapeJSON makes JSON safe to print on a terminal without changing its meaning: it escapes the
// characters that Visible would replace.
func EscapeJSON(b []byte) []byte {
	if !slices.ContainsFunc(b, func(c byte) bool { return c < ' ' || c > '~' }) {
		return b
	}
	s := string(b)
	at, _ := hidden.Index(s, 0)
	if at < 0 && bytes.IndexFunc(b, controls) < 0 {
		return b
	}
	out := make([]byte, 0, len(b)+32)
	for i, r := range s {
		unseen := i == at
		if unseen {
			at, _ = hidden.Index(s, i+utf8.RuneLen(r))
		}
		switch {
		case !unseen && !controls(r):
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

// Plural formats a number of things: "1 file", "2 files".
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Quote quotes words for a shell.
func Quote(words ...string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	return strings.Join(quoted, " ")
}

// Names lists the first few names of files.
func Names(names []string) string {
	const maximum = 5
	if n := len(names) - maximum; n > 0 {
		names = append(slices.Clone(names[:maximum]), Plural(n, "other file"))
	}
	return strings.Join(names, ", ")
}

// Ago formats time t, which is d ago. From 30 days on, it returns the date of t.
func Ago(d time.Duration, t time.Time) string {
	switch {
	case d < 10*time.Second:
		return "just now"
	case d < time.Minute:
		return fmt.Sprintf("%d s ago", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", d/time.Minute)
	case d < day:
		return fmt.Sprintf("%d h ago", d/time.Hour)
	case d < 30*day:
		return fmt.Sprintf("%d d ago", d/day)
	}
	return t.Local().Format(time.DateOnly)
}

const day = 24 * time.Hour

// Duration formats a rounded duration.
func Duration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return "<1ms"
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(100 * time.Millisecond).String()
}

// Unified returns a file's unified diff; "" if the file did not change.
func Unified(path, before, after string) string {
	return udiff.Unified("a/"+path, "b/"+path, before, after)
}

// Diff makes a diff safe to print and indents it. It shows at most maximum lines; a negative maximum
// means no limit.
func Diff(diff, indent string, maximum int, colour bool) string {
	var b strings.Builder
	lines := strings.Split(strings.TrimSuffix(diff, "\n"), "\n")
	for i, line := range lines {
		if i == maximum {
			fmt.Fprintf(&b, "%s… %s\n", indent, Plural(len(lines)-maximum, "more line"))
			break
		}
		line = Visible(line)
		if colour {
			line = Paint(diffColour(line), line)
		}
		b.WriteString(indent + line + "\n")
	}
	return b.String()
}

func diffColour(line string) string {
	switch {
	case strings.HasPrefix(line, "+"):
		return Green
	case strings.HasPrefix(line, "-"):
		return Red
	case strings.HasPrefix(line, "@@"):
		return Cyan
	}
	return ""
}
