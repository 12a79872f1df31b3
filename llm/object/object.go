package object

import (
	"context"
	"fmt"

	"github.com/reins-agent/reins/llm"
)

// Generate makes a call whose answer is a T. Fields of T are described to the model by their
// "json" and "jsonschema" tags. A Schema in r.Output is used in place of the one made from T.
//
// An answer that is no T is an *llm.Error of kind llm.ErrNoObject whose Body is the answer's text;
// the response comes with it. The answer may stand in a fenced code block.
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

// formFor makes the form for T, or for the schema that the request already has. Name, description
// and strictness are the request's where it has them.
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

// request is the request with the form's output.
func (f *Form) request(r *llm.Request) *llm.Request {
	request := *r
	output := f.output
	request.Output = &output
	return &request
}

// read takes the value out of a whole answer.
func read[T any](f *Form, resp *llm.Response) (value T, err error) {
	if err := f.Decode(f.Extract(resp.Message), &value); err != nil {
		var zero T
		return zero, &llm.Error{
			Kind:      llm.ErrNoObject,
			Provider:  resp.Provider,
			Message:   fmt.Sprintf("the answer, which finished with %s, is not the object that was asked for: %v", resp.Finish.Reason, err),
			RequestID: resp.RequestID,
			Body:      []byte(f.answer(resp.Message)),
			Err:       err,
		}
	}
	return value, nil
}
