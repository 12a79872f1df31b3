package agent

import (
	"context"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/object"
)

// SubmitObject is Submit for a result that a program reads. When the work is done, the model is
// asked once more, with its tools off, for its result as JSON that fits the schema of T, whose fields
// are described by their "json" and "jsonschema" tags. The schema does not bear on anything that
// the model says before.
//
// There is a value only if the error is nil. Work that ends in another status than StatusDone has
// no value, and neither has a model that does not give one: the error is then an *llm.Error
// of kind llm.ErrNoObject, whose Body is what it gave instead.
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
		err = llm.Errorf(llm.ErrNoObject, "", "there is no object, because the work ended with the status %s", out.Status)
	default:
		err = form.Decode(out.Object, &value)
	}
	if err != nil {
		var zero T
		return zero, out, err
	}
	return value, out, nil
}
