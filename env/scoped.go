package env

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
)

// Scoped gives an environment whose working directory is dir, a directory of e. Relative paths
// start there, commands run there, and a path that leaves it, by ".." or by being absolute, is
// refused with an error that wraps [ErrOutside]. Closing it closes e.
//
// The fence is on the names: a symbolic link inside dir may still lead out of it, and so may a
// command. Where that matters, give the environment itself roots to keep to.
func Scoped(e Environment, dir string) Environment {
	s := &scoped{Environment: e, info: e.Info()}
	s.info.Dir = s.full(dir)
	return s
}

type scoped struct {
	Environment
	info Info
}

func (s *scoped) Info() Info { return s.info }

// full is the absolute, clean form of a path. Windows takes slashes as well as backslashes, so one
// form does for both, whatever platform this program itself runs on.
func (s *scoped) full(p string) string {
	dir := s.info.Dir
	abs := path.IsAbs(p)
	if s.info.Platform == "windows" {
		p, dir = strings.ReplaceAll(p, `\`, "/"), strings.ReplaceAll(dir, `\`, "/")
		abs = len(p) > 2 && p[1] == ':' && p[2] == '/'
	}
	if abs {
		return path.Clean(p)
	}
	return path.Join(dir, p)
}

// resolve turns a path of the scope into one of the environment below.
func (s *scoped) resolve(p string) (string, error) {
	if p == "" {
		return "", fmt.Errorf("the path is empty: %w", fs.ErrInvalid)
	}
	full, dir := s.full(p), s.info.Dir
	inside := full == dir || strings.HasPrefix(full, strings.TrimSuffix(dir, "/")+"/")
	if s.info.Platform == "windows" && strings.HasPrefix(p, `\\`) {
		inside = false // a share or a device, whatever it is joined to
	}
	if !inside {
		return "", fmt.Errorf("%s is not in %s: %w", p, dir, ErrOutside)
	}
	// A trailing slash says "a directory"; the environment below must see it.
	if strings.HasSuffix(p, "/") && !strings.HasSuffix(full, "/") {
		full += "/"
	}
	return full, nil
}

func (s *scoped) Stat(ctx context.Context, path string) (FileInfo, error) {
	p, err := s.resolve(path)
	if err != nil {
		return FileInfo{}, err
	}
	return s.Environment.Stat(ctx, p)
}

func (s *scoped) RealPath(ctx context.Context, path string) (string, error) {
	p, err := s.resolve(path)
	if err != nil {
		return "", err
	}
	return s.Environment.RealPath(ctx, p)
}

func (s *scoped) Lstat(ctx context.Context, path string) (FileInfo, error) {
	p, err := s.resolve(path)
	if err != nil {
		return FileInfo{}, err
	}
	return s.Environment.Lstat(ctx, p)
}

func (s *scoped) Open(ctx context.Context, path string) (io.ReadCloser, error) {
	p, err := s.resolve(path)
	if err != nil {
		return nil, err
	}
	return s.Environment.Open(ctx, p)
}

func (s *scoped) WriteFile(ctx context.Context, path string, data []byte, perm fs.FileMode) error {
	p, err := s.resolve(path)
	if err != nil {
		return err
	}
	return s.Environment.WriteFile(ctx, p, data, perm)
}

func (s *scoped) Remove(ctx context.Context, path string) error {
	p, err := s.resolve(path)
	if err != nil {
		return err
	}
	return s.Environment.Remove(ctx, p)
}

func (s *scoped) Rename(ctx context.Context, from, to string) error {
	f, err := s.resolve(from)
	if err != nil {
		return err
	}
	t, err := s.resolve(to)
	if err != nil {
		return err
	}
	return s.Environment.Rename(ctx, f, t)
}

func (s *scoped) Mkdir(ctx context.Context, path string, perm fs.FileMode) error {
	p, err := s.resolve(path)
	if err != nil {
		return err
	}
	return s.Environment.Mkdir(ctx, p, perm)
}

func (s *scoped) ReadDir(ctx context.Context, path string) ([]FileInfo, error) {
	p, err := s.resolve(path)
	if err != nil {
		return nil, err
	}
	return s.Environment.ReadDir(ctx, p)
}

func (s *scoped) Start(ctx context.Context, c Command) (Process, error) {
	if c.Dir == "" {
		c.Dir = "."
	}
	dir, err := s.resolve(c.Dir)
	if err != nil {
		return nil, err
	}
	c.Dir = dir
	return s.Environment.Start(ctx, c)
}
