package gitdir

import (
	"context"
	"io/fs"

	"github.com/reins-agent/reins/env"
)

// In returns an environment's files.
func In(ctx context.Context, e env.Environment) Files { return files{ctx, e} }

type files struct {
	ctx context.Context
	env env.Environment
}

func (f files) Paths() env.Paths { return f.env.Info().Paths() }

func (f files) Stat(path string) (fs.FileMode, error) {
	fi, err := f.env.Stat(f.ctx, path)
	return fi.Mode, err
}

// Link returns the target relative to the link's directory if it is there, because environments resolve links only.
func (f files) Link(path string) (string, error) {
	fi, err := f.env.Lstat(f.ctx, path)
	if err != nil || fi.Mode&fs.ModeSymlink == 0 {
		return "", err
	}
	target, err := f.env.RealPath(f.ctx, path)
	if err != nil {
		return "", err
	}
	dir, err := f.env.RealPath(f.ctx, f.Paths().Dir(path))
	if err != nil {
		return "", err
	}
	if rel, ok := f.Paths().Rel(dir, target); ok {
		return rel, nil
	}
	return target, nil
}

func (f files) Real(path string) (string, error) { return f.env.RealPath(f.ctx, path) }

func (f files) Read(path string) ([]byte, error) { return env.ReadFile(f.ctx, f.env, path, maxRead) }
