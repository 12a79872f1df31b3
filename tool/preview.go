package tool

import (
	"context"
	"errors"
)

// ErrNoPreview is returned by a Previewer for a call it cannot predict.
var ErrNoPreview = errors.New("this call has no preview")

// Previewer is implemented by tools that can predict what a call would change. Preview only reads. It returns
// [ErrNoPreview] for a call that it cannot predict.
//
// A tool that wraps another has a method Unwrap() Tool. If the wrapper is not a Previewer, the wrapped tool is used, so
// a wrapper must not change the arguments.
type Previewer interface {
	Preview(ctx context.Context, c *Call) (Preview, error)
}

// Preview is what a call would change if it ran now.
type Preview struct {
	Changes []Change
	Text    string // other content to approve, such as a plan
}

// Change is a file before and after a call.
type Change struct {
	Path    string // absolute and real
	Before  []byte // nil if unknown, as for a symbolic link
	After   []byte
	Existed bool // before the call
	Exists  bool // after the call
}

// previewerOf returns a tool's Previewer, looking through wrappers.
func previewerOf(t Tool) (Previewer, bool) {
	for {
		if p, ok := t.(Previewer); ok {
			return p, true
		}
		w, ok := t.(interface{ Unwrap() Tool })
		if !ok {
			return nil, false
		}
		t = w.Unwrap()
	}
}

// WithPreview adds a preview to a tool whose calls have arguments of type In.
func WithPreview[In any](t Tool, preview func(ctx context.Context, c *Call, in In) (Preview, error)) Tool {
	return previewed{t, func(ctx context.Context, c *Call) (Preview, error) {
		var in In
		if err := decode(c, &in); err != nil {
			return Preview{}, err
		}
		return preview(ctx, c, in)
	}}
}

type previewed struct {
	Tool
	preview func(ctx context.Context, c *Call) (Preview, error)
}

func (p previewed) Unwrap() Tool { return p.Tool }

func (p previewed) Preview(ctx context.Context, c *Call) (Preview, error) { return p.preview(ctx, c) }
