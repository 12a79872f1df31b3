package dialog

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Field is a value that a form asks for, for faces that ask for one after the other.
type Field struct{ field }

// Fields returns the fields of a form with a JSON schema, in schema order.
func Fields(schema json.RawMessage) (list []Field, err error) {
	all, err := fields(schema)
	for _, f := range all {
		list = append(list, Field{f})
	}
	return list, err
}

// Name returns the property name.
func (f Field) Name() string { return f.name }

// Describe returns title, description and options on one line. It is untrusted.
func (f Field) Describe() string {
	s := f.title
	if f.required {
		s += " (required)"
	}
	if f.about != "" {
		s += ": " + f.about
	}
	var labels []string
	for _, o := range f.options {
		labels = append(labels, o.label)
	}
	switch {
	case f.kind == mark:
		s += "; any of: " + strings.Join(labels, ", ")
	case len(labels) > 0:
		s += "; one of: " + strings.Join(labels, ", ")
	}
	if len(f.preset) > 0 {
		s += "; usually " + plainValue(f.preset)
	}
	return s
}

// Value returns the value that a line gives: an option's label, several labels separated by commas, or text.
func (f Field) Value(line string) (json.RawMessage, error) {
	switch f.kind {
	case choose:
		return f.labelled(line)
	case mark:
		var list []json.RawMessage
		for label := range strings.SplitSeq(line, ",") {
			v, err := f.labelled(strings.TrimSpace(label))
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return json.Marshal(list)
	}
	return f.parse(line)
}

// labelled returns the value of the option with a label.
func (f Field) labelled(label string) (json.RawMessage, error) {
	i := slices.IndexFunc(f.options, func(o option) bool { return strings.EqualFold(o.label, label) })
	if i < 0 {
		return nil, fmt.Errorf("%q is not one of the options", label)
	}
	return f.options[i].value, nil
}
