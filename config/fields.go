package config

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reins-agent/reins/internal/suggest"
)

// field is one configuration key: a scalar or a list.
type field struct {
	key   string // with its sections, such as "permissions.mode"
	index []int  // in Config
	typ   reflect.Type
	tag   reflect.StructTag
}

// fields lists all keys, in the order of Config.
var fields = listFields(reflect.TypeFor[Config](), "", nil)

func listFields(t reflect.Type, prefix string, index []int) (list []field) {
	for i := range t.NumField() {
		f := t.Field(i)
		key, at := prefix+f.Tag.Get("toml"), append(slices.Clone(index), i)
		if f.Type.Kind() == reflect.Struct {
			list = append(list, listFields(f.Type, key+".", at)...)
			continue
		}
		list = append(list, field{key, at, f.Type, f.Tag})
	}
	return list
}

// Keys returns all keys, such as "permissions.mode".
func Keys() (names []string) {
	for _, f := range fields {
		names = append(names, f.key)
	}
	return names
}

// findField returns the field for a key, or an error with a suggestion.
func findField(key string) (field, error) {
	for _, f := range fields {
		if f.key == key {
			return f, nil
		}
	}
	path := strings.Split(key, ".")
	t, known := resolve(path)
	if top, _ := resolve(path[:1]); known == len(path) && top.Kind() == reflect.Map {
		return field{}, fmt.Errorf("%s cannot be read or set on its own; read %s instead, or edit the file", key, path[0])
	}
	if known == len(path) && t.Kind() == reflect.Struct {
		keys := slices.DeleteFunc(Keys(), func(k string) bool { return !strings.HasPrefix(k, key+".") })
		return field{}, fmt.Errorf("%s is a section; use one of its keys: %s", key, strings.Join(keys, ", "))
	}
	return field{}, unknownKey(t, path, known)
}

// resolve returns a key's type and the length of its path. For an unknown key it returns the type in which a path
// element is missing, and that element's index.
func resolve(path []string) (t reflect.Type, known int) {
	t = reflect.TypeFor[Config]()
	for i, name := range path {
		if t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		if t.Kind() == reflect.Map {
			t = t.Elem()
			continue
		}
		next, ok := child(t, name)
		if !ok {
			return t, i
		}
		t = next
	}
	return t, len(path)
}

func child(t reflect.Type, name string) (reflect.Type, bool) {
	if t.Kind() == reflect.Struct {
		for i := range t.NumField() {
			if f := t.Field(i); f.Tag.Get("toml") == name {
				return f.Type, true
			}
		}
	}
	return nil, false
}

// unknownKey returns an error about a path element that t does not have. It suggests a key with the same name in
// another section, or else a similar key in the same section.
func unknownKey(t reflect.Type, path []string, part int) error {
	section := strings.Join(path[:part], ".")
	if section != "" {
		section += "."
	}
	name := path[min(part, len(path)-1)]
	key := brief(strings.Join(path, "."))
	var siblings []string
	if t.Kind() == reflect.Struct {
		for i := range t.NumField() {
			siblings = append(siblings, t.Field(i).Tag.Get("toml"))
		}
	}
	for _, f := range fields {
		if strings.HasSuffix("."+f.key, "."+path[len(path)-1]) {
			return fmt.Errorf("unknown key %q; did you mean %s?", key, f.key)
		}
	}
	if near := suggest.Words(name, siblings); len(near) > 0 {
		return fmt.Errorf("unknown key %q; did you mean %s%s?", key, section, near[0])
	}
	return fmt.Errorf("unknown key %q; \"reins config schema\" describes all keys", key)
}

func (f field) in(c *Config) reflect.Value { return reflect.ValueOf(c).Elem().FieldByIndex(f.index) }

func (f field) isList() bool { return f.typ.Kind() == reflect.Slice }

func (f field) isMap() bool { return f.typ.Kind() == reflect.Map }

// check returns an error for a value out of bounds. For a list it checks one element.
func (f field) check(v reflect.Value) error {
	if f.key == "provider" {
		return nil // checkProvider checks it
	}
	if n, ok := v.Interface().(Network); ok {
		return n.check()
	}
	return checkAny(f.key, f.tag, v)
}

// checkAny checks a value and the values in it.
func checkAny(name string, tag reflect.StructTag, v reflect.Value) error {
	switch v.Kind() {
	case reflect.Struct:
		return checkStruct(name, v)
	case reflect.Slice:
		for i := range v.Len() {
			if err := checkAny(name, tag, v.Index(i)); err != nil {
				return err
			}
		}
		return nil
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	}
	return checkValue(name, tag, v)
}

func checkStruct(name string, v reflect.Value) error {
	for i := range v.NumField() {
		sub := v.Type().Field(i)
		name := name + "." + sub.Tag.Get("toml")
		required := !strings.Contains(sub.Tag.Get("json"), ",omitempty")
		if required && v.Field(i).IsZero() {
			return fmt.Errorf("%s is missing", name)
		}
		if err := checkAny(name, sub.Tag, v.Field(i)); err != nil {
			return err
		}
	}
	return nil
}

func checkValue(name string, tag reflect.StructTag, v reflect.Value) error {
	if tag.Get("format") == "duration" && v.String() != "" {
		if d, err := time.ParseDuration(v.String()); err != nil || d <= 0 {
			return fmt.Errorf("%s must be a time such as 90s or 20m", name)
		}
	}
	if enum := strings.Fields(tag.Get("enum")); len(enum) > 0 && v.String() != "" && !slices.Contains(enum, v.String()) {
		return fmt.Errorf("unknown %s %q; use %s", name, brief(v.String()), suggest.Or(enum))
	}
	var n float64
	switch {
	case v.CanInt():
		n = float64(v.Int())
	case v.CanFloat():
		n = v.Float()
	}
	low, high := bounds(tag)
	switch {
	case math.IsNaN(n) || math.IsInf(n, 0):
		return fmt.Errorf("%s must be a finite number", name)
	case n < low && math.IsInf(high, 1):
		return fmt.Errorf("%s must be at least %v", name, low)
	case n < low || n > high:
		return fmt.Errorf("%s must be between %v and %v", name, low, high)
	}
	return nil
}

// bounds returns a number's limits.
func bounds(tag reflect.StructTag) (low, high float64) {
	low, high = math.Inf(-1), math.Inf(1)
	if n, err := strconv.ParseFloat(tag.Get("min"), 64); err == nil {
		low = n
	}
	if n, err := strconv.ParseFloat(tag.Get("max"), 64); err == nil {
		high = n
	}
	return low, high
}
