package search

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

var lineFeed = []byte{'\n'}

// place is a line to report.
type place struct {
	start, end int
	number     int
	hit        int // its hit's index, or -1 for context
}

// renderer converts hits to lines with context. Its slice is reused for the next file.
type renderer struct {
	before, after, maxLine int
	places                 []place
}

// lines returns the hits' lines and their context. It copies their text.
func (r *renderer) lines(buf []byte, hits []hit) []Line {
	r.collect(buf, hits)
	size := 0
	for _, p := range r.places {
		size += r.cut(buf, p) - p.start
	}
	var text strings.Builder
	text.Grow(size)
	for _, p := range r.places {
		text.Write(buf[p.start:r.cut(buf, p)])
	}
	lines := make([]Line, len(r.places))
	rest := text.String()
	for i, p := range r.places {
		cut := r.cut(buf, p)
		lines[i] = Line{Number: p.number, Match: p.hit >= 0, Cut: cut < p.end, Text: rest[:cut-p.start]}
		rest = rest[cut-p.start:]
		if p.hit >= 0 {
			lines[i].Spans = clipSpans(hits[p.hit].spans, p)
		}
	}
	return lines
}

// collect finds the lines to report, in order and without duplicates.
func (r *renderer) collect(buf []byte, hits []hit) {
	r.places = r.places[:0]
	counted, number := 0, 1 // number is the line number at counted
	done := 0               // where the first line not reported yet starts
	for i, h := range hits {
		start := backLines(buf, done, h.start, r.before)
		number += bytes.Count(buf[counted:start], lineFeed)
		pos := r.add(buf, start, h.start, &number, -1)
		pos = r.add(buf, pos, h.end+1, &number, i)
		limit := len(buf)
		if i+1 < len(hits) {
			limit = hits[i+1].start
		}
		for n := 0; n < r.after && pos < limit; n++ {
			pos = r.add(buf, pos, pos+1, &number, -1)
		}
		counted, done = min(pos, len(buf)), pos
	}
}

// add adds the lines that start in buf[pos:until], and returns where the next line starts.
func (r *renderer) add(buf []byte, pos, until int, number *int, hit int) int {
	for pos < until && pos < len(buf) {
		end := lineEnd(buf, pos)
		r.places = append(r.places, place{pos, end, *number, hit})
		*number++
		pos = end + 1
	}
	return pos
}

// backLines returns where the n-th line before pos starts, but not before low.
func backLines(buf []byte, low, pos, n int) int {
	for ; n > 0 && pos > low; n-- {
		pos = max(low, low+bytes.LastIndexByte(buf[low:pos-1], '\n')+1)
	}
	return pos
}

// cut returns where a line ends after truncation. It does not split a character.
func (r *renderer) cut(buf []byte, p place) int {
	if r.maxLine <= 0 || p.end-p.start <= r.maxLine {
		return p.end
	}
	end := p.start + r.maxLine
	for back := 0; back < utf8.UTFMax && end > p.start && !utf8.RuneStart(buf[end]); back++ {
		end--
	}
	return end
}

// clipSpans returns the parts of spans on one line, relative to its start.
func clipSpans(spans []Span, p place) []Span {
	var out []Span
	for _, s := range spans {
		if s.Start > p.end || s.End < p.start || s.Start < s.End && s.End == p.start {
			continue
		}
		out = append(out, Span{max(s.Start, p.start) - p.start, min(s.End, p.end) - p.start})
	}
	return out
}
