package local

import (
	"context"
	"io/fs"
)

// RealPath resolves the symbolic links of a path.
func (e *Env) RealPath(ctx context.Context, path string) (string, error) {
	err := e.usable(ctx)
	var abs string
	if err == nil {
		abs, err = e.tree.abs(path)
	}
	if err == nil {
		abs, err = e.tree.canonical(abs, true)
	}
	if err != nil {
		return "", &fs.PathError{Op: "resolve", Path: path, Err: e.tree.explain(err)}
	}
	return abs, nil
}
