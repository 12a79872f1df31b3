package requests

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
)

// Lost returns the paths of values in JSON a that are not in JSON b. Null values do not count.
func Lost(a, b []byte) ([]string, error) {
	x, err := tree(a)
	if err != nil {
		return nil, err
	}
	y, err := tree(b)
	if err != nil {
		return nil, err
	}
	var paths []string
	compare("", x, y, &paths)
	slices.Sort(paths)
	return paths, nil
}

func compare(path string, a, b any, paths *[]string) {
	switch a := a.(type) {
	case nil:
	case map[string]any:
		b, _ := b.(map[string]any)
		for key, v := range a {
			at := key
			if path != "" {
				at = path + "." + key
			}
			compare(at, v, b[key], paths)
		}
	case []any:
		list, _ := b.([]any)
		for i, v := range a {
			var other any
			if i < len(list) {
				other = list[i]
			}
			compare(path+"["+strconv.Itoa(i)+"]", v, other, paths)
		}
	default:
		if !equal(a, b) {
			*paths = append(*paths, path)
		}
	}
}

// equal compares JSON trees, numbers by value.
func equal(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		return ok && (a == b || sameNumber(a, b))
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for key, v := range a {
			if w, ok := b[key]; !ok || !equal(v, w) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	}
	return a == b
}

// sameNumber compares numbers short enough to be exact.
func sameNumber(a, b json.Number) bool {
	const exact = 15
	x, errX := a.Float64()
	y, errY := b.Float64()
	return errX == nil && errY == nil && x == y && len(a) < exact && len(b) < exact
}

// Equal reports whether two JSON texts are equal, numbers by value.
func Equal(a, b []byte) bool {
	x, errX := tree(a)
	y, errY := tree(b)
	return errX == nil && errY == nil && equal(x, y)
}

func tree(data []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	return v, err
}
