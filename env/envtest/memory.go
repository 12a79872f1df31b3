package envtest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reins-agent/reins/env"
)

// Memory is an environment whose files are in memory, for tests. It has no symbolic links and does
// not run commands.
type Memory struct {
	info  env.Info
	paths env.Paths

	mu     sync.Mutex
	files  map[string]*memoryFile // by key
	closed bool
}

// memoryFile is a file or a directory. Its content is replaced, never changed.
type memoryFile struct {
	name    string // absolute, clean path
	content []byte
	mode    fs.FileMode
	changed time.Time
}

var _ env.Environment = (*Memory)(nil)

// NewMemory returns an environment with a platform's path rules, where platform is a GOOS value, and an empty working
// directory.
func NewMemory(platform string) *Memory {
	info := env.Info{Dir: "/work", Platform: platform, OSVersion: "none (in memory)"}
	if platform == "windows" {
		info.Dir = `C:\work`
	}
	m := &Memory{info: info, paths: info.Paths(), files: make(map[string]*memoryFile)}
	m.makeDirs(info.Dir)
	return m
}

// Info implements [env.Environment].
func (m *Memory) Info() env.Info { return m.info }

// NoLinks returns m, because there are no symbolic links; see [env.NoLinks].
func (m *Memory) NoLinks(e env.Environment) env.Environment {
	if e != env.Environment(m) {
		return nil
	}
	return m
}

// key returns the map key for a path. Case does not matter on Windows.
func (m *Memory) key(abs string) string {
	if m.info.Platform == "windows" {
		return strings.ToLower(abs)
	}
	return abs
}

// do runs an operation on an absolute path.
func (m *Memory) do(ctx context.Context, op, path string, f func(abs string) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	err := ctx.Err()
	switch {
	case m.closed:
		err = env.ErrClosed
	case path == "":
		err = fs.ErrInvalid
	case err == nil:
		abs := m.paths.Abs(m.info.Dir, path)
		if err = m.passable(abs); err == nil {
			err = f(abs)
		}
	}
	if err != nil {
		return &fs.PathError{Op: op, Path: path, Err: err}
	}
	return nil
}

// passable refuses a path that leads through a file.
func (m *Memory) passable(abs string) error {
	for dir := m.paths.Dir(abs); dir != m.paths.Dir(dir); dir = m.paths.Dir(dir) {
		if f := m.files[m.key(dir)]; f != nil && !f.mode.IsDir() {
			return env.ErrNotDir
		}
	}
	return nil
}

// find returns an existing file.
func (m *Memory) find(abs string) (*memoryFile, error) {
	if f := m.files[m.key(abs)]; f != nil {
		return f, nil
	}
	return nil, fs.ErrNotExist
}

func (m *Memory) put(abs string, content []byte, mode fs.FileMode) {
	m.files[m.key(abs)] = &memoryFile{abs, content, mode, time.Now()}
}

// makeDirs creates a directory and its parents if they are missing.
func (m *Memory) makeDirs(abs string) {
	if m.files[m.key(abs)] != nil {
		return
	}
	if above := m.paths.Dir(abs); above != abs {
		m.makeDirs(above)
	}
	m.put(abs, nil, fs.ModeDir|0o755)
}

// children returns a directory's entries, sorted by name.
func (m *Memory) children(abs string) []*memoryFile {
	var list []*memoryFile
	for _, f := range m.files {
		if f.name != abs && m.key(m.paths.Dir(f.name)) == m.key(abs) {
			list = append(list, f)
		}
	}
	slices.SortFunc(list, func(a, b *memoryFile) int { return strings.Compare(a.name, b.name) })
	return list
}

func (m *Memory) describe(f *memoryFile, name string) env.FileInfo {
	return env.FileInfo{Name: m.paths.Base(name), Size: int64(len(f.content)), Mode: f.mode, ModTime: f.changed}
}

// Stat implements [env.Environment].
func (m *Memory) Stat(ctx context.Context, path string) (info env.FileInfo, err error) {
	err = m.do(ctx, "stat", path, func(abs string) error {
		f, err := m.find(abs)
		if err == nil {
			info = m.describe(f, abs)
		}
		return err
	})
	return info, err
}

// Lstat is the same as Stat, because there are no symbolic links.
func (m *Memory) Lstat(ctx context.Context, path string) (env.FileInfo, error) {
	return m.Stat(ctx, path)
}

// RealPath returns the absolute path.
func (m *Memory) RealPath(ctx context.Context, path string) (real string, err error) {
	err = m.do(ctx, "resolve", path, func(abs string) error { real = abs; return nil })
	return real, err
}

// Open reads a file.
func (m *Memory) Open(ctx context.Context, path string) (r io.ReadCloser, err error) {
	err = m.do(ctx, "open", path, func(abs string) error {
		f, err := m.find(abs)
		if err != nil {
			return err
		}
		if f.mode.IsDir() {
			return env.ErrIsDir
		}
		r = io.NopCloser(bytes.NewReader(f.content))
		return nil
	})
	return r, err
}

// WriteFile replaces or creates a file, creating missing parents.
func (m *Memory) WriteFile(ctx context.Context, path string, data []byte, perm fs.FileMode) error {
	return m.do(ctx, "write", path, func(abs string) error {
		old := m.files[m.key(abs)]
		switch {
		case m.paths.EndsInSeparator(path), old != nil && old.mode.IsDir():
			return env.ErrIsDir
		case old != nil:
			m.put(old.name, bytes.Clone(data), old.mode)
			return nil
		}
		m.makeDirs(m.paths.Dir(abs))
		m.put(abs, bytes.Clone(data), perm.Perm())
		return nil
	})
}

// Remove deletes a file or an empty directory.
func (m *Memory) Remove(ctx context.Context, path string) error {
	return m.do(ctx, "remove", path, func(abs string) error {
		if _, err := m.find(abs); err != nil {
			return err
		}
		if len(m.children(abs)) > 0 {
			return env.ErrNotEmpty
		}
		delete(m.files, m.key(abs))
		return nil
	})
}

// Rename moves a file. It refuses directories.
func (m *Memory) Rename(ctx context.Context, from, to string) error {
	return m.do(ctx, "rename", from, func(abs string) error {
		f, err := m.find(abs)
		if err != nil {
			return err
		}
		target := m.paths.Abs(m.info.Dir, to)
		if err := m.passable(target); err != nil {
			return err
		}
		if _, err := m.find(m.paths.Dir(target)); err != nil {
			return err
		}
		if old := m.files[m.key(target)]; f.mode.IsDir() || old != nil && old.mode.IsDir() {
			return env.ErrIsDir
		}
		delete(m.files, m.key(abs))
		m.put(target, f.content, f.mode)
		return nil
	})
}

// Mkdir creates a directory.
func (m *Memory) Mkdir(ctx context.Context, path string, perm fs.FileMode) error {
	return m.do(ctx, "make directory", path, func(abs string) error {
		if m.files[m.key(abs)] != nil {
			return fs.ErrExist
		}
		if _, err := m.find(m.paths.Dir(abs)); err != nil {
			return err
		}
		m.put(abs, nil, fs.ModeDir|perm.Perm())
		return nil
	})
}

// ReadDir lists a directory.
func (m *Memory) ReadDir(ctx context.Context, path string) (list []env.FileInfo, err error) {
	err = m.do(ctx, "read directory", path, func(abs string) error {
		d, err := m.find(abs)
		if err != nil {
			return err
		}
		if !d.mode.IsDir() {
			return env.ErrNotDir
		}
		for _, f := range m.children(abs) {
			list = append(list, m.describe(f, f.name))
		}
		return nil
	})
	return list, err
}

// Start refuses every command.
func (m *Memory) Start(context.Context, env.Command) (env.Process, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, env.ErrClosed
	}
	return nil, fmt.Errorf("start a command: %w", env.ErrNoCommands)
}

// Close closes the environment.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}
