package env

import (
	"context"
	"fmt"
	"io/fs"
)

// ReadOnly gives an environment that reads from e and changes nothing: every write, and every
// command, since a command can write, is refused with an error that wraps [ErrReadOnly]. Closing
// it closes e.
func ReadOnly(e Environment) Wrapper { return readOnly{e} }

type readOnly struct{ Environment }

func (r readOnly) Unwrap() Environment { return r.Environment }

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
