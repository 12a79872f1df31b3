package config

import (
	"bytes"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// editor changes single keys in a valid document.
type editor struct {
	data    []byte
	newline string
}

func newEditor(data []byte) *editor {
	e := &editor{data: data, newline: "\n"}
	if bytes.Contains(data, []byte("\r\n")) {
		e.newline = "\r\n"
	}
	return e
}

// expression is a key with its value, or a table header.
type expression struct {
	table, key string // key is "" for a header
	list       bool   // in an element of a table list
	value, end int    // start and end; end is also set for a header
	last       int    // where the last array element ends, or 0
	elements   []element
}

// element is a string in an array.
type element struct {
	text     string
	from, to int
}

// expressions lists all expressions in the document.
func (e *editor) expressions() (all []expression) {
	var p unstable.Parser
	p.Reset(e.data)
	table, list := "", false
	for p.NextExpression() {
		n := p.Expression()
		parts, raw := path(n)
		name := strings.Join(parts, ".")
		for it := n.Key(); it.Next(); {
			raw = it.Node().Raw
		}
		x := expression{end: int(raw.Offset + raw.Length)}
		if n.Kind == unstable.KeyValue {
			x.key = strings.TrimPrefix(table+"."+name, ".")
			x.value = x.end + bytes.IndexByte(e.data[x.end:], '=') + 1
			x.value += len(e.data[x.value:]) - len(bytes.TrimLeft(e.data[x.value:], " \t"))
			x.end = int(n.Raw.Offset + n.Raw.Length)
			x.elements = elements(n.Value())
			if n := len(x.elements); n > 0 {
				x.last = x.elements[n-1].to
			}
		} else {
			table, list = name, n.Kind == unstable.ArrayTable
		}
		x.table, x.list = table, list
		all = append(all, x)
	}
	return all
}

// elements lists the strings in an array.
func elements(n *unstable.Node) (list []element) {
	if n.Kind != unstable.Array {
		return nil
	}
	for it := n.Children(); it.Next(); {
		raw := it.Node().Raw
		list = append(list, element{string(it.Node().Data), int(raw.Offset), int(raw.Offset + raw.Length)})
	}
	return list
}

// find returns the expression that sets a key.
func (e *editor) find(key string) (expression, bool) {
	for _, x := range e.expressions() {
		if x.key == key && !x.list {
			return x, true
		}
	}
	return expression{}, false
}

// set replaces the value of a key, or adds the key.
func (e *editor) set(key, text string) {
	if x, ok := e.find(key); ok {
		e.replace(x.value, x.end, text)
		return
	}
	e.insertKey(key, text)
}

// has reports whether the document sets a key.
func (e *editor) has(key string) bool { _, ok := e.find(key); return ok }

// unset removes a key with its lines.
func (e *editor) unset(key string) {
	if x, ok := e.find(key); ok {
		e.removeLines(x.value, x.end)
	}
}

// remove removes one of several elements from a key's list.
func (e *editor) remove(key, text string) {
	for {
		x, ok := e.find(key)
		i := slices.IndexFunc(x.elements, func(el element) bool { return el.text == text })
		if !ok || i < 0 {
			return
		}
		e.removeElement(x, i)
	}
}

// removeElement removes an element, with its line if nothing else is there, or else with the adjacent comma.
func (e *editor) removeElement(x expression, i int) {
	el := x.elements[i]
	from := bytes.LastIndexByte(e.data[:el.from], '\n') + 1
	to := len(e.data)
	if end := bytes.IndexByte(e.data[el.to:], '\n'); end >= 0 {
		to = el.to + end
	}
	after, _, _ := bytes.Cut(e.data[el.to:to], []byte("#"))
	switch {
	case len(bytes.TrimSpace(e.data[from:el.from])) == 0 && len(bytes.Trim(after, ", \t\r")) == 0:
		e.removeLines(el.from, el.to)
	case i+1 < len(x.elements):
		e.replace(el.from, x.elements[i+1].from, "")
	case i > 0:
		e.replace(x.elements[i-1].to, el.to, "")
	default:
		e.replace(el.from, el.to, "")
	}
}

// removeLines removes the lines that contain a range.
func (e *editor) removeLines(from, to int) {
	from = bytes.LastIndexByte(e.data[:from], '\n') + 1
	if end := bytes.IndexByte(e.data[to:], '\n'); end >= 0 {
		to += end + 1
	} else {
		to = len(e.data)
	}
	e.replace(from, to, "")
}

// add adds the only element in list to a key's list.
func (e *editor) add(key, list string) {
	x, ok := e.find(key)
	element := list[1 : len(list)-1]
	switch {
	case !ok:
		e.insertKey(key, list)
	case x.last == 0:
		e.replace(x.value+1, x.value+1, element)
	default:
		e.addElement(x, element)
	}
}

// addElement adds an element at the end of an array: after the last element, or on a separate line if the closing
// bracket is on one.
func (e *editor) addElement(x expression, element string) {
	closing := x.end - 1
	line := bytes.LastIndexByte(e.data[:closing], '\n') + 1
	if line <= x.last || len(bytes.TrimSpace(e.data[line:closing])) > 0 {
		e.replace(x.last, x.last, ", "+element)
		return
	}
	first := e.data[bytes.LastIndexByte(e.data[:x.last], '\n')+1:]
	indent := first[:len(first)-len(bytes.TrimLeft(first, " \t"))]
	e.replace(line, line, string(indent)+element+","+e.newline)
	if !commaFollows(e.data[x.last:line]) {
		e.replace(x.last, x.last, ",")
	}
}

// commaFollows reports whether text contains a comma outside comments.
func commaFollows(text []byte) bool {
	for line := range bytes.Lines(text) {
		code, _, _ := bytes.Cut(line, []byte("#"))
		if bytes.IndexByte(code, ',') >= 0 {
			return true
		}
	}
	return false
}

// insertKey adds a key to its section: after the last key, after the header, or in a new section at the end.
func (e *editor) insertKey(key, text string) {
	section := key[:max(strings.LastIndexByte(key, '.'), 0)]
	after, found := expression{}, false
	for _, x := range e.expressions() {
		parent := x.key[:max(strings.LastIndexByte(x.key, '.'), 0)]
		if !x.list && (x.key != "" && parent == section || x.key == "" && x.table == section) {
			after, found = x, true
		}
	}
	line := strings.TrimPrefix(strings.TrimPrefix(key, after.table), ".") + " = " + text + e.newline
	switch {
	case found:
		e.insertLine(after.end, line)
	case section == "":
		e.insertFirst(line)
	default:
		blank := ""
		if len(e.data) > 0 {
			blank = e.newline
		}
		e.insertLine(len(e.data), blank+"["+section+"]"+e.newline+key[len(section)+1:]+" = "+text+e.newline)
	}
}

// insertFirst adds the first key outside sections: after a leading comment that is followed by a blank line, or else
// at the beginning.
func (e *editor) insertFirst(line string) {
	at := 0
	for text := range bytes.Lines(e.data) {
		comment := text[0] == '#'
		switch {
		case !comment && at > 0 && len(bytes.TrimSpace(text)) == 0:
			e.insertLine(at-1, line)
			return
		case !comment:
			e.replace(0, 0, line+e.newline)
			return
		}
		at += len(text)
	}
	e.insertLine(at, line)
}

// insertLine adds text after the line that contains an offset.
func (e *editor) insertLine(offset int, text string) {
	end := bytes.IndexByte(e.data[offset:], '\n')
	if end >= 0 {
		e.replace(offset+end+1, offset+end+1, text)
		return
	}
	if n := len(e.data); n > 0 && e.data[n-1] != '\n' {
		text = e.newline + text
	}
	e.replace(len(e.data), len(e.data), text)
}

func (e *editor) replace(from, to int, text string) {
	e.data = append(append(e.data[:from:from], text...), e.data[to:]...)
}
