package search

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/internal/gitdir"
)

// Local searches the local disk. The zero value searches the process's working directory without confinement. Its
// methods may be called concurrently.
type Local struct {
	// Dir is the directory for relative paths; "" is the process's working directory.
	Dir string

	// Open, if set, opens files and directories by absolute path. It can refuse paths outside some directories, and
	// must not block on FIFOs. It is called for the search root and for ignore files; everything else is opened
	// relative to its directory without following links, so that a search cannot leave its tree.
	Open func(path string) (*os.File, error)

	home string // for tests: the directory with the user's git configuration
}

// Grep implements [Searcher].
func (l *Local) Grep(ctx context.Context, q GrepQuery, yield func(FileMatch) bool) (Summary, error) {
	return grep(ctx, localLayer{l}, q, yield)
}

// Glob implements [Searcher].
func (l *Local) Glob(ctx context.Context, q GlobQuery) (GlobResult, error) {
	return globFiles(ctx, localLayer{l}, q)
}

// localLayer is a Local as a layer.
type localLayer struct{ *Local }

func (l localLayer) paths() env.Paths { return env.PathsOf(runtime.GOOS) }

func (l localLayer) abs(p string) string {
	dir := l.Dir
	if dir == "" {
		dir, _ = os.Getwd()
	}
	return strings.TrimSuffix(filepath.ToSlash(l.paths().Abs(dir, p)), "/")
}

func (l localLayer) real(p string) string {
	resolved, err := filepath.EvalSymlinks(native(p))
	if err != nil {
		return p
	}
	return strings.TrimSuffix(filepath.ToSlash(resolved), "/")
}

// native converts a layer path to a platform path.
func native(p string) string {
	return filepath.FromSlash(rooted(p))
}

func (l localLayer) openFile(p string) (*os.File, error) {
	p = native(p)
	if l.Local.Open != nil {
		return l.Local.Open(p)
	}
	info, err := os.Stat(p)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() && !info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: p, Err: env.ErrSpecial}
	}
	return os.Open(p)
}

func (l localLayer) stat(_ context.Context, p string) (entry, error) {
	f, err := l.openFile(p)
	if err != nil {
		return entry{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return entry{}, err
	}
	return statEntry(info), nil
}

func statEntry(info fs.FileInfo) entry {
	e := infoEntry(env.FileInfo{Name: info.Name(), Size: info.Size(), Mode: info.Mode(), ModTime: info.ModTime()})
	e.details.changed, e.details.inode = changeOf(info)
	return e
}

func (l localLayer) readFile(_ context.Context, p string, buf []byte, limit int64) ([]byte, error) {
	f, err := l.openFile(p)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, buf, limit)
}

func (l localLayer) git(context.Context) gitdir.Files { return confined{gitdir.Host, l} }

// confined reads repository files within a Local's confinement.
type confined struct {
	gitdir.Files
	layer localLayer
}

func (c confined) Stat(p string) (fs.FileMode, error) {
	e, err := c.layer.stat(context.Background(), filepath.ToSlash(p))
	if err != nil {
		return 0, err
	}
	return e.details.mode, nil
}

func (c confined) Read(p string) ([]byte, error) {
	return c.layer.readFile(context.Background(), filepath.ToSlash(p), nil, maxIgnoreFile)
}

// globals reads the user's configuration. Confinement does not apply, because it only hides files.
func (l localLayer) globals() rules {
	home, config := l.home, ""
	if home == "" {
		home, _ = os.UserHomeDir()
		config = os.Getenv("XDG_CONFIG_HOME")
	}
	return globalExcludes(filepath.ToSlash(home), filepath.ToSlash(config), func(p string) string {
		data, err := os.ReadFile(native(p))
		if err != nil {
			return ""
		}
		return string(data)
	})
}
