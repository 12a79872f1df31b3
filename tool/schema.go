package tool

import (
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"weak"

	"github.com/google/jsonschema-go/jsonschema"
)

// schemas caches the schema for each input type, for all sessions.
var schemas sync.Map // of reflect.Type to json.RawMessage

// schemaFor returns the schema for a struct type, without the nulls that pointers and slices would allow.
func schemaFor(tool string, t reflect.Type) json.RawMessage {
	if b, known := schemas.Load(t); known {
		return b.(json.RawMessage)
	}
	b := inferSchema(tool, t)
	schemas.Store(t, b)
	return b
}

func inferSchema(tool string, t reflect.Type) json.RawMessage {
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{})
	if err != nil {
		panic(fmt.Sprintf("tool %s: input type has no schema: %v", tool, err))
	}
	withoutNull(s)
	if b, ok := appendSchema(nil, s); ok {
		return b
	}
	b, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("tool %s: cannot encode input schema: %v", tool, err))
	}
	return b
}

// appendSchema appends a schema as JSON in a tenth of the time that json.Marshal takes, which matters at every program
// start. It reports false for a schema with keywords that it does not support.
func appendSchema(b []byte, s *jsonschema.Schema) ([]byte, bool) {
	rest := *s
	rest.Type = ""
	rest.Description = ""
	rest.Properties = nil
	rest.PropertyOrder = nil
	rest.Items = nil
	rest.Required, rest.AdditionalProperties = nil, nil
	if s.Type == "" || len(s.PropertyOrder) != len(s.Properties) || !reflect.ValueOf(rest).IsZero() {
		return nil, false
	}
	ok := true
	b = append(append(b, `{"type":`...), quoted(s.Type)...)
	if s.Properties != nil {
		b = append(b, `,"properties":{`...)
		for i, name := range s.PropertyOrder {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(append(b, quoted(name)...), ':')
			if b, ok = appendSchema(b, s.Properties[name]); !ok {
				return nil, false
			}
		}
		b = append(b, '}')
	}
	if s.Items != nil {
		if b, ok = appendSchema(append(b, `,"items":`...), s.Items); !ok {
			return nil, false
		}
	}
	if s.Description != "" {
		b = append(append(b, `,"description":`...), quoted(s.Description)...)
	}
	if len(s.Required) > 0 {
		b = append(append(b, `,"required":`...), quoted(s.Required)...)
	}
	if s.AdditionalProperties != nil {
		if !reflect.DeepEqual(s.AdditionalProperties, &jsonschema.Schema{Not: &jsonschema.Schema{}}) {
			return nil, false
		}
		b = append(b, `,"additionalProperties":false`...)
	}
	return append(b, '}'), true
}

// quoted returns a string, or a list of strings, as JSON.
func quoted[T string | []string](v T) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // encoding a string cannot fail
	}
	return b
}

func withoutNull(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if i := slices.Index(s.Types, "null"); i >= 0 && len(s.Types) == 2 {
		s.Type = s.Types[1-i]
		s.Types = nil
	}
	for _, p := range s.Properties {
		withoutNull(p)
	}
	withoutNull(s.Items)
	withoutNull(s.AdditionalProperties)
}

// checker validates arguments against a schema. It is compiled when it is first used.
type checker struct {
	source   json.RawMessage
	once     sync.Once
	err      error // set if the schema is invalid
	schema   *jsonschema.Schema
	resolved *jsonschema.Resolved
}

// checkers shares checkers between registries, by schema: a checker is far larger than its schema, and
// thousands of sessions have the same tools.
var checkers sync.Map // of string to weak.Pointer[checker]

func checkerFor(schema json.RawMessage) *checker {
	key := string(schema)
	if p, known := checkers.Load(key); known {
		if c := p.(weak.Pointer[checker]).Value(); c != nil {
			return c
		}
	}
	c := &checker{source: schema}
	p := weak.Make(c)
	checkers.Store(key, p)
	runtime.AddCleanup(c, func(key string) { checkers.CompareAndDelete(key, p) }, key)
	return c
}

// compile prepares the checker, and returns an error if its schema is invalid.
func (c *checker) compile() error {
	c.once.Do(func() {
		var s jsonschema.Schema
		if c.err = json.Unmarshal(c.source, &s); c.err != nil {
			return
		}
		if s.Type != "object" {
			c.err = fmt.Errorf("type is %q, must be \"object\"", s.Type)
			return
		}
		c.schema = &s
		c.resolved, c.err = s.Resolve(nil)
	})
	return c.err
}

// check returns an error for invalid arguments.
func (c *checker) check(args json.RawMessage) error {
	if err := c.compile(); err != nil {
		return fmt.Errorf("invalid input schema: %w", err)
	}
	v, err := decodeStrict(args)
	if err != nil {
		return err
	}
	if _, ok := v.(map[string]any); !ok {
		return fmt.Errorf("the arguments are %s but must be an object; schema: %s", describe(v), line(c.schema))
	}
	if err := checkValue(c.schema, "", v); err != nil {
		return err
	}
	if err := c.resolved.Validate(v); err != nil {
		return fmt.Errorf("the arguments do not match the schema: %w", err)
	}
	return nil
}

// checkValue reports common mistakes with better messages than the validator's.
func checkValue(s *jsonschema.Schema, path string, v any) error {
	if s.Type != "" && !hasType(v, s.Type) {
		return fmt.Errorf("%s is %s but must be of type %s; schema: %s", named(path), describe(v), s.Type, line(s))
	}
	if len(s.Enum) > 0 && !slices.ContainsFunc(s.Enum, func(e any) bool { return reflect.DeepEqual(e, v) }) {
		return fmt.Errorf("%s is %s but must be one of the enum values; schema: %s", named(path), describe(v), line(s))
	}
	switch v := v.(type) {
	case map[string]any:
		return checkObject(s, path, v)
	case []any:
		if s.Items == nil {
			return nil
		}
		for i, e := range v {
			if err := checkValue(s.Items, fmt.Sprintf("%s[%d]", path, i), e); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkObject(s *jsonschema.Schema, path string, v map[string]any) error {
	for _, name := range s.Required {
		if _, given := v[name]; !given {
			return fmt.Errorf("%s is missing; schema: %s", named(join(path, name)), line(s.Properties[name]))
		}
	}
	closed := s.AdditionalProperties != nil && s.AdditionalProperties.Not != nil
	for _, name := range sortedKeys(v) {
		p, known := s.Properties[name]
		if !known && closed && len(s.PatternProperties) == 0 {
			return fmt.Errorf("unknown argument %s (got %s); valid arguments: %s", named(join(path, name)), describe(v[name]), names(s))
		}
		if known {
			if err := checkValue(p, join(path, name), v[name]); err != nil {
				return err
			}
		}
	}
	return nil
}

func hasType(v any, want string) bool {
	switch v := v.(type) {
	case nil:
		return want == "null"
	case bool:
		return want == "boolean"
	case string:
		return want == "string"
	case float64:
		return want == "number" || want == "integer" && v == float64(int64(v))
	case []any:
		return want == "array"
	case map[string]any:
		return want == "object"
	}
	return false
}
