// Package object requests Go values from models instead of text.
//
// The type's JSON Schema is sent with the request, and the answer is checked against it. The result is a value of that
// type, or an error that describes the mismatch.
package object

import (
	"context"
	"fmt"

	"github.com/reins-agent/reins/llm"
)

// Generate makes a call whose answer is a T. T's "json" and "jsonschema" tags describe its fields to the model. A
// Schema in r.Output replaces T's own.
//
// If the answer is not a T, Generate returns the response and an *llm.Error of kind llm.ErrNoObject, whose Body is the
// answer's text. The answer may be in a fenced code block.
func Generate[T any](ctx context.Context, c *llm.Client, r *llm.Request) (T, *llm.Response, error) {
	var zero T
	f, err := formFor[T](r.Output)
	if err != nil {
		return zero, nil, err
	}
	resp, err := c.Complete(ctx, f.request(r))
	if err != nil {
		return zero, nil, err
	}
	value, err := read[T](f, resp)
	return value, resp, err
}

// formFor returns the form for T, or for the request's schema. Name, description and strictness come from the request,
// if set.
func formFor[T any](given *llm.OutputFormat) (*Form, error) {
	if given != nil && given.Schema != nil {
		return ParseForm(*given)
	}
	f, err := FormOf[T]()
	if err != nil || given == nil {
		return f, err
	}
	f.output.Description = given.Description
	if given.Name != "" {
		f.output.Name = given.Name
	}
	if given.Strict != nil {
		f.output.Strict = given.Strict
	}
	return f, nil
}

// request returns a copy of r with the form's output.
func (f *Form) request(r *llm.Request) *llm.Request {
	request := *r
	output := f.output
	request.Output = &output
	return &request
}

// read returns the value in a whole answer.
func read[T any](f *Form, resp *llm.Response) (value T, err error) {
	if err := f.Decode(f.Extract(resp.Message), &value); err != nil {
		var zero T
		return zero, &llm.Error{
			Kind:      llm.ErrNoObject,
			Provider:  resp.Provider,
			Message:   fmt.Sprintf("the answer (finish reason %s) is not the requested object: %v", resp.Finish.Reason, err),
			RequestID: resp.RequestID,
			Body:      []byte(f.answer(resp.Message)),
			Err:       err,
		}
	}
	return value, nil
}
