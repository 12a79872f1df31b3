package env

import (
	"context"
	"fmt"
	"io"
	"io/fs"
)

// NoLinks returns a view of e for paths that were resolved before. It refuses a path with a symbolic link with
// [ErrLink], even if the link is swapped in while the operation runs. Lstat, Remove and Rename accept a link as the
// last element, and do not follow it. RealPath resolves links as e does.
//
// An environment that can guarantee this has a method NoLinks(e Environment) Environment, which returns nil if e is
// another environment that embeds it. For all other environments, each path is resolved before and after the operation.
// This finds most links that are swapped in, but a change may have been made elsewhere by then.
func NoLinks(e Environment) Environment {
	if own, ok := e.(interface{ NoLinks(Environment) Environment }); ok {
		if view := own.NoLinks(e); view != nil {
			return view
		}
	}
	return resolved{e}
}

// resolved checks that paths are resolved, before and after each operation.
type resolved struct{ Environment }

func (r resolved) NoLinks(Environment) Environment { return r }

// file runs an operation on a path without symbolic links.
func (r resolved) file(ctx context.Context, path string, op func() error) error {
	return r.do(ctx, path, path, op)
}

// link is like file, but the last element may be a link.
func (r resolved) link(ctx context.Context, path string, op func() error) error {
	return r.do(ctx, path, r.Info().Paths().Dir(path), op)
}

func (r resolved) do(ctx context.Context, path, plain string, op func() error) error {
	if err := r.check(ctx, path, plain); err != nil {
		return err
	}
	if err := op(); err != nil {
		return err
	}
	return r.check(ctx, path, plain)
}

func (r resolved) check(ctx context.Context, path, plain string) error {
	if path == "" {
		return fmt.Errorf("empty path: %w", fs.ErrInvalid)
	}
	real, err := r.RealPath(ctx, plain)
	if err == nil && real != r.Info().Paths().Abs(r.Info().Dir, plain) {
		err = &fs.PathError{Op: "resolve", Path: path, Err: ErrLink}
	}
	return err
}

func (r resolved) Stat(ctx context.Context, path string) (fi FileInfo, err error) {
	err = r.file(ctx, path, func() (err error) {
		fi, err = r.Environment.Stat(ctx, path)
		return err
	})
	return fi, err
}

func (r resolved) Lstat(ctx context.Context, path string) (fi FileInfo, err error) {
	err = r.link(ctx, path, func() (err error) {
		fi, err = r.Environment.Lstat(ctx, path)
		return err
	})
	return fi, err
}

func (r resolved) Open(ctx context.Context, path string) (f io.ReadCloser, err error) {
	err = r.file(ctx, path, func() (err error) {
		f, err = r.Environment.Open(ctx, path)
		return err
	})
	if err != nil && f != nil {
		f.Close()
		f = nil
	}
	return f, err
}

func (r resolved) ReadDir(ctx context.Context, path string) (list []FileInfo, err error) {
	err = r.file(ctx, path, func() (err error) {
		list, err = r.Environment.ReadDir(ctx, path)
		return err
	})
	if err != nil {
		list = nil
	}
	return list, err
}

func (r resolved) WriteFile(ctx context.Context, path string, data []byte, perm fs.FileMode) error {
	return r.file(ctx, path, func() error { return r.Environment.WriteFile(ctx, path, data, perm) })
}

func (r resolved) Remove(ctx context.Context, path string) error {
	return r.link(ctx, path, func() error { return r.Environment.Remove(ctx, path) })
}

func (r resolved) Rename(ctx context.Context, from, to string) error {
	return r.link(ctx, from, func() error {
		return r.link(ctx, to, func() error { return r.Environment.Rename(ctx, from, to) })
	})
}

func (r resolved) Mkdir(ctx context.Context, path string, perm fs.FileMode) error {
	return r.link(ctx, path, func() error { return r.Environment.Mkdir(ctx, path, perm) })
}

func (r resolved) Start(ctx context.Context, c Command) (Process, error) {
	if c.Dir != "" {
		if err := r.check(ctx, c.Dir, c.Dir); err != nil {
			return nil, err
		}
	}
	return r.Environment.Start(ctx, c)
}
