package lsp

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/reins-agent/reins/env"
)

// encoding is the unit in which columns are counted. The server chooses one that the client supports; the default is
// UTF-16.
type encoding string

const (
	utf8Units  encoding = "utf-8"
	utf16Units encoding = "utf-16"
	utf32Units encoding = "utf-32"
)

// size returns a character's size in units.
func (e encoding) size(r rune, bytes int) int {
	switch {
	case e == utf8Units:
		return bytes
	case e == utf32Units || r < 0x10000:
		return 1
	}
	return 2
}

// units returns a text's length in units.
func (e encoding) units(s string) (n int) {
	for _, r := range s {
		n += e.size(r, utf8.RuneLen(r))
	}
	return n
}

// offset returns a column's byte offset in a line. A column beyond the end or within a character is moved back.
func (e encoding) offset(line string, column int) int {
	for i, r := range line {
		size := e.size(r, utf8.RuneLen(r))
		if column < size {
			return i
		}
		column -= size
	}
	return len(line)
}

// column converts a column in units to one in characters.
func (e encoding) column(line string, units int) int {
	return utf8.RuneCountInString(line[:e.offset(line, units)])
}

// text is a document. Its lines end with LF, CRLF or CR.
type text struct {
	s     string
	start []int // line offsets
}

func newText(s string) text {
	t := text{s: s, start: []int{0}}
	for i := range len(s) {
		if s[i] == '\n' || s[i] == '\r' && (i+1 == len(s) || s[i+1] != '\n') {
			t.start = append(t.start, i+1)
		}
	}
	return t
}

// line returns a line without its line ending, or "" if the line does not exist.
func (t text) line(n int) string {
	if n < 0 || n >= len(t.start) {
		return ""
	}
	end := len(t.s)
	if n+1 < len(t.start) {
		end = t.start[n+1]
	}
	return strings.TrimRight(t.s[t.start[n]:end], "\r\n")
}

// offset returns a position's byte offset. Positions after the document are moved to its end.
func (t text) offset(p position, e encoding) int {
	if p.Line < 0 {
		return 0
	}
	if p.Line >= len(t.start) {
		return len(t.s)
	}
	return t.start[p.Line] + e.offset(t.line(p.Line), p.Character)
}

// apply applies edits. All positions refer to the original text.
func (t text) apply(edits []textEdit, e encoding) (string, error) {
	type span struct {
		start, end int
		text       string
	}
	spans := make([]span, len(edits))
	for i, x := range edits {
		spans[i] = span{t.offset(x.Range.Start, e), t.offset(x.Range.End, e), x.NewText}
	}
	slices.SortStableFunc(spans, func(a, b span) int { return a.start - b.start })
	var b strings.Builder
	last := 0
	for _, s := range spans {
		if s.start < last || s.end < s.start {
			return "", errors.New("the edits of the server overlap")
		}
		b.WriteString(t.s[last:s.start])
		b.WriteString(s.text)
		last = s.end
	}
	b.WriteString(t.s[last:])
	return b.String(), nil
}

// byteOrderMark is not sent to servers.
const byteOrderMark = "\uFEFF"

// decode returns a file's text. Servers expect UTF-8.
func decode(path string, content []byte) (text, error) {
	if !utf8.Valid(content) {
		return text{}, fmt.Errorf("%s is not UTF-8 text", path)
	}
	return newText(strings.TrimPrefix(string(content), byteOrderMark)), nil
}

// uriOf returns a path's URI.
func uriOf(p env.Paths, path string) string {
	slashed := p.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed
	}
	return (&url.URL{Scheme: "file", Path: slashed}).String()
}

// pathOf returns a file URI's path. It reports false for other URIs.
func pathOf(p env.Paths, uri string) (string, bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" {
		return "", false
	}
	name := u.Path
	if drive := strings.TrimPrefix(name, "/"); p.IsAbs(drive) { // C:/dir
		name = drive
	}
	if name = p.Clean(name); !p.IsAbs(name) {
		return "", false
	}
	return name, true
}
