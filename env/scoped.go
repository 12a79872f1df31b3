package env

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"sync"
)

// Scoped returns an environment confined to dir, a directory in e. Relative paths and commands start there. Each path
// is resolved before it is used. A path that leads out of dir, by "..", as an absolute path or through a symbolic link,
// is refused with [ErrOutside], and so is a path that cannot be resolved. Close closes e.
//
// The operation works on the resolved path with [NoLinks], so a link that is swapped in meanwhile does not lead out
// either. Running commands are not confined.
func Scoped(e Environment, dir string) Wrapper {
	s := &scoped{Environment: NoLinks(e), info: e.Info(), root: &realRoot{}}
	s.paths = s.info.Paths()
	s.info.Dir = s.paths.Abs(s.info.Dir, dir)
	return s
}

type scoped struct {
	Environment
	info    Info
	paths   Paths
	root    *realRoot
	noLinks bool // paths must be resolved already
}

// realRoot is a scope's real path. It is resolved once: a directory that replaces it later is outside.
type realRoot struct {
	mu   sync.Mutex
	path string // "" until it is resolved
}

func (s *scoped) Info() Info { return s.info }

func (s *scoped) Unwrap() Environment { return s.Environment }

func (s *scoped) NoLinks(Environment) Environment {
	return &scoped{
		Environment: s.Environment,
		info:        s.info,
		paths:       s.paths,
		root:        s.root,
		noLinks:     true,
	}
}

// Below returns the real path.
func (s *scoped) Below(ctx context.Context, _, path string) (string, func(error), error) {
	real, err := s.target(ctx, path)
	return real, func(error) {}, err
}

// realRoot returns the scope's real path.
func (s *scoped) realRoot(ctx context.Context) (string, error) {
	s.root.mu.Lock()
	defer s.root.mu.Unlock()
	if s.root.path == "" {
		real, err := s.Environment.RealPath(ctx, s.info.Dir)
		if err != nil {
			return "", fmt.Errorf("resolve the directory %s: %w", s.info.Dir, err)
		}
		s.root.path = real
	}
	return s.root.path, nil
}

// target returns the real path for a path that leads inside.
func (s *scoped) target(ctx context.Context, path string) (string, error) {
	full, root, err := s.enter(ctx, path)
	if err != nil {
		return "", err
	}
	return s.inside(ctx, root, full, path)
}

// name returns the real path without following the last element.
func (s *scoped) name(ctx context.Context, path string) (string, error) {
	full, root, err := s.enter(ctx, path)
	if err != nil {
		return "", err
	}
	if s.paths.Within(full, s.info.Dir) || s.paths.Within(full, root) {
		return root, nil // its parent is outside
	}
	dir, err := s.inside(ctx, root, s.paths.Dir(full), path)
	if err != nil {
		return "", err
	}
	return s.paths.Join(dir, s.paths.Base(full)), nil
}

// enter makes a path absolute and refuses it if it is lexically outside.
func (s *scoped) enter(ctx context.Context, path string) (full, root string, err error) {
	if path == "" {
		return "", "", fmt.Errorf("empty path: %w", fs.ErrInvalid)
	}
	if root, err = s.realRoot(ctx); err != nil {
		return "", "", err
	}
	full = s.paths.Abs(s.info.Dir, path)
	if !s.paths.Within(s.info.Dir, full) && !s.paths.Within(root, full) {
		return "", "", s.outside(path)
	}
	return full, root, nil
}

// inside resolves a path and refuses it if it leads out.
func (s *scoped) inside(ctx context.Context, root, full, path string) (real string, err error) {
	if real = full; !s.noLinks {
		if real, err = s.Environment.RealPath(ctx, full); err != nil {
			return "", err
		}
	}
	if !s.paths.Within(root, real) {
		return "", s.outside(path)
	}
	return real, nil
}

func (s *scoped) outside(path string) error {
	return fmt.Errorf("%s is not in %s: %w", path, s.info.Dir, ErrOutside)
}

// named sets the name from the requested path.
func (s *scoped) named(fi FileInfo, path string) FileInfo {
	fi.Name = s.paths.Base(s.paths.Abs(s.info.Dir, path))
	return fi
}

func (s *scoped) Stat(ctx context.Context, path string) (FileInfo, error) {
	p, err := s.target(ctx, path)
	if err != nil {
		return FileInfo{}, err
	}
	fi, err := s.Environment.Stat(ctx, p)
	return s.named(fi, path), err
}

func (s *scoped) Lstat(ctx context.Context, path string) (FileInfo, error) {
	p, err := s.name(ctx, path)
	if err != nil {
		return FileInfo{}, err
	}
	fi, err := s.Environment.Lstat(ctx, p)
	return s.named(fi, path), err
}

func (s *scoped) RealPath(ctx context.Context, path string) (string, error) {
	if s.noLinks {
		links := *s
		links.noLinks = false
		return links.target(ctx, path)
	}
	return s.target(ctx, path)
}

func (s *scoped) Open(ctx context.Context, path string) (io.ReadCloser, error) {
	p, err := s.target(ctx, path)
	if err != nil {
		return nil, err
	}
	return s.Environment.Open(ctx, p)
}

func (s *scoped) WriteFile(ctx context.Context, path string, data []byte, perm fs.FileMode) error {
	p, err := s.target(ctx, path)
	if err != nil {
		return err
	}
	if s.paths.EndsInSeparator(path) {
		return &fs.PathError{Op: "write", Path: path, Err: ErrIsDir}
	}
	return s.Environment.WriteFile(ctx, p, data, perm)
}

func (s *scoped) Remove(ctx context.Context, path string) error {
	p, err := s.name(ctx, path)
	if err != nil {
		return err
	}
	return s.Environment.Remove(ctx, p)
}

func (s *scoped) Rename(ctx context.Context, from, to string) error {
	f, err := s.name(ctx, from)
	if err != nil {
		return err
	}
	t, err := s.name(ctx, to)
	if err != nil {
		return err
	}
	return s.Environment.Rename(ctx, f, t)
}

func (s *scoped) Mkdir(ctx context.Context, path string, perm fs.FileMode) error {
	p, err := s.name(ctx, path)
	if err != nil {
		return err
	}
	return s.Environment.Mkdir(ctx, p, perm)
}

func (s *scoped) ReadDir(ctx context.Context, path string) ([]FileInfo, error) {
	p, err := s.target(ctx, path)
	if err != nil {
		return nil, err
	}
	return s.Environment.ReadDir(ctx, p)
}

func (s *scoped) Start(ctx context.Context, c Command) (Process, error) {
	if c.Dir == "" {
		c.Dir = "."
	}
	dir, err := s.target(ctx, c.Dir)
	if err != nil {
		return nil, err
	}
	c.Dir = dir
	return s.Environment.Start(ctx, c)
}
