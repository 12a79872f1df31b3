package config

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// layer is the content of one source.
type layer struct {
	source Origin // without a line
	config Config
	keys   map[string]place   // keys that are set
	items  map[string][]place // list elements
}

// place is a position in a file, from 1.
type place struct{ line, column int }

func (l *layer) file() bool {
	return !slices.Contains([]Layer{LayerDefault, LayerEnvironment, LayerFlag}, l.source.Layer)
}

func (l *layer) project() bool { return l.source.ofProject() }

func (l *layer) origin(at place) Origin {
	o := l.source
	if l.file() {
		o.Line = at.line
	}
	return o
}

func (l *layer) errorAt(at place, format string, args ...any) error {
	return &Error{Name: l.source.Name, Line: l.origin(at).Line, Column: at.column, Message: fmt.Sprintf(format, args...)}
}

// parse reads a source. It checks every key and value.
func parse(source Origin, data []byte) (*layer, error) {
	l := &layer{source: source, keys: map[string]place{}, items: map[string][]place{}}
	if err := toml.Unmarshal(data, &map[string]any{}); err != nil {
		return nil, l.syntaxError(err)
	}
	w := walker{layer: l, lines: lineStarts(data)}
	w.parser.Reset(data)
	if err := w.document(); err != nil {
		return nil, err
	}
	if err := decode(data, &l.config); err != nil {
		return nil, l.syntaxError(err)
	}
	if err := l.check(); err != nil {
		return nil, err
	}
	return l, l.moveRules()
}

// decode decodes a document whose keys are known.
func decode(data []byte, c *Config) error {
	return toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().EnableUnmarshalerInterface().Decode(c)
}

func (l *layer) syntaxError(err error) error {
	var at *toml.DecodeError
	if !errors.As(err, &at) {
		return l.errorAt(place{1, 1}, "%v", err)
	}
	line, column := at.Position()
	return l.errorAt(place{line, column}, "%s", brief(strings.TrimPrefix(at.Error(), "toml: ")))
}

// check checks the values that are set.
func (l *layer) check() error {
	if at, set := l.keys["base_url"]; set && l.config.Provider == "" && l.file() && !l.project() {
		return l.errorAt(at, "base_url needs provider in the same file, because the provider's key is sent to it")
	}
	for _, f := range fields {
		at, set := l.keys[f.key]
		if !set {
			continue
		}
		v := f.in(&l.config)
		if f.isMap() {
			if err := l.checkProviders(); err != nil {
				return err
			}
			continue
		}
		if !f.isList() {
			if err := f.check(v); err != nil {
				return l.errorAt(at, "%v", err)
			}
			continue
		}
		for i, at := range l.items[f.key] {
			if err := f.check(v.Index(i)); err != nil {
				return l.errorAt(at, "%v", err)
			}
		}
	}
	return nil
}

// checkProviders checks the provider entries.
func (l *layer) checkProviders() error {
	for _, name := range slices.Sorted(maps.Keys(l.config.Providers)) {
		key := "providers." + name
		at, found := l.keys[key]
		if !found {
			at = l.keys["providers"]
		}
		p := l.config.Providers[name]
		if err := checkAny(key, "", reflect.ValueOf(p)); err != nil {
			return l.errorAt(at, "%v", err)
		}
		if err := p.check(name); err != nil {
			return l.errorAt(at, "%s: %v", key, err)
		}
	}
	return nil
}

// walker finds the positions of all keys, and checks that they exist and have the right type.
type walker struct {
	layer  *layer
	parser unstable.Parser
	lines  []int // line starts
}

func lineStarts(data []byte) []int {
	starts := []int{0}
	for i, b := range data {
		if b == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

func (w *walker) place(r unstable.Range) place {
	offset := int(r.Offset)
	line, found := slices.BinarySearch(w.lines, offset)
	if found {
		line++
	}
	return place{line, offset - w.lines[line-1] + 1}
}

func (w *walker) document() error {
	var table []string
	for w.parser.NextExpression() {
		var err error
		switch e := w.parser.Expression(); e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table, _ = path(e)
			err = w.header(e, table)
		default:
			err = w.keyValue(table, e)
		}
		if err != nil {
			return err
		}
	}
	return w.parser.Error()
}

// path returns a key's parts and start.
func path(n *unstable.Node) (parts []string, at unstable.Range) {
	for it := n.Key(); it.Next(); {
		if len(parts) == 0 {
			at = it.Node().Raw
		}
		parts = append(parts, string(it.Node().Data))
	}
	return parts, at
}

// header checks [section] and [[list]].
func (w *walker) header(n *unstable.Node, table []string) error {
	_, raw := path(n)
	at := w.place(raw)
	t, known := resolve(table)
	key := strings.Join(table, ".")
	switch {
	case known < len(table):
		return w.layer.errorAt(at, "%v", unknownKey(t, table, known))
	case n.Kind == unstable.Table && (t.Kind() == reflect.Struct || t.Kind() == reflect.Map):
		w.mark(table, at)
		return nil
	case n.Kind == unstable.ArrayTable && t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		w.mark(table, at)
		w.element(key, at)
		return nil
	}
	return w.layer.errorAt(at, "%s must be %s, not a table", key, typeName(t))
}

// mark records a map entry's place, and that the map is set.
func (w *walker) mark(full []string, at place) {
	if t, _ := resolve(full[:1]); t.Kind() != reflect.Map {
		return
	}
	for n := 1; n <= min(2, len(full)); n++ {
		key := strings.Join(full[:n], ".")
		if _, set := w.layer.keys[key]; !set {
			w.layer.keys[key] = at
		}
	}
}

// element records a list element.
func (w *walker) element(key string, at place) {
	if _, set := w.layer.keys[key]; !set {
		w.layer.keys[key] = at
	}
	w.layer.items[key] = append(w.layer.items[key], at)
}

func (w *walker) keyValue(table []string, n *unstable.Node) error {
	parts, raw := path(n)
	full := slices.Concat(table, parts)
	at := w.place(raw)
	t, known := resolve(full)
	if known < len(full) {
		return w.layer.errorAt(at, "%v", unknownKey(t, full, known))
	}
	w.mark(full, at)
	return w.value(full, t, n.Value(), at)
}

// value checks a value of type t.
func (w *walker) value(full []string, t reflect.Type, n *unstable.Node, at place) error {
	key := strings.Join(full, ".")
	if !fits(t, n.Kind) {
		return w.layer.errorAt(at, "%s must be %s", key, typeName(t))
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		for it := n.Children(); it.Next(); {
			if err := w.keyValue(full, it.Node()); err != nil {
				return err
			}
		}
		return nil
	case reflect.Slice:
		w.layer.keys[key] = at
		for it := n.Children(); it.Next(); {
			place := at
			if it.Node().Raw.Length > 0 {
				place = w.place(it.Node().Raw)
			}
			if !fits(t.Elem(), it.Node().Kind) {
				return w.layer.errorAt(place, "%s must be %s", key, typeName(t))
			}
			w.element(key, place)
			if t.Elem().Kind() == reflect.Struct {
				if err := w.value(full, t.Elem(), it.Node(), place); err != nil {
					return err
				}
			}
		}
		return nil
	}
	w.layer.keys[key] = at
	return nil
}

// fits reports whether a TOML value can have a type.
func fits(t reflect.Type, kind unstable.Kind) bool {
	if t == networkType {
		return fitsNetwork(kind)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return fits(t.Elem(), kind)
	case reflect.String:
		return kind == unstable.String
	case reflect.Bool:
		return kind == unstable.Bool
	case reflect.Int:
		return kind == unstable.Integer
	case reflect.Float64:
		return kind == unstable.Float || kind == unstable.Integer
	case reflect.Slice:
		return kind == unstable.Array
	case reflect.Struct, reflect.Map:
		return kind == unstable.InlineTable
	}
	return false
}

// typeName describes a type in an error.
func typeName(t reflect.Type) string {
	if t == networkType {
		return networkForm
	}
	switch t.Kind() {
	case reflect.Pointer:
		return typeName(t.Elem())
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Struct {
			return "a list of tables"
		}
		return "a list of strings"
	}
	return "a table"
}
