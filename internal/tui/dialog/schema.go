package dialog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// field is a value that a form asks for.
type field struct {
	name     string
	title    string
	about    string
	kind     fieldKind
	options  []option // of choose and mark
	required bool
	preset   json.RawMessage
}

// fieldKind is how a field is filled in.
type fieldKind int

const (
	write   fieldKind = iota // a text
	number                   // a number
	integer                  // a number without fraction
	choose                   // one option
	mark                     // several options
	raw                      // JSON
)

// option is a possible value.
type option struct {
	value json.RawMessage
	label string
}

// schema holds the JSON schema keywords that forms use.
type schema struct {
	Type        json.RawMessage   `json:"type"`
	Title       string            `json:"title"`
	Description string            `json:"description"`
	Enum        []json.RawMessage `json:"enum"`
	EnumNames   []string          `json:"enumNames"`
	OneOf       []constant        `json:"oneOf"`
	AnyOf       []constant        `json:"anyOf"`
	Default     json.RawMessage   `json:"default"`
	Items       *schema           `json:"items"`
}

// constant is a value with a title.
type constant struct {
	Const json.RawMessage `json:"const"`
	Title string          `json:"title"`
}

// fields returns the form's fields in schema order.
func fields(data json.RawMessage) ([]field, error) {
	var form struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if err := json.Unmarshal(data, &form); err != nil {
		return nil, fmt.Errorf("the form cannot be shown: %w", err)
	}
	if len(form.Properties) == 0 || string(form.Properties) == "null" {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(form.Properties))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("the form cannot be shown: its properties are not an object")
	}
	var list []field
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("the form cannot be shown: %w", err)
		}
		var whole json.RawMessage
		if err := d.Decode(&whole); err != nil {
			return nil, fmt.Errorf("the form cannot be shown: %w", err)
		}
		f := newFieldOf(fmt.Sprint(name), whole)
		f.required = slices.Contains(form.Required, f.name)
		list = append(list, f)
	}
	return list, nil
}

// newFieldOf returns a field. What its schema does not say simply is filled in as JSON.
func newFieldOf(name string, whole json.RawMessage) field {
	var s schema
	f := field{name: name, title: name, kind: raw}
	if json.Unmarshal(whole, &s) != nil {
		return f
	}
	if s.Title != "" {
		f.title = s.Title
	}
	f.about, f.preset = s.Description, s.Default
	switch f.options = s.options(); string(s.Type) {
	case `"string"`:
		f.kind = write
	case `"number"`:
		f.kind = number
	case `"integer"`:
		f.kind = integer
	case `"boolean"`:
		f.kind, f.options = choose, []option{{json.RawMessage("true"), "yes"}, {json.RawMessage("false"), "no"}}
	case `"array"`:
		if s.Items != nil {
			f.options = s.Items.options()
		}
		if len(f.options) > 0 {
			f.kind = mark
		}
		return f
	}
	if len(f.options) > 0 {
		f.kind = choose
	}
	return f
}

// options returns the values that a schema lists.
func (s *schema) options() (list []option) {
	for i, v := range s.Enum {
		o := option{v, plainValue(v)}
		if i < len(s.EnumNames) {
			o.label = s.EnumNames[i]
		}
		list = append(list, o)
	}
	for _, c := range slices.Concat(s.OneOf, s.AnyOf) {
		if len(c.Const) == 0 {
			return nil
		}
		o := option{c.Const, c.Title}
		if o.label == "" {
			o.label = plainValue(c.Const)
		}
		list = append(list, o)
	}
	return list
}

// plainValue returns a JSON value as users write it.
func plainValue(v json.RawMessage) string {
	var s string
	if json.Unmarshal(v, &s) == nil {
		return s
	}
	return string(v)
}

// parse returns the value that was typed.
func (f *field) parse(s string) (json.RawMessage, error) {
	switch f.kind {
	case write:
		return json.Marshal(s)
	case integer:
		if _, err := strconv.ParseInt(s, 10, 64); err != nil {
			return nil, fmt.Errorf("%s must be a whole number", f.title)
		}
		return json.RawMessage(strings.TrimPrefix(s, "+")), nil
	case number:
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return nil, fmt.Errorf("%s must be a number", f.title)
		}
		b, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("%s must be a number", f.title)
		}
		return b, nil
	}
	if !json.Valid([]byte(s)) {
		return nil, fmt.Errorf("%s must be JSON", f.title)
	}
	return json.RawMessage(s), nil
}
