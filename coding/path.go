package coding

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// touches declares one access to a path, as it really is behind its symbolic links. A path that
// cannot be resolved is declared as it was given; what the environment cannot resolve it does not
// open either.
func touches(ctx context.Context, c *tool.Call, kind policy.Kind, p string) policy.Access {
	real, err := c.Env.RealPath(ctx, p)
	if err != nil {
		real = p
	}
	return policy.Access{Kind: kind, Target: real}
}

// linkPath gives the real path of the name itself: a symbolic link at its end is not followed.
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

// show gives a path as results show it: relative to the working directory where it lies below it.
func show(e env.Environment, p string) string {
	info := e.Info()
	if rel, ok := info.Paths().Rel(info.Dir, p); ok {
		return rel
	}
	return p
}

// orHere is a path, or the working directory where none is given.
func orHere(p string) string {
	if p == "" {
		return "."
	}
	return p
}

// failed is the result for an operation on a path that an environment refused.
func failed(err error, p string) tool.Result {
	var known *tool.Error
	switch {
	case errors.As(err, &known):
		return tool.Result{Error: known}
	case errors.Is(err, fs.ErrNotExist):
		return tool.Failure(tool.FileNotFound, "File not found: %s. Check the path, or search for the file by name.", p)
	case errors.Is(err, env.ErrOutside):
		return tool.Failure(tool.PermissionDenied, "Permission denied: %s is outside the directories that may be used. Choose a path inside the working directory.", p)
	case errors.Is(err, env.ErrReadOnly):
		return tool.Failure(tool.PermissionDenied, "Permission denied: %s cannot be changed, the environment is read-only.", p)
	case errors.Is(err, fs.ErrPermission):
		return tool.Failure(tool.PermissionDenied, "Permission denied: %s. Choose another path.", p)
	case errors.Is(err, env.ErrSpecial):
		return tool.Failure(tool.NotAFile, "%s is a device, a pipe or a socket, not a regular file. Only regular files are read and written.", p)
	case errors.Is(err, env.ErrIsDir):
		return tool.Failure(tool.NotAFile, "%s is a directory. List it to see what is in it, or name a file.", p)
	case errors.Is(err, env.ErrNotDir):
		return tool.Failure(tool.NotADirectory, "A part of the path %s is a file, not a directory. Check the path.", p)
	case errors.Is(err, env.ErrTooLarge):
		return tool.Failure(tool.TooLarge, "%s is too large to be read whole. Get the part you need with a command such as grep, head, tail or sed -n.", p)
	case errors.Is(err, fs.ErrExist):
		return tool.Failure(tool.AlreadyExists, "%s exists already.", p)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return tool.Failure(tool.Cancelled, "Interrupted: %v", err)
	case errors.Is(err, fs.ErrInvalid):
		return tool.Failure(tool.ValidationError, "The path %s cannot be used: %v.", brief(p), reason(err))
	}
	return tool.Failure(tool.IOError, "%s: %v", brief(p), reason(err))
}

// reason is an error without the operation and the path, which the sentence around it names.
func reason(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// brief is a path for a message: in quotes if it has anything odd in it, and never endless.
func brief(p string) string {
	if len(p) > 200 {
		p = strings.ToValidUTF8(p[:200], "") + "…"
	}
	if p == "" || strings.ContainsFunc(p, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return strconv.Quote(p)
	}
	return p
}

// read reads a regular file whole.
func (f files) read(ctx context.Context, e env.Environment, p string) ([]byte, error) {
	info, err := e.Stat(ctx, p)
	if err != nil {
		return nil, err
	}
	if err := mustBeFile(e, info, p); err != nil {
		return nil, err
	}
	// The size is looked at first so that a huge file costs nothing.
	if info.Size > f.config.MaxFileSize {
		return nil, env.ErrTooLarge
	}
	return within(ctx, fileTimeout, func(ctx context.Context) ([]byte, error) {
		return readWhole(ctx, e, p, f.config.MaxFileSize)
	})
}

// readWhole reads a file of at most so many bytes. The end of ctx closes the file, which ends the
// reading of one that waits for data.
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

// mustBeFile refuses a directory, and a file whose path ends as that of a directory does.
func mustBeFile(e env.Environment, info env.FileInfo, p string) error {
	switch {
	case info.IsDir():
		return env.ErrIsDir
	case e.Info().Paths().EndsInSeparator(p):
		return env.ErrNotDir
	}
	return nil
}

// extension gives the extension of a path in lower case.
func extension(e env.Environment, p string) string {
	return strings.ToLower(path.Ext(e.Info().Paths().Base(p)))
}
