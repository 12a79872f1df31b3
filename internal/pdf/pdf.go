// Package pdf extracts the text of PDF files. The files are untrusted: it limits decoded size, nesting depth and work,
// and never executes anything. It supports only what text needs: objects, compressed streams, pages and fonts.
//
// It finds objects by searching the file instead of using its offset tables, so that it can also read damaged files.
package pdf

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Limits for a file.
const (
	MaxDecoded = 64 << 20 // maximum size of all streams after decompression
	MaxText    = 8 << 20  // maximum text size
	maxObjects = 500_000
	maxSteps   = 10_000_000 // of content streams and fonts
	maxDepth   = 40         // of nested objects, pages and forms
)

// Errors in this package.
var (
	ErrInvalid   = errors.New("not a PDF file")
	ErrEncrypted = errors.New("the PDF is encrypted")
	ErrTooLarge  = errors.New("the PDF is too large")
	ErrNoText    = errors.New("the PDF has no text; its pages may be images")
)

// Text returns a file's text, page by page, with an empty line between two pages.
func Text(ctx context.Context, data []byte) (string, error) {
	if !bytes.Contains(data[:min(len(data), 1024)], []byte("%PDF-")) {
		return "", ErrInvalid
	}
	d := &document{
		ctx:     ctx,
		data:    data,
		places:  map[int]int{},
		objects: map[int]any{},
		left:    MaxDecoded,
	}
	if err := d.index(); err != nil {
		return "", err
	}
	w := &writer{document: d}
	for _, page := range d.pages() {
		w.page(page)
		if w.err != nil {
			return "", w.err
		}
	}
	var b strings.Builder
	for line := range strings.Lines(w.text.String()) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	text := strings.TrimSpace(b.String())
	if text == "" {
		return "", ErrNoText
	}
	return text, nil
}

// document is a file with its objects.
type document struct {
	ctx     context.Context
	data    []byte
	places  map[int]int // offsets of objects in the file, by number
	objects map[int]any // objects that were read, by number
	roots   []dict      // the trailers, newest last
	left    int         // bytes that may still be decoded
	parsed  int         // total size of parsed objects; larger than the file if they overlap
	err     error       // why decoding has stopped
}

var objectHead = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(\d{1,9})[ \t\r\n]+\d{1,5}[ \t\r\n]+obj\b`) })

// index finds the objects, the trailers, and the objects in compressed streams. If an object occurs twice, the last one
// is used.
func (d *document) index() error {
	for _, m := range objectHead().FindAllSubmatchIndex(d.data, maxObjects+1) {
		number, _ := strconv.Atoi(string(d.data[m[2]:m[3]]))
		d.places[number] = m[1]
	}
	if len(d.places) > maxObjects {
		return ErrTooLarge
	}
	for at := 0; ; {
		i := bytes.Index(d.data[at:], []byte("trailer"))
		if i < 0 {
			break
		}
		at += i + len("trailer")
		if t, ok := (&parser{data: d.data, pos: at}).object(0).(dict); ok {
			d.roots = append(d.roots, t)
		}
	}
	for _, number := range slices.Sorted(maps.Keys(d.places)) {
		if s, ok := d.load(number).(*stream); ok {
			switch s.dict["Type"] {
			case name("XRef"):
				d.roots = append(d.roots, s.dict)
			case name("ObjStm"):
				d.unpack(s)
			}
		}
		if d.parsed > 4*len(d.data) {
			return ErrTooLarge
		}
		if err := d.failure(); err != nil {
			return err
		}
	}
	for _, t := range d.roots {
		if t["Encrypt"] != nil {
			return ErrEncrypted
		}
	}
	return nil
}

// failure returns why reading must stop.
func (d *document) failure() error {
	if d.err == nil {
		d.err = context.Cause(d.ctx)
	}
	return d.err
}

// load reads an object in the file.
func (d *document) load(number int) any {
	if o, ok := d.objects[number]; ok {
		return o
	}
	place, ok := d.places[number]
	if !ok {
		return nil
	}
	d.objects[number] = nil // in case it refers to itself
	p := &parser{data: d.data, pos: place}
	o := p.object(0)
	if dict, ok := o.(dict); ok {
		o = d.stream(p, dict)
	}
	d.parsed += p.pos - place
	d.objects[number] = o
	return o
}

// stream returns the stream that follows a dictionary, or the dictionary.
func (d *document) stream(p *parser, head dict) any {
	if p.object(0) != operator("stream") {
		return head
	}
	raw := d.data[p.pos:]
	raw = bytes.TrimPrefix(bytes.TrimPrefix(raw, []byte("\r")), []byte("\n"))
	end := bytes.Index(raw, []byte("endstream"))
	if n, ok := d.length(head["Length"]).(float64); ok && n >= 0 && n <= float64(len(raw)) &&
		bytes.HasPrefix(bytes.TrimLeft(raw[int(n):], "\r\n \t"), []byte("endstream")) {
		end = int(n)
	}
	if end < 0 {
		end = len(raw)
	}
	p.pos += end
	return &stream{head, raw[:end]}
}

// length returns a stream's length. It does not read other streams for that, so that a chain of them cannot cause deep
// recursion.
func (d *document) length(o any) any {
	if r, ok := o.(ref); ok {
		place, ok := d.places[int(r)]
		if !ok {
			return nil
		}
		return (&parser{data: d.data, pos: place}).word()
	}
	return o
}

// unpack reads the objects in an object stream. Objects in the file itself take precedence.
func (d *document) unpack(s *stream) {
	data := d.decode(s)
	first, _ := d.resolve(s.dict["First"]).(float64)
	count, _ := d.resolve(s.dict["N"]).(float64)
	if first < 0 || first > float64(len(data)) {
		return
	}
	heads := &parser{data: data[:int(first)]}
	for range int(min(count, maxObjects)) {
		number, ok1 := heads.object(0).(float64)
		offset, ok2 := heads.object(0).(float64)
		at := first + offset
		if !ok1 || !ok2 || at < first || at > float64(len(data)) {
			return
		}
		if _, there := d.places[int(number)]; !there {
			d.objects[int(number)] = (&parser{data: data, pos: int(at)}).object(0)
		}
		if len(d.objects) > maxObjects {
			d.err = ErrTooLarge
			return
		}
	}
}

// resolve follows references.
func (d *document) resolve(o any) any {
	for range maxDepth {
		r, ok := o.(ref)
		if !ok {
			return o
		}
		o = d.load(int(r))
	}
	return nil
}

// dict returns an object as a dictionary, or a stream's dictionary. It returns nil for other objects.
func (d *document) dict(o any) dict {
	switch o := d.resolve(o).(type) {
	case dict:
		return o
	case *stream:
		return o.dict
	}
	return nil
}

func (d *document) array(o any) []any {
	a, _ := d.resolve(o).([]any)
	return a
}

// pages returns the pages in order, with inherited resources.
func (d *document) pages() (list []dict) {
	seen := map[any]bool{}
	var walk func(o any, resources any, depth int)
	walk = func(o any, resources any, depth int) {
		page := d.dict(o)
		if r, ok := o.(ref); ok {
			if seen[r] {
				return
			}
			seen[r] = true
		}
		if page == nil || depth > maxDepth || len(list) > maxObjects {
			return
		}
		if page["Resources"] != nil {
			resources = page["Resources"]
		}
		if kids := d.array(page["Kids"]); kids != nil {
			for _, kid := range kids {
				walk(kid, resources, depth+1)
			}
			return
		}
		page = maps.Clone(page)
		page["Resources"] = resources
		list = append(list, page)
	}
	for _, t := range slices.Backward(d.roots) {
		if root := d.dict(t["Root"]); root != nil {
			walk(root["Pages"], nil, 0)
			break
		}
	}
	if list == nil { // damaged
		for _, number := range slices.Sorted(maps.Keys(d.objects)) {
			if page, ok := d.objects[number].(dict); ok && page["Type"] == name("Page") {
				walk(ref(number), nil, 0)
			}
		}
	}
	return list
}

// A PDF object is nil, a bool, a float64, a text, a name, an array, a dict, a ref, a *stream or, in a content stream, an
// operator.
type (
	text     string
	name     string
	operator string
	ref      int
	dict     map[name]any
	stream   struct {
		dict dict
		raw  []byte
	}
)
