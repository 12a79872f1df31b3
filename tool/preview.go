package tool

import (
	"context"
	"errors"
)

// ErrNoPreview says that a call has no preview, though other calls of its tool have one.
var ErrNoPreview = errors.New("this call has no preview")

// Previewer is implemented by tools that can say what a call would change. Preview only reads. It returns
// [ErrNoPreview] for a call of which it cannot tell.
type Previewer interface {
	Preview(ctx context.Context, c *Call) (Preview, error)
}

// Preview is what a call would change, were it run now.
type Preview struct {
	Changes []Change
}

// Change is a file before and after a call.
type Change struct {
	Path    string // absolute and real
	Before  []byte // the content; nil if it is not known, as of a symbolic link
	After   []byte
	Existed bool // before the call
	Exists  bool // after the call
}

// PreviewerOf finds the Previewer in a tool: the tool itself, or one that it wraps. A wrapper has a
// method Unwrap that returns the tool below it, and must leave the arguments as they are.
func PreviewerOf(t Tool) (Previewer, bool) {
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
	return previewed[In]{t, preview}
}

type previewed[In any] struct {
	Tool
	preview func(ctx context.Context, c *Call, in In) (Preview, error)
}

func (p previewed[In]) Unwrap() Tool { return p.Tool }

func (p previewed[In]) Preview(ctx context.Context, c *Call) (Preview, error) {
	in, err := decode[In](c)
	if err != nil {
		return Preview{}, err
	}
	return p.preview(ctx, c, in)
}
