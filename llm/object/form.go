package object

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/reins-agent/reins/llm"
)

// Form describes the JSON that is asked for and reads it from answers. A Form does not change and
// its methods are pure, so that a recorded conversation is read the same way again.
type Form struct {
	output  llm.OutputFormat
	schema  *jsonschema.Resolved
	wrapped bool // the value is the member "value" of an object
}

// answerName is the name of the output where the caller gives none.
const answerName = "answer"

// FormOf makes the form for a Go type. Fields are described to the model by their "json" and
// "jsonschema" tags. Providers want an object at the root of a schema; any other type is wrapped in
// one, and [Form.Decode] takes it out again.
func FormOf[T any]() (*Form, error) {
	schema, err := jsonschema.For[T](nil)
	if err != nil {
		return nil, llm.Errorf(llm.ErrConfiguration, "", "cannot make a JSON Schema for %T: %w", *new(T), err)
	}
	plainArrays(schema)
	wrapped := schema.Type != "object"
	if wrapped {
		schema = &jsonschema.Schema{
			Type:                 "object",
			Properties:           map[string]*jsonschema.Schema{"value": schema},
			Required:             []string{"value"},
			AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
		}
	}
	raw, err := json.Marshal(schema)
	if err != nil {
		return nil, llm.Errorf(llm.ErrConfiguration, "", "cannot write the JSON Schema for %T: %w", *new(T), err)
	}
	return newForm(llm.OutputFormat{Schema: raw}, schema, wrapped)
}

// plainArrays makes arrays of what may be null or an array: a model that has nothing to list gives an
// empty list.
func plainArrays(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if len(s.Types) == 2 && slices.Contains(s.Types, "null") && slices.Contains(s.Types, "array") {
		s.Type, s.Types = "array", nil
	}
	for _, p := range s.Properties {
		plainArrays(p)
	}
	plainArrays(s.Items)
	plainArrays(s.AdditionalProperties)
}

// ParseForm makes the form for an output format, such as one that was recorded. It does not know
// about wrapped types: Decode reads the JSON as it stands.
func ParseForm(output llm.OutputFormat) (*Form, error) {
	schema := &jsonschema.Schema{Type: "object"} // without a schema, any object will do
	if len(output.Schema) > 0 {
		schema = new(jsonschema.Schema)
		if err := json.Unmarshal(output.Schema, schema); err != nil {
			return nil, llm.Errorf(llm.ErrConfiguration, "", "the schema of the output is not a JSON Schema: %w", err)
		}
	}
	return newForm(output, schema, false)
}

func newForm(output llm.OutputFormat, schema *jsonschema.Schema, wrapped bool) (*Form, error) {
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return nil, llm.Errorf(llm.ErrConfiguration, "", "the JSON Schema of the output is invalid: %w", err)
	}
	if output.Name == "" {
		output.Name = answerName
	}
	if output.Strict == nil && len(output.Schema) > 0 {
		strict := isStrict(schema)
		output.Strict = &strict
	}
	return &Form{output, resolved, wrapped}, nil
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

// Output returns the output format for a request. Strict is set if the schema allows it and the
// format did not say otherwise.
func (f *Form) Output() llm.OutputFormat { return f.output }

// Ask returns the message that asks a model for the object at the end of its work.
func (f *Form) Ask() string {
	if len(f.output.Schema) == 0 {
		return "Now give the result of your work as a JSON object and nothing else."
	}
	return fmt.Sprintf("Now give the result of your work as JSON and nothing else. It must fit this schema: %s", f.output.Schema)
}

// Repair returns the message that tells a model what was wrong with the object it gave.
func (f *Form) Repair(wrong error) string {
	return fmt.Sprintf("That is not the object that was asked for: %v. Give it again, as JSON and nothing else.", wrong)
}

// Extract returns the JSON in an answer: its text, without a fenced code block around it, or else
// the arguments of a call of the tool by which some providers are made to give it. It returns "" if
// there is neither.
func (f *Form) Extract(msg llm.Message) string { return unfence(f.answer(msg)) }

// answer is the text of a message that should hold the value.
func (f *Form) answer(msg llm.Message) string {
	if text := msg.Text(); strings.TrimSpace(text) != "" {
		return text
	}
	for _, c := range msg.ToolCalls() {
		if c.Name == f.output.Name {
			return c.Arguments
		}
	}
	return ""
}

// Check reports what is wrong with the JSON that Extract returned; nil if it fits the schema.
func (f *Form) Check(text string) error {
	if text == "" {
		return errors.New("it is empty")
	}
	var tree any
	if err := json.Unmarshal([]byte(text), &tree); err != nil {
		return fmt.Errorf("it is not JSON: %w", err)
	}
	if err := f.schema.Validate(tree); err != nil {
		return fmt.Errorf("it does not fit the schema: %w", err)
	}
	return nil
}

// Decode checks the JSON and stores it in the value that the pointer points to.
func (f *Form) Decode(text string, value any) error {
	if err := f.Check(text); err != nil {
		return err
	}
	if err := f.unmarshal([]byte(text), value); err != nil {
		return fmt.Errorf("it fits the schema but not the type: %w", err)
	}
	return nil
}

// unmarshal decodes into value, out of the object that it may be wrapped in.
func (f *Form) unmarshal(data []byte, value any) error {
	if f.wrapped {
		value = &struct {
			Value any `json:"value"`
		}{value}
	}
	return json.Unmarshal(data, value)
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
