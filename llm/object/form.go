package object

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/reins-agent/reins/llm"
)

// form is what is asked for.
type form struct {
	request *llm.Request
	schema  *jsonschema.Resolved
	wrapped bool // the value stands in the member "value" of an object
}

// formFor adds the schema of T to a copy of the request.
func formFor[T any](r *llm.Request) (*form, error) {
	output := llm.OutputFormat{}
	if r.Output != nil {
		output = *r.Output
	}
	schema, wrapped, err := schemaFor[T](output.Schema)
	if err != nil {
		return nil, llm.Errorf(llm.ErrConfiguration, "", "there is no JSON Schema for %T: %w", *new(T), err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return nil, llm.Errorf(llm.ErrConfiguration, "", "the JSON Schema for %T does not hold together: %w", *new(T), err)
	}
	if output.Schema == nil {
		if output.Schema, err = json.Marshal(schema); err != nil {
			return nil, llm.Errorf(llm.ErrConfiguration, "", "the JSON Schema for %T cannot be written: %w", *new(T), err)
		}
	}
	if output.Name == "" {
		output.Name = "answer"
	}
	if output.Strict == nil {
		strict := isStrict(schema)
		output.Strict = &strict
	}
	request := *r
	request.Output = &output
	return &form{&request, resolved, wrapped}, nil
}

// schemaFor reads the caller's schema, or else makes the one of T. Providers want an object at the
// root; any other T is wrapped in one.
func schemaFor[T any](given json.RawMessage) (schema *jsonschema.Schema, wrapped bool, err error) {
	if given != nil {
		schema = new(jsonschema.Schema)
		return schema, false, json.Unmarshal(given, schema)
	}
	schema, err = jsonschema.For[T](nil)
	if err != nil || schema.Type == "object" {
		return schema, false, err
	}
	return &jsonschema.Schema{
		Type:                 "object",
		Properties:           map[string]*jsonschema.Schema{"value": schema},
		Required:             []string{"value"},
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	}, true, nil
}

// isStrict reports whether providers can hold a model to the schema while it writes: every object
// must list its members, all of them required.
func isStrict(s *jsonschema.Schema) bool {
	if s == nil {
		return true
	}
	if s.Type == "object" || slices.Contains(s.Types, "object") {
		if s.AdditionalProperties == nil || s.AdditionalProperties.Not == nil || len(s.Required) != len(s.Properties) {
			return false
		}
	}
	for _, p := range s.Properties {
		if !isStrict(p) {
			return false
		}
	}
	typed := s.Type != "" || s.Types != nil || s.Enum != nil || s.Const != nil || s.AnyOf != nil || s.Ref != ""
	return typed && isStrict(s.Items) && !slices.ContainsFunc(s.AnyOf, func(s *jsonschema.Schema) bool { return !isStrict(s) })
}

// answer is the text that should hold the value: the answer's own, or else the arguments of a call
// of the tool by which a provider was made to give it.
func (f *form) answer(resp *llm.Response) string {
	if text := resp.Text(); strings.TrimSpace(text) != "" {
		return text
	}
	for _, c := range resp.ToolCalls() {
		if c.Name == f.request.Output.Name {
			return c.Arguments
		}
	}
	return ""
}

// unfence takes text out of the fenced code block around it. The block's end may still be missing.
func unfence(text string) string {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
		return text
	}
	const fence = "```"
	_, inside, ok := strings.Cut(text, fence)
	if !ok {
		return text
	}
	_, inside, _ = strings.Cut(inside, "\n") // past the language
	if end := strings.LastIndex(inside, fence); end >= 0 {
		inside = inside[:end]
	}
	return strings.TrimSpace(inside)
}
