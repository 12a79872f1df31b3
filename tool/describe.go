package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// named returns a path as a message refers to it.
func named(path string) string {
	if path == "" {
		return "the argument object"
	}
	return fmt.Sprintf("%q", path)
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// describe names a value's type and shows the value, shortened.
func describe(v any) string {
	b, _ := json.Marshal(v)
	text := shorten(string(b), 60)
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "the string " + text
	case bool:
		return "the boolean " + text
	case float64:
		return "the number " + text
	case []any:
		return "the array " + text
	}
	return "the object " + text
}

// shorten truncates text to limit bytes.
func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}

// line returns a schema on one line.
func line(s *jsonschema.Schema) string {
	if s == nil {
		return "any value"
	}
	b, err := json.Marshal(s)
	if err != nil {
		return "?"
	}
	return shorten(string(b), 400)
}

func names(s *jsonschema.Schema) string {
	if len(s.Properties) == 0 {
		return "none"
	}
	return strings.Join(sortedKeys(s.Properties), ", ")
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// decodeStrict decodes one JSON value. It rejects duplicate members, which readers interpret differently.
func decodeStrict(data []byte) (any, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return map[string]any{}, nil
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	v, err := decodeValue(dec, "", 0)
	if err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("the arguments are not valid JSON: %w (at byte %d of %d)", err, dec.InputOffset(), len(data))
		}
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("the arguments contain more than one JSON value")
	}
	return v, nil
}

func decodeValue(dec *json.Decoder, path string, depth int) (any, error) {
	if depth > 200 {
		return nil, errors.New("the arguments are nested too deeply")
	}
	tok, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch tok {
	case json.Delim('{'):
		return decodeObject(dec, path, depth)
	case json.Delim('['):
		list := []any{}
		for dec.More() {
			v, err := decodeValue(dec, fmt.Sprintf("%s[%d]", path, len(list)), depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = dec.Token()
		return list, err
	}
	return tok, nil
}

func decodeObject(dec *json.Decoder, path string, depth int) (any, error) {
	object := map[string]any{}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return nil, err
		}
		name, ok := tok.(string)
		if !ok {
			return nil, errors.New("the arguments are not valid JSON: a member name is missing")
		}
		if _, twice := object[name]; twice {
			return nil, fmt.Errorf("%s is given twice", named(join(path, name)))
		}
		if object[name], err = decodeValue(dec, join(path, name), depth+1); err != nil {
			return nil, err
		}
	}
	_, err := dec.Token()
	return object, err
}
