package config

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schema returns the JSON Schema for a configuration file, indented.
func Schema() ([]byte, error) {
	s, err := jsonschema.For[Config](nil)
	if err != nil {
		return nil, err
	}
	s.Schema = "https://json-schema.org/draft/2020-12/schema"
	s.Title = "Reins configuration"
	s.DependentRequired = map[string][]string{"base_url": {"provider"}}
	complete(s, reflect.TypeFor[Config]())
	return json.MarshalIndent(s, "", "  ")
}

// complete applies the struct tags, and removes null, which TOML does not have.
func complete(s *jsonschema.Schema, t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		p := s.Properties[f.Tag.Get("toml")]
		if null := slices.Index(p.Types, "null"); null >= 0 {
			p.Type, p.Types = p.Types[1-null], nil
		}
		words := p
		if p.Items != nil {
			words = p.Items
		}
		for _, word := range strings.Fields(f.Tag.Get("enum")) {
			words.Enum = append(words.Enum, word)
		}
		low, high := bounds(f.Tag)
		if !math.IsInf(low, 0) {
			p.Minimum = &low
		}
		if !math.IsInf(high, 0) {
			p.Maximum = &high
		}
		if value, ok := f.Tag.Lookup("default"); ok {
			p.Default = json.RawMessage(value)
			if f.Type.Kind() == reflect.String {
				p.Default = json.RawMessage(`"` + value + `"`)
			}
		}
		switch {
		case f.Type == networkType:
			s.Properties[f.Tag.Get("toml")] = networkSchema(p.Description)
		case f.Tag.Get("toml") == "provider" && t == reflect.TypeFor[Config]():
			p.Enum = nil // another file may define more providers
		case f.Type.Kind() == reflect.Map && f.Type.Elem().Kind() == reflect.Struct:
			complete(p.AdditionalProperties, f.Type.Elem())
		case f.Type.Kind() == reflect.Struct:
			complete(p, f.Type)
		case f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct:
			complete(p.Items, f.Type.Elem())
		}
	}
}
