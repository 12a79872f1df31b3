package render

import "strings"

// indentOf returns a line's indentation in columns, and the rest.
func indentOf(s string) (columns int, rest string) {
	for i := range len(s) {
		switch s[i] {
		case ' ':
			columns++
		case '\t':
			columns += 4 - columns%4
		default:
			return columns, s[i:]
		}
	}
	return columns, ""
}

// strip removes columns of indentation.
func strip(s string, columns int) string {
	at := 0
	for i := range len(s) {
		if at >= columns {
			return strings.Repeat(" ", at-columns) + s[i:]
		}
		switch s[i] {
		case ' ':
			at++
		case '\t':
			at += 4 - at%4
		default:
			return s[i:]
		}
	}
	return strings.Repeat(" ", max(at-columns, 0))
}

// afterQuote strips the quote mark from a line.
func afterQuote(line string) string {
	in, s := indentOf(line)
	s = s[1:]
	if strings.HasPrefix(s, "\t") { // of which one column belongs to the mark
		return strip(strings.Repeat(" ", in+1)+s, in+2)
	}
	return strings.TrimPrefix(s, " ")
}

// fenceOf returns the fence that a line starts with, or "".
func fenceOf(s string) string {
	n := run(s, '`')
	if n < 3 {
		n = run(s, '~')
	}
	if n < 3 || s[0] == '`' && strings.Contains(s[n:], "`") {
		return ""
	}
	return s[:n]
}

// run counts the bytes c at the start of s.
func run(s string, c byte) int {
	n := 0
	for n < len(s) && s[n] == c {
		n++
	}
	return n
}

// heading returns an ATX heading's level, or 0.
func heading(s string) int {
	if n := run(s, '#'); n <= 6 && (n == len(s) || s[n] == ' ' || s[n] == '\t') {
		return n
	}
	return 0
}

// underline returns the level that a line gives the line before it as a heading, or 0.
func underline(s string) int {
	s = strings.TrimRight(s, " \t")
	switch {
	case s == "":
		return 0
	case run(s, '=') == len(s):
		return 1
	case run(s, '-') == len(s):
		return 2
	}
	return 0
}

// rule reports whether a line is a thematic break.
func rule(s string) bool {
	if s == "" || s[0] != '-' && s[0] != '*' && s[0] != '_' {
		return false
	}
	n := 0
	for i := range len(s) {
		switch s[i] {
		case s[0]:
			n++
		case ' ', '\t':
		default:
			return false
		}
	}
	return n >= 3
}

// listMark returns a list item's mark as it is shown, and its size in the source.
func listMark(s string) (mark string, size int, ok bool) {
	digits := 0
	for digits < len(s) && digits < 10 && s[digits] >= '0' && s[digits] <= '9' {
		digits++
	}
	switch {
	case digits == 0 && s != "" && strings.IndexByte("-*+", s[0]) >= 0:
		mark, size = "•", 1
	case digits > 0 && digits < 10 && digits < len(s) && (s[digits] == '.' || s[digits] == ')'):
		mark, size = s[:digits+1], digits+1
	default:
		return "", 0, false
	}
	return mark, size, size == len(s) || s[size] == ' ' || s[size] == '\t'
}

// interrupts reports whether a list item can interrupt a paragraph.
func interrupts(s string) bool {
	mark, size, _ := listMark(s)
	return (mark == "•" || mark == "1." || mark == "1)") && strings.TrimSpace(s[size:]) != ""
}

// task returns a task item's box.
func task(s string) (box string, ok bool) {
	if len(s) < 4 || s[0] != '[' || s[2] != ']' || s[3] != ' ' && s[3] != '\t' {
		return "", false
	}
	switch s[1] {
	case ' ':
		return "☐", true
	case 'x', 'X':
		return "☑", true
	}
	return "", false
}

// language returns the language that a fence's info string names.
func language(info string) string {
	name, _, _ := strings.Cut(strings.TrimSpace(info), " ")
	return strings.ToLower(strings.Trim(name, "{}."))
}
