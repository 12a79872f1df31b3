package tools

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// span is a value's position in a JSON text, with its name if it is an object member.
type span struct {
	name       string
	start, end int
}

func (s span) in(data []byte) []byte { return data[s.start:s.end] }

// children returns the object members or array elements at a position in a JSON text.
func children(data []byte, at span) ([]span, error) {
	dec := json.NewDecoder(bytes.NewReader(at.in(data)))
	open, err := dec.Token()
	if err != nil {
		return nil, err
	}
	var list []span
	for dec.More() {
		var s span
		if open == json.Delim('{') {
			key, err := dec.Token()
			if err != nil {
				return nil, err
			}
			s.name, _ = key.(string)
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, err
		}
		s.end = at.start + int(dec.InputOffset())
		s.start = s.end - len(raw)
		list = append(list, s)
	}
	return list, nil
}

// member returns the last member with a name. JSON parsers also use the last one.
func member(list []span, name string) (span, bool) {
	for _, s := range slices.Backward(list) {
		if s.name == name {
			return s, true
		}
	}
	return span{}, false
}

// book is a notebook's text with its cell positions. Edits keep the remaining bytes
// unchanged.
type book struct {
	data  []byte
	list  span // the array of cells
	cells []cell
	ids   bool   // cells must have an id: nbformat 4.5
	unit  string // indentation, or "" if the file has no line breaks
}

type cell struct {
	span
	members []span
	id      string
	kind    string
}

var errNotNotebook = errors.New("it is not a notebook of format 4")

// parseBook finds a notebook's cells.
func parseBook(data []byte) (*book, error) {
	var head struct {
		Major int `json:"nbformat"`
		Minor int `json:"nbformat_minor"`
	}
	text := bytes.TrimPrefix(data, []byte("\uFEFF"))
	if err := json.Unmarshal(text, &head); err != nil || head.Major != 4 {
		return nil, errNotNotebook
	}
	b := &book{data: data, ids: head.Minor >= 5}
	top, err := children(data, span{start: len(data) - len(text), end: len(data)})
	if err != nil {
		return nil, errNotNotebook
	}
	list, ok := member(top, "cells")
	if !ok || data[list.start] != '[' {
		return nil, errNotNotebook
	}
	b.list, b.unit = list, b.indent(top[0].start)
	elements, err := children(data, list)
	if err != nil {
		return nil, errNotNotebook
	}
	for _, s := range elements {
		c := cell{span: s}
		if c.members, err = children(data, s); err != nil || data[s.start] != '{' {
			return nil, errNotNotebook
		}
		c.id, c.kind = b.text(c, "id"), b.text(c, "cell_type")
		b.cells = append(b.cells, c)
	}
	return b, nil
}

// text returns a cell's string member, or "".
func (b *book) text(c cell, name string) (s string) {
	if m, ok := member(c.members, name); ok {
		_ = json.Unmarshal(m.in(b.data), &s)
	}
	return s
}

// indent returns the white space that begins the line at a position, or "" in a file without line
// breaks.
func (b *book) indent(at int) string {
	i := bytes.LastIndexByte(b.data[:at], '\n') + 1
	if i == 0 {
		return ""
	}
	line := b.data[i:at]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// find returns a cell's index by its id, or else by its number, from 1.
func (b *book) find(id string) (int, bool) {
	if i := slices.IndexFunc(b.cells, func(c cell) bool { return c.id == id && id != "" }); i >= 0 {
		return i, true
	}
	n, err := strconv.Atoi(id)
	return n - 1, err == nil && 1 <= n && n <= len(b.cells)
}

// splice replaces part of the file. The new text gets the file's line breaks.
func (b *book) splice(at span, text []byte) []byte {
	if bytes.Contains(b.data, []byte("\r\n")) {
		text = bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))
	}
	return slices.Concat(b.data[:at.start], text, b.data[at.end:])
}

// remove deletes a cell and the comma next to it.
func (b *book) remove(i int) []byte {
	at := b.cells[i].span
	switch {
	case len(b.cells) == 1:
		at = span{start: b.list.start + 1, end: b.list.end - 1}
	case i+1 < len(b.cells):
		at.end = b.cells[i+1].start
	default:
		at.start = b.cells[i-1].end
	}
	return b.splice(at, nil)
}

// insert adds a cell at an index.
func (b *book) insert(i int, kind, source string) ([]byte, error) {
	c := newCell{Kind: kind, Metadata: json.RawMessage("{}"), Source: lines(source)}
	if b.ids {
		c.ID = b.newID(i, source)
	}
	gap := ""
	if b.unit != "" {
		gap = "\n" + b.unit + b.unit
	}
	text, err := c.encode(strings.TrimPrefix(gap, "\n"), b.unit)
	if err != nil {
		return nil, err
	}
	switch {
	case len(b.cells) == 0:
		if gap != "" {
			text = slices.Concat([]byte(gap), text, []byte("\n"+b.unit))
		}
		return b.splice(span{start: b.list.start + 1, end: b.list.end - 1}, text), nil
	case i < len(b.cells):
		at := b.cells[i].start
		return b.splice(span{start: at, end: at}, fmt.Appendf(text, ",%s", gap)), nil
	}
	at := b.cells[len(b.cells)-1].end
	return b.splice(span{start: at, end: at}, fmt.Appendf(nil, ",%s%s", gap, text)), nil
}

// replace changes a cell's source, and its type unless kind is "" or the same. A code cell loses its outputs,
// which belong to the old source.
func (b *book) replace(i int, kind, source string) ([]byte, error) {
	c := b.cells[i]
	src, ok := member(c.members, "source")
	if !ok || kind != "" && kind != c.kind {
		return b.rebuild(c, kind, source)
	}
	type change struct {
		at   span
		text []byte
	}
	text, err := b.source(src, source)
	if err != nil {
		return nil, err
	}
	changes := []change{{src, text}}
	for name, empty := range map[string]string{"outputs": "[]", "execution_count": "null"} {
		if at, ok := member(c.members, name); ok && c.kind == "code" {
			changes = append(changes, change{at, []byte(empty)})
		}
	}
	slices.SortFunc(changes, func(a, b change) int { return b.at.start - a.at.start }) // from the end, so that positions stay valid
	next := *b
	for _, ch := range changes {
		next.data = next.splice(ch.at, ch.text)
	}
	return next.data, nil
}

// source encodes a source in the same form as the old one: a string or a list of lines.
func (b *book) source(old span, source string) ([]byte, error) {
	if b.data[old.start] == '"' {
		return encodeJSON(source, "", "")
	}
	return encodeJSON(lines(source), b.indent(old.start), b.unit)
}

// rebuild replaces a whole cell. It keeps the id and the metadata.
func (b *book) rebuild(c cell, kind, source string) ([]byte, error) {
	n := newCell{Kind: kind, ID: c.id, Metadata: json.RawMessage("{}"), Source: lines(source)}
	if kind == "" {
		n.Kind = c.kind
	}
	if m, ok := member(c.members, "metadata"); ok {
		n.Metadata = m.in(b.data)
	}
	text, err := n.encode(b.indent(c.start), b.unit)
	if err != nil {
		return nil, err
	}
	return b.splice(c.span, text), nil
}

// newID returns an unused id. It depends only on the notebook and the new cell, so a preview shows the same one.
func (b *book) newID(i int, source string) string {
	for n := 0; ; n++ {
		sum := sha256.Sum256(fmt.Appendf(slices.Clone(b.data), "%d %d %s", n, i, source))
		id := hex.EncodeToString(sum[:4])
		if !slices.ContainsFunc(b.cells, func(c cell) bool { return c.id == id }) {
			return id
		}
	}
}

// newCell is a cell with its members in the order in which Jupyter writes them.
type newCell struct {
	Kind     string          `json:"cell_type"`
	Count    json.RawMessage `json:"execution_count,omitempty"`
	ID       string          `json:"id,omitempty"`
	Metadata json.RawMessage `json:"metadata"`
	Outputs  json.RawMessage `json:"outputs,omitempty"`
	Source   []string        `json:"source"`
}

func (c newCell) encode(prefix, indent string) ([]byte, error) {
	if c.Kind == "code" {
		c.Count, c.Outputs = json.RawMessage("null"), json.RawMessage("[]")
	}
	return encodeJSON(c, prefix, indent)
}

// encodeJSON encodes a value as Jupyter does.
func encodeJSON(v any, prefix, indent string) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if indent != "" {
		enc.SetIndent(prefix, indent)
	}
	err := enc.Encode(v)
	return bytes.TrimRight(out.Bytes(), "\n"), err
}

// lines splits a source into lines, including their line breaks.
func lines(source string) []string {
	return slices.AppendSeq(make([]string, 0, 1), strings.Lines(source))
}
