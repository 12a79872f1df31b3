package compact

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Condense brings a text down to limit bytes: its beginning, its end, and from between them lines
// that look like errors, warnings or failures, with their numbers and a note of how much is left
// out. The result is valid UTF-8 and never longer than limit. A text that fits stays as it is, but
// for bytes that are not UTF-8.
func Condense(text string, limit int) string {
	text = strings.ToValidUTF8(text, "?")
	switch {
	case len(text) <= limit:
		return text
	case limit < leastCondensed:
		return cutShort(text, limit)
	}
	room := limit - noteRoom
	middle, tail := headEnd(text, room*2/5), tailStart(text, room*2/5)
	alarms := alarming(text, middle, tail, room/5)
	if alarms == "" {
		middle, tail = headEnd(text, room/2), tailStart(text, room/2)
	}
	left := text[middle:tail]
	note := fmt.Sprintf("[… %d lines, %d characters left out …]\n", strings.Count(left, "\n")+1, len(left))
	if alarms != "" {
		note = strings.TrimSuffix(note, "]\n") + " among them:]\n" + alarms
	}
	out := text[:middle]
	if !strings.HasSuffix(out, "\n") {
		out += "\n"
	}
	return out + note + text[tail:]
}

const (
	leastCondensed = 256
	noteRoom       = 96 // for the note, with numbers of any size
	alarmLength    = 160
)

// cutShort is the beginning of a text, with a mark that it is cut if there is room for one.
func cutShort(text string, limit int) string {
	const mark = " [… cut]"
	if limit <= 2*len(mark) {
		return text[:boundary(text, limit)]
	}
	return text[:boundary(text, limit-len(mark))] + mark
}

// boundary is the last place up to n where a character begins.
func boundary(text string, n int) int {
	n = min(max(n, 0), len(text))
	for n > 0 && n < len(text) && !utf8.RuneStart(text[n]) {
		n--
	}
	return n
}

// headEnd is where the first n bytes end, at the end of a line if there is one near.
func headEnd(text string, n int) int {
	n = boundary(text, n)
	if i := strings.LastIndexByte(text[:n], '\n') + 1; i > n/2 {
		return i
	}
	return n
}

// tailStart is where the last n bytes begin, at the beginning of a line if there is one near.
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

// alarming lists the lines between two places that look like trouble, numbered as in the whole text.
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

// looksBad reports whether a line speaks of an error, a warning or a failure near its beginning.
func looksBad(line string) bool {
	line = strings.ToLower(line[:min(len(line), 400)])
	for _, word := range []string{"error", "warning", "fail", "panic", "fatal", "exception", "traceback", "undefined", "denied", "cannot", "not found"} {
		if strings.Contains(line, word) {
			return true
		}
	}
	return false
}
