package tools

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// files implements the tools that work on files.
type files struct{ config Config }

// touches declares an access to a path with its symbolic links resolved. A path that cannot be resolved is declared as
// given; the environment cannot open it either.
func touches(ctx context.Context, c *tool.Call, kind policy.Kind, p string) policy.Access {
	real, err := c.Env.RealPath(ctx, p)
	if err != nil {
		real = p
	}
	return policy.Access{Kind: kind, Target: real}
}

// deletes declares that a path is deleted, without following a final symbolic link.
func deletes(ctx context.Context, e env.Environment, p string) policy.Access {
	return policy.Access{Kind: policy.Delete, Target: linkPath(ctx, e, p)}
}

// linkPath returns a file's real path, without following a final symbolic link.
func linkPath(ctx context.Context, e env.Environment, p string) string {
	info := e.Info()
	paths := info.Paths()
	full := paths.Abs(info.Dir, p)
	dir, err := e.RealPath(ctx, paths.Dir(full))
	if err != nil {
		return p
	}
	return paths.Join(dir, paths.Base(full))
}

// Show returns a path for results: relative to the working directory if it is below it.
func Show(e env.Environment, p string) string {
	info := e.Info()
	if rel, ok := info.Paths().Rel(info.Dir, p); ok {
		return rel
	}
	return p
}

// OrHere returns a path, or "." if it is empty.
func OrHere(p string) string {
	if p == "" {
		return "."
	}
	return p
}

// extension returns a path's extension in lower case.
func extension(e env.Environment, p string) string {
	return strings.ToLower(path.Ext(e.Info().Paths().Base(p)))
}

// read reads a whole regular file.
func (f files) read(ctx context.Context, e env.Environment, p string) ([]byte, error) {
	info, err := e.Stat(ctx, p)
	if err != nil {
		return nil, err
	}
	if err := mustBeFile(e, info, p); err != nil {
		return nil, err
	}
	// Check the size before opening a huge file.
	if info.Size > f.config.MaxFileSize {
		return nil, env.ErrTooLarge
	}
	return within(ctx, fileTimeout, func(ctx context.Context) ([]byte, error) {
		return readWhole(ctx, e, p, f.config.MaxFileSize)
	})
}

// readWhole reads a file of at most limit bytes. When ctx is done, it closes the file, which ends a read that waits for
// data.
func readWhole(ctx context.Context, e env.Environment, p string, limit int64) ([]byte, error) {
	file, err := e.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	defer context.AfterFunc(ctx, func() { file.Close() })()
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(data)) > limit {
		return nil, env.ErrTooLarge
	}
	return data, err
}

// content reads the file at a path for a preview. It returns nil for a symbolic link and for a file that
// is too large.
func (f files) content(ctx context.Context, e env.Environment, p string) ([]byte, error) {
	info, err := e.Lstat(ctx, p)
	if err != nil || info.Mode&fs.ModeSymlink != 0 {
		return nil, err
	}
	data, err := f.read(ctx, e, p)
	if errors.Is(err, env.ErrTooLarge) {
		return nil, nil
	}
	return data, err
}

// mustBeFile rejects a directory, and a file whose path ends with a separator.
func mustBeFile(e env.Environment, info env.FileInfo, p string) error {
	switch {
	case info.IsDir():
		return env.ErrIsDir
	case e.Info().Paths().EndsInSeparator(p):
		return env.ErrNotDir
	}
	return nil
}

// fileTimeout is the maximum time to read one file.
const fileTimeout = 30 * time.Second

var errStuck = tool.Errorf(
	tool.IOError,
	"The file system did not respond in time. The file may be one that waits for data, such as a kernel log; read it with a "+
		"command and a timeout.",
)

// within runs f, but does not wait for it after ctx is done or the limit has passed. Some reads cannot be interrupted,
// such as reads from kernel files or a lost network mount. They must not block the call.
func within[T any](ctx context.Context, limit time.Duration, f func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errStuck)
	defer cancel()
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		v, err := f(ctx)
		done <- outcome{v, err}
	}()
	select {
	case o := <-done:
		if o.err == nil || ctx.Err() == nil {
			return o.value, o.err
		}
	case <-ctx.Done():
	}
	var none T
	return none, context.Cause(ctx)
}
