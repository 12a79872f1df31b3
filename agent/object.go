package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/tool"
)

// maxRepairs is how often a model is told what is wrong with the object it gave.
const maxRepairs = 2

// SubmitObject is Submit for a result that a program reads. When the work is done, the model is
// asked once more, with its tools off, for its result as JSON that fits the schema of T, whose fields
// are described by their "json" and "jsonschema" tags. The schema does not bear on anything that
// the model says before.
//
// There is a value only if the error is nil. Work that ends in another status than StatusDone has
// no value, and neither has a model that does not come up with one: the error is then an *llm.Error
// of kind llm.ErrNoObject, whose Body is what it gave instead.
func SubmitObject[T any](ctx context.Context, s *Session, input ...llm.Part) (value T, out Outcome, err error) {
	form, err := newForm[T]()
	if err != nil {
		return value, Outcome{}, err
	}
	got := false
	out, err = s.submit(ctx, input, func(ctx context.Context) error {
		got = false
		text, err := s.askObject(ctx, form)
		if err == nil {
			err = form.decode(text, &value)
			got = err == nil
		}
		return err
	})
	if err == nil && !got {
		err = llm.Errorf(llm.ErrNoObject, s.current().provider, "there is no object, because the work ended with the status %s", out.Status)
	}
	if err != nil {
		var zero T
		return zero, out, err
	}
	return value, out, nil
}

// form is the object that is asked for.
type form struct {
	output  llm.OutputFormat
	schema  *jsonschema.Resolved
	wrapped bool // the value stands in the member "value" of an object
}

// newForm makes the form for a type. Providers want an object at the root of a schema; any other
// type is wrapped in one.
func newForm[T any]() (*form, error) {
	schema, err := jsonschema.For[T](nil)
	if err != nil {
		return nil, llm.Errorf(llm.ErrConfiguration, "", "there is no JSON Schema for %T: %w", *new(T), err)
	}
	f := &form{wrapped: schema.Type != "object"}
	if f.wrapped {
		schema = &jsonschema.Schema{
			Type: "object", Properties: map[string]*jsonschema.Schema{"value": schema}, Required: []string{"value"},
			AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
		}
	}
	if f.schema, err = schema.Resolve(nil); err != nil {
		return nil, llm.Errorf(llm.ErrConfiguration, "", "the JSON Schema for %T does not hold together: %w", *new(T), err)
	}
	raw, err := json.Marshal(schema)
	if err != nil {
		return nil, llm.Errorf(llm.ErrConfiguration, "", "the JSON Schema for %T cannot be written: %w", *new(T), err)
	}
	f.output = llm.OutputFormat{Name: "answer", Schema: raw}
	return f, nil
}

// check reports what is wrong with an answer.
func (f *form) check(text string) error {
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

// decode reads an answer that was checked.
func (f *form) decode(text string, value any) error {
	if f.wrapped {
		value = &struct {
			Value any `json:"value"`
		}{value}
	}
	if err := json.Unmarshal([]byte(text), value); err != nil {
		return &llm.Error{Kind: llm.ErrNoObject, Message: "the answer fits the schema but not the type: " + err.Error(), Body: []byte(text), Err: err}
	}
	return nil
}

// askObject asks the model for the object, and says so when it gives something else.
func (s *Session) askObject(ctx context.Context, f *form) (string, error) {
	prose := s.m.text
	defer func() { s.m.gaveObject(prose) }()
	ask := fmt.Sprintf("Now give the result of your work as JSON and nothing else. It must fit this schema: %s", f.output.Schema)
	for repairs := 0; ; repairs++ {
		s.inject(llm.UserText(ask), sourceObject)
		text, err := s.callForObject(ctx, f)
		if err != nil {
			return "", err
		}
		wrong := f.check(text)
		s.acknowledge(wrong)
		switch {
		case wrong == nil:
			return text, nil
		case repairs == maxRepairs:
			return "", &llm.Error{Kind: llm.ErrNoObject, Provider: s.current().provider, Body: []byte(text), Err: wrong,
				Message: fmt.Sprintf("the model gave no usable object in %d attempts: %v", repairs+1, wrong)}
		}
		ask = fmt.Sprintf("That is not the object that was asked for: %v. Give it again, as JSON and nothing else.", wrong)
	}
}

// gaveObject makes the machine be done as it was before it was asked for an object.
func (m *machine) gaveObject(prose string) {
	m.text, m.question, m.continues = prose, closingQuestion(prose), 0
	m.end(StatusDone)
}

// callForObject makes one call and returns the JSON in its answer.
func (s *Session) callForObject(ctx context.Context, f *form) (string, error) {
	if most := s.m.maxTurns; most > 0 && s.m.turns >= most {
		return "", &limitError{"max_turns", s.m.turns, "no turn is left to ask for the object"}
	}
	resp, err := s.answer(ctx, func(r *llm.Request) {
		r.ToolChoice, r.Output = llm.ToolChoice{Mode: llm.ToolNone}, &f.output
	})
	if err != nil {
		return "", err
	}
	s.m.answered(resp.Message, resp.Finish.Reason, resp.Usage)
	if text := strings.TrimSpace(resp.Text()); text != "" {
		return unfence(text), nil
	}
	for _, c := range resp.ToolCalls() { // by which some providers are made to give an object
		if c.Name == f.output.Name {
			return c.Arguments, nil
		}
	}
	return "", nil
}

// acknowledge answers the calls by which an object came, as every call must be.
func (s *Session) acknowledge(wrong error) {
	if len(s.m.calls) == 0 {
		return
	}
	var results []llm.ToolResult
	for _, c := range s.m.calls {
		res := tool.Success("Received.")
		if wrong != nil {
			res = tool.Failure(tool.ValidationError, "Refused: %v", wrong)
		}
		out := tool.Outcome{Result: res, Model: "Received."}
		if res.Error != nil {
			out.Model = res.Error.Message
		}
		s.startCall(c)
		results = append(results, s.finishCall(c, out))
	}
	s.took(results)
}

// unfence takes text out of the fenced code block around it.
func unfence(text string) string {
	const fence = "```"
	if strings.HasPrefix(text, "{") || !strings.Contains(text, fence) {
		return text
	}
	_, inside, _ := strings.Cut(text, fence)
	_, inside, _ = strings.Cut(inside, "\n") // past the language
	if end := strings.LastIndex(inside, fence); end >= 0 {
		inside = inside[:end]
	}
	return strings.TrimSpace(inside)
}
