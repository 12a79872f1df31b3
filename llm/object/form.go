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

// Form describes the requested JSON and reads it from answers. It is immutable and its methods are pure, so a
// recorded conversation is always read in the same way.
type Form struct {
	output  llm.OutputFormat
	schema  *jsonschema.Resolved
	wrapped bool // the value is an object's member "value"
	array   bool // the schema requires an object whose only member, "value", is an array
}

const (
	answerName = "answer" // default output name
	valueName  = "value"  // member that holds a value other than an object
)

// FormOf returns the form for a Go type. The "json" and "jsonschema" tags describe its fields to the model. Providers
// require an object as a schema's root: FormOf wraps any other type in an object, and [Form.Decode] unwraps it.
func FormOf[T any]() (*Form, error) {
	schema, err := jsonschema.For[T](nil)
	if err != nil {
		return nil, llm.Errorf(llm.ErrConfiguration, "", "cannot create a JSON Schema for %T: %w", *new(T), err)
	}
	plainArrays(schema)
	wrapped := schema.Type != "object"
	if wrapped {
		schema = &jsonschema.Schema{
			Type:                 "object",
			Properties:           map[string]*jsonschema.Schema{valueName: schema},
			Required:             []string{valueName},
			AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
		}
	}
	raw, err := json.Marshal(schema)
	if err != nil {
		return nil, llm.Errorf(llm.ErrConfiguration, "", "cannot marshal the JSON Schema for %T: %w", *new(T), err)
	}
	return newForm(llm.OutputFormat{Schema: raw}, schema, wrapped)
}

// plainArrays removes null from the types of arrays: a model with nothing to list returns an empty list.
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

// ParseForm returns the form for an output format, such as one from a record. Its Decode method does not unwrap
// values.
func ParseForm(output llm.OutputFormat) (*Form, error) {
	schema := &jsonschema.Schema{Type: "object"} // without a schema, any object
	if len(output.Schema) > 0 {
		schema = new(jsonschema.Schema)
		if err := json.Unmarshal(output.Schema, schema); err != nil {
			return nil, llm.Errorf(llm.ErrConfiguration, "", "the output schema is not a JSON Schema: %w", err)
		}
	}
	return newForm(output, schema, false)
}

// bare returns the schema for the value in an object that [FormOf] added, or nil for other schemas.
func bare(s *jsonschema.Schema) *jsonschema.Schema {
	if s.Type != "object" || len(s.Properties) != 1 || len(s.Required) != 1 || s.Required[0] != valueName {
		return nil
	}
	return s.Properties[valueName]
}

// wrap puts an array into the object that the schema requires, if a model returned it without: some models ignore the
// object around it.
func (f *Form) wrap(text string) string {
	if f.array && strings.HasPrefix(text, "[") {
		return `{"` + valueName + `":` + text + "}"
	}
	return text
}

func newForm(output llm.OutputFormat, schema *jsonschema.Schema, wrapped bool) (*Form, error) {
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return nil, llm.Errorf(llm.ErrConfiguration, "", "invalid output schema: %w", err)
	}
	if output.Name == "" {
		output.Name = answerName
	}
	if output.Strict == nil && len(output.Schema) > 0 {
		strict := isStrict(schema)
		output.Strict = &strict
	}
	value := bare(schema)
	return &Form{output, resolved, wrapped, value != nil && value.Type == "array"}, nil
}

// isStrict reports whether providers can enforce the schema during generation: every object must list its
// members, all of them required.
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

// Output returns the output format for a request. Its Strict is set by default if the schema allows it.
func (f *Form) Output() llm.OutputFormat { return f.output }

// Ask returns the message that requests the object from a model when its work is done.
func (f *Form) Ask() string {
	if len(f.output.Schema) == 0 {
		return "Return the result of your work now, as a JSON object and nothing else."
	}
	return fmt.Sprintf("Return the result of your work now, as JSON and nothing else. It must match this schema: %s", f.output.Schema)
}

// Repair returns the message that reports an invalid object to a model.
func (f *Form) Repair(wrong error) string {
	return fmt.Sprintf("That is not the requested object: %v. Return it again, as JSON and nothing else.", wrong)
}

// Extract returns the JSON in an answer: its text without a fenced code block around it, or else the arguments in a
// call to the output tool. It returns "" if it finds neither. An array is put into the object that [FormOf]'s schema
// requires.
func (f *Form) Extract(msg llm.Message) string { return f.wrap(unfence(f.answer(msg))) }

// answer returns the text in a message that should contain the value.
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

// Check returns an error if the JSON from Extract does not match the schema.
func (f *Form) Check(text string) error {
	if text == "" {
		return errors.New("it is empty")
	}
	var tree any
	if err := json.Unmarshal([]byte(text), &tree); err != nil {
		return fmt.Errorf("it is not JSON: %w", err)
	}
	if err := f.schema.Validate(tree); err != nil {
		return fmt.Errorf("it does not match the schema: %w", err)
	}
	return nil
}

// Decode checks the JSON and stores it in the value, a pointer.
func (f *Form) Decode(text string, value any) error {
	if err := f.Check(text); err != nil {
		return err
	}
	if err := f.unmarshal([]byte(text), value); err != nil {
		return fmt.Errorf("it matches the schema but not the type: %w", err)
	}
	return nil
}

// unmarshal decodes and unwraps the value.
func (f *Form) unmarshal(data []byte, value any) error {
	if f.wrapped {
		value = &struct {
			Value any `json:"value"`
		}{value}
	}
	return json.Unmarshal(data, value)
}

// unfence returns the text in a fenced code block, whose end may be missing, or else the text itself.
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
	_, inside, _ = strings.Cut(inside, "\n") // skip the language
	if end := strings.LastIndex(inside, fence); end >= 0 {
		inside = inside[:end]
	}
	return strings.TrimSpace(inside)
}
