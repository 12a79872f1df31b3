package search

import (
	"bytes"
	"sync/atomic"
)

// hit is a range of whole lines with matches. In line mode it is one line.
type hit struct {
	start, end int // line bounds, without the last line feed
	matches    int
	spans      []Span // match ranges, if requested
}

// matcher finds hits in buffers. Each worker has its own.
type matcher struct {
	*pattern
	cursor cursor
	dfa    *dfa         // created when first needed
	noDFA  bool         // the pattern is too complex for a dfa
	stop   *atomic.Bool // set when the search is over
	spans  bool         // fill hit.spans
	hits   []hit        // in the current buffer; reused
}

// find returns the first hits in buf, at most limit if that is positive. They are valid until the next
// call. Text after the last line feed is a line unless it is empty.
func (m *matcher) find(buf []byte, limit int) []hit {
	m.hits = m.hits[:0]
	if limit <= 0 {
		limit = len(buf) + 1
	}
	switch {
	case len(buf) == 0:
	case m.multiline:
		m.findSpans(buf, limit)
	case m.finder != nil:
		m.findCandidates(buf, limit)
	default:
		m.findLines(buf, limit)
	}
	return m.hits
}

// findCandidates runs the pattern only on lines with a required literal.
func (m *matcher) findCandidates(buf []byte, limit int) {
	m.cursor.reset(m.finder, buf)
	for pos := 0; len(m.hits) < limit && !m.stop.Load(); {
		at, sure := m.cursor.seek(pos)
		if at < 0 {
			return
		}
		start, end := lineAt(buf, pos, at)
		if sure && m.finder.exact || m.re.Match(buf[start:end]) {
			m.addLine(buf, start, end)
		}
		pos = end + 1
		if pos >= len(buf) {
			return
		}
	}
}

// findLines finds lines without the help of literals.
func (m *matcher) findLines(buf []byte, limit int) {
	if m.dfa == nil && !m.noDFA {
		m.dfa = newDFA(m.tree)
		m.noDFA = m.dfa == nil
	}
	pos := 0
	for m.dfa != nil && pos < len(buf) && len(m.hits) < limit && !m.stop.Load() {
		at, ok := m.dfa.seek(buf, pos)
		if !ok {
			m.dfa, m.noDFA = nil, true
			break
		}
		if at < 0 {
			return
		}
		start, end := lineAt(buf, pos, at)
		m.addLine(buf, start, end)
		pos = end + 1
	}
	if m.noDFA {
		m.findEachLine(buf, pos, limit)
	}
}

// findEachLine runs the pattern on every line.
func (m *matcher) findEachLine(buf []byte, pos, limit int) {
	for pos < len(buf) && len(m.hits) < limit && !m.stop.Load() {
		end := lineEnd(buf, pos)
		if m.re.Match(buf[pos:end]) {
			m.addLine(buf, pos, end)
		}
		pos = end + 1
	}
}

// addLine adds a matching line.
func (m *matcher) addLine(buf []byte, start, end int) {
	h := hit{start: start, end: end, matches: 1}
	if m.spans {
		for _, s := range m.re.FindAllIndex(buf[start:end], -1) {
			h.spans = append(h.spans, Span{start + s[0], start + s[1]})
		}
	}
	m.hits = append(m.hits, h)
}

// findSpans finds matches that may span lines. A match after the last line feed is on no line and is
// skipped.
func (m *matcher) findSpans(buf []byte, limit int) {
	if m.finder != nil {
		m.cursor.reset(m.finder, buf)
		if at, _ := m.cursor.seek(0); at < 0 {
			return
		}
	}
	for _, span := range m.re.FindAllIndex(buf, limit) {
		if span[0] == len(buf) && buf[len(buf)-1] == '\n' {
			return
		}
		m.addSpan(buf, Span{span[0], span[1]})
	}
}

// addSpan adds a match that may span lines. Matches on the same line share a hit.
func (m *matcher) addSpan(buf []byte, s Span) {
	start := bytes.LastIndexByte(buf[:s.Start], '\n') + 1
	end := lineEnd(buf, max(s.Start, s.End-1))
	n := len(m.hits)
	if n == 0 || start > m.hits[n-1].end {
		m.hits = append(m.hits, hit{start: start, end: end})
		n++
	}
	h := &m.hits[n-1]
	h.end = max(end, h.end)
	h.matches++
	if m.spans {
		h.spans = append(h.spans, s)
	}
}

// lineEnd returns the offset of the next line feed at or after pos, or len(buf).
func lineEnd(buf []byte, pos int) int {
	if i := bytes.IndexByte(buf[pos:], '\n'); i >= 0 {
		return pos + i
	}
	return len(buf)
}
