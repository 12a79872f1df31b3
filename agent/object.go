package agent

import (
	"context"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/object"
)

// SubmitObject is Submit with a structured result. When the work is done, the model is called once more,
// without tools, for its result as JSON that matches the schema of T. Tags "json" and "jsonschema" describe
// its fields. The schema does not affect anything the model says before.
//
// The value is valid only if the error is nil. If the work ends with another status than StatusDone, or the
// model does not return a valid object, the error is an *llm.Error of kind llm.ErrNoObject, with the answer
// in its Body.
func SubmitObject[T any](ctx context.Context, s *Session, input ...llm.Part) (value T, out Outcome, err error) {
	form, err := object.FormOf[T]()
	if err != nil {
		return value, Outcome{}, err
	}
	format := form.Output()
	out, err = s.submit(ctx, input, &format)
	switch {
	case err != nil:
	case out.Object == "":
		err = llm.Errorf(llm.ErrNoObject, "", "no result: the work ended with status %s", out.Status)
	default:
		err = form.Decode(out.Object, &value)
	}
	if err != nil {
		var zero T
		return zero, out, err
	}
	return value, out, nil
}
