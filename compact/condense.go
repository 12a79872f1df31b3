package compact

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Condense shortens a text to at most limit bytes. It keeps the beginning, the end, and lines from the
// middle that look like errors, with their line numbers, and notes how much is omitted. The result is
// valid UTF-8. A text that fits is returned unchanged, except for bytes that are not UTF-8.
func Condense(text string, limit int) string {
	text = strings.ToValidUTF8(text, "?")
	switch {
	case len(text) <= limit:
		return text
	case limit < minCondensed:
		return truncate(text, limit)
	}
	room := limit - noteRoom
	middle, tail := headEnd(text, room*2/5), tailStart(text, room*2/5)
	alarms := alarming(text, middle, tail, room/5)
	if alarms == "" {
		middle, tail = headEnd(text, room/2), tailStart(text, room/2)
	}
	omitted, end := text[middle:tail], " …]\n"
	if alarms != "" {
		end = ", including:]\n" + alarms
	}
	note := fmt.Sprintf("[… %d lines, %d characters omitted%s", strings.Count(omitted, "\n")+1, len(omitted), end)
	out := text[:middle]
	if !strings.HasSuffix(out, "\n") {
		out += "\n"
	}
	return out + note + text[tail:]
}

const (
	minCondensed = 256
	noteRoom     = 96 // for the note, with numbers of any size
	alarmLength  = 160
)

// truncate returns the beginning of a text, with a mark if it fits.
func truncate(text string, limit int) string {
	const mark = " [truncated]"
	if limit <= 2*len(mark) {
		return text[:boundary(text, limit)]
	}
	return text[:boundary(text, limit-len(mark))] + mark
}

// boundary returns the last position up to n where a character starts.
func boundary(text string, n int) int {
	n = min(max(n, 0), len(text))
	for n > 0 && n < len(text) && !utf8.RuneStart(text[n]) {
		n--
	}
	return n
}

// headEnd returns where the first n bytes end, or a nearby line end.
func headEnd(text string, n int) int {
	n = boundary(text, n)
	if i := strings.LastIndexByte(text[:n], '\n') + 1; i > n/2 {
		return i
	}
	return n
}

// tailStart returns where the last n bytes start, or a nearby line start.
func tailStart(text string, n int) int {
	start := len(text) - n
	for start < len(text) && !utf8.RuneStart(text[start]) {
		start++
	}
	if i := strings.IndexByte(text[start:], '\n') + 1; i > 0 && i < n/2 {
		return start + i
	}
	return start
}

// alarming returns the lines between two positions that look like errors, with their line numbers.
func alarming(text string, from, to, budget int) string {
	var b strings.Builder
	number := strings.Count(text[:from], "\n") + 1
	for line := range strings.Lines(text[from:to]) {
		if looksBad(line) {
			entry := fmt.Sprintf("%d: %s\n", number, clip(strings.TrimSpace(line), alarmLength))
			if b.Len()+len(entry) > budget {
				break
			}
			b.WriteString(entry)
		}
		number++
	}
	return b.String()
}

// looksBad reports whether a line mentions an error, a warning or a failure near its start.
func looksBad(line string) bool {
	line = strings.ToLower(line[:min(len(line), 400)])
	for _, word := range []string{
		"error", "warning", "fail", "panic", "fatal", "exception", "traceback", "undefined", "denied", "cannot", "not found",
	} {
		if strings.Contains(line, word) {
			return true
		}
	}
	return false
}

// firstLine returns the first line in a text that is not blank, at most n bytes.
func firstLine(text string, n int) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			return clip(line, n)
		}
	}
	return ""
}

// clip returns the beginning of a text on one line, at most n bytes.
func clip(text string, n int) string {
	more := len(text) > n
	if more {
		text = text[:n-len("…")]
	}
	text = strings.ReplaceAll(strings.ToValidUTF8(text, ""), "\n", " ")
	if more {
		text += "…"
	}
	return text
}
