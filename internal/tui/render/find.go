package render

import (
	"strings"

	"github.com/reins-agent/reins/internal/tui/text"
)

// Match is a search match on a row, or the part of a longer match that is on it.
type Match struct {
	Row      int
	From, To int  // bytes of the row's text
	First    bool // the match begins here
}

// Find returns the matches for a query in rows, regardless of case. The query must be in lower case. A match may continue
// on the next row.
func Find(rows []text.Line, query string) []Match {
	var all strings.Builder
	starts := make([]int, len(rows))
	leads := make([]int, len(rows))
	for i, l := range rows {
		s := l.Text()
		lead := 0
		if i > 0 {
			all.WriteByte(' ')
			lead = len(s) - len(strings.TrimLeft(s, " │"))
		}
		starts[i], leads[i] = all.Len(), lead
		all.WriteString(strings.TrimRight(s[lead:], " "))
	}
	joined := all.String()
	var out []Match
	for from := 0; ; {
		at, n := indexFold(joined[from:], query)
		if at < 0 {
			return out
		}
		at += from
		first := true
		for i, start := range starts {
			end := len(joined)
			if i+1 < len(starts) {
				end = starts[i+1] - 1
			}
			a, b := max(at, start), min(at+n, end)
			if a < b {
				out = append(out, Match{Row: i, From: a - start + leads[i], To: b - start + leads[i], First: first})
				first = false
			}
		}
		from = at + n
	}
}

// Highlight marks the bytes between from and to as a match.
func Highlight(l text.Line, from, to int) text.Line {
	var out text.Line
	at := 0
	for _, s := range l {
		a, b := min(max(from-at, 0), len(s.Text)), min(max(to-at, 0), len(s.Text))
		if a > 0 {
			out = append(out, text.Span{Text: s.Text[:a], Style: s.Style})
		}
		if a < b {
			out = append(out, text.Span{Text: s.Text[a:b], Style: text.Style{Role: text.Match, Attr: s.Style.Attr, URL: s.Style.URL}})
		}
		if b < len(s.Text) {
			out = append(out, text.Span{Text: s.Text[max(a, b):], Style: s.Style})
		}
		at += len(s.Text)
	}
	return out
}

// Count counts a text in another, regardless of case. The query must be in lower case.
func Count(s, query string) int {
	n := 0
	for {
		at, size := indexFold(s, query)
		if at < 0 {
			return n
		}
		n++
		s = s[at+size:]
	}
}

// indexFold finds a text that is in lower case, and returns its position and its size, or -1.
func indexFold(s, query string) (at, size int) {
	n := len(query)
	if n == 0 || len(s) < n {
		return -1, 0
	}
	if !isASCII(query) {
		lower := strings.ToLower(s)
		if len(lower) != len(s) { // such letters are compared as they are
			lower = s
		}
		return strings.Index(lower, query), n
	}
	c := query[0]
	for i := 0; i+n <= len(s); i++ {
		if lower(s[i]) == c && foldPrefix(s[i:], query) {
			return i, n
		}
	}
	return -1, 0
}

func foldPrefix(s, query string) bool {
	for i := range len(query) {
		if lower(s[i]) != query[i] {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
