package env

import (
	"context"
	"fmt"
	"io/fs"
)

// Wrapper is an environment on top of another, as returned by [ReadOnly], [Logged] and [Scoped].
//
// An environment may have methods beyond [Environment], such as its own search. A caller that needs one calls Unwrap
// until it finds it, and calls Below on each wrapper to get the path to use underneath. Only reads may bypass wrappers
// this way, and only at or below that path without following symbolic links.
type Wrapper interface {
	Environment
	// Unwrap returns the environment underneath.
	Unwrap() Environment
	// Below announces a read that bypasses this wrapper. It returns the path to use underneath, or an error if the
	// wrapper refuses it. The caller must call done once with the outcome. op names the operation in logs.
	Below(ctx context.Context, op, path string) (below string, done func(error), err error)
}

// ReadOnly returns an environment that reads from e and refuses all changes with [ErrReadOnly].
// Commands are refused too, because they can write. Close closes e.
func ReadOnly(e Environment) Wrapper { return readOnly{e} }

type readOnly struct{ Environment }

func (r readOnly) Unwrap() Environment { return r.Environment }

func (r readOnly) NoLinks(Environment) Environment { return readOnly{NoLinks(r.Environment)} }

func (r readOnly) Below(_ context.Context, _, path string) (string, func(error), error) {
	return path, func(error) {}, nil
}

func (r readOnly) WriteFile(_ context.Context, path string, _ []byte, _ fs.FileMode) error {
	return fmt.Errorf("write %s: %w", path, ErrReadOnly)
}

func (r readOnly) Remove(_ context.Context, path string) error {
	return fmt.Errorf("remove %s: %w", path, ErrReadOnly)
}

func (r readOnly) Rename(_ context.Context, from, to string) error {
	return fmt.Errorf("rename %s to %s: %w", from, to, ErrReadOnly)
}

func (r readOnly) Mkdir(_ context.Context, path string, _ fs.FileMode) error {
	return fmt.Errorf("make directory %s: %w", path, ErrReadOnly)
}

func (r readOnly) Start(context.Context, Command) (Process, error) {
	return nil, fmt.Errorf("run a command: %w", ErrReadOnly)
}
