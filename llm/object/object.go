package object

import (
	"context"
	"encoding/json"
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
	f, err := formFor[T](r)
	if err != nil {
		return zero, nil, err
	}
	resp, err := c.Complete(ctx, f.request)
	if err != nil {
		return zero, nil, err
	}
	value, err := read[T](f, resp)
	return value, resp, err
}

// read takes the value out of a whole answer.
func read[T any](f *form, resp *llm.Response) (value T, err error) {
	text := f.answer(resp)
	if err := decode(f, unfence(text), &value); err != nil {
		var zero T
		return zero, &llm.Error{
			Kind:      llm.ErrNoObject,
			Provider:  resp.Provider,
			Message:   fmt.Sprintf("the answer, which finished with %s, is not the object that was asked for: %v", resp.Finish.Reason, err),
			RequestID: resp.RequestID,
			Body:      []byte(text),
			Err:       err,
		}
	}
	return value, nil
}

func decode[T any](f *form, text string, value *T) error {
	if text == "" {
		return fmt.Errorf("it is empty")
	}
	var tree any
	if err := json.Unmarshal([]byte(text), &tree); err != nil {
		return fmt.Errorf("it is not JSON: %w", err)
	}
	if err := f.schema.Validate(tree); err != nil {
		return fmt.Errorf("it does not fit the schema: %w", err)
	}
	return f.unmarshal([]byte(text), value)
}

// unmarshal decodes into value, out of the object that it may be wrapped in.
func (f *form) unmarshal(data []byte, value any) error {
	if f.wrapped {
		value = &struct {
			Value any `json:"value"`
		}{value}
	}
	return json.Unmarshal(data, value)
}
