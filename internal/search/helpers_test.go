package search

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/internal/gitdir/gitdirtest"
)

// writeTree writes the files in a txtar archive to a new directory. A name that ends in a slash is a directory; ".git/"
// is a repository.
func writeTree(t testing.TB, archive string) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		if path.Base(f.Name) == ".git" && strings.HasSuffix(f.Name, "/") {
			gitdirtest.Init(t, filepath.Join(dir, filepath.FromSlash(path.Dir(path.Clean(f.Name)))))
			continue
		}
		writeFile(t, filepath.Join(dir, filepath.FromSlash(f.Name)), string(f.Data), strings.HasSuffix(f.Name, "/"))
	}
	return dir
}

func writeFile(t testing.TB, name, data string, isDir bool) {
	t.Helper()
	parent := filepath.Dir(name)
	if isDir {
		parent = name
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		t.Fatal(err)
	}
	if isDir {
		return
	}
	if err := os.WriteFile(name, []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
}

// isolated returns a Local that ignores the user's configuration.
func isolated(dir string) *Local { return &Local{Dir: dir, home: filepath.Join(dir, "no-home")} }

// diskEnv is an environment without its own search, with only the methods that the generic layer needs.
type diskEnv struct {
	env.Environment
	dir string
}

func (e diskEnv) Info() env.Info { return env.Info{Dir: e.dir} }

func (e diskEnv) Stat(_ context.Context, p string) (env.FileInfo, error) {
	info, err := os.Stat(p)
	return fileInfo(info, err)
}

func (e diskEnv) Lstat(_ context.Context, p string) (env.FileInfo, error) {
	info, err := os.Lstat(p)
	return fileInfo(info, err)
}

func (e diskEnv) RealPath(_ context.Context, p string) (string, error) {
	return filepath.EvalSymlinks(p)
}

func fileInfo(info fs.FileInfo, err error) (env.FileInfo, error) {
	if err != nil {
		return env.FileInfo{}, err
	}
	return env.FileInfo{Name: info.Name(), Size: info.Size(), Mode: info.Mode(), ModTime: info.ModTime()}, nil
}

func (e diskEnv) Open(_ context.Context, p string) (io.ReadCloser, error) { return os.Open(p) }

func (e diskEnv) ReadDir(_ context.Context, p string) ([]env.FileInfo, error) {
	entries, err := os.ReadDir(p)
	if err != nil {
		return nil, err
	}
	var infos []env.FileInfo
	for _, entry := range entries {
		info, err := fileInfo(entry.Info())
		if err != nil {
			return nil, err
		}
		infos = append(infos, info)
	}
	return infos, nil
}

// grepAll collects a query's results.
func grepAll(t testing.TB, s Searcher, q GrepQuery) ([]FileMatch, Summary) {
	t.Helper()
	var out []FileMatch
	sum, err := s.Grep(t.Context(), q, func(m FileMatch) bool {
		out = append(out, m)
		return true
	})
	if err != nil {
		t.Fatalf("Grep(%+v): %v", q, err)
	}
	return out, sum
}

// genericSearcher is a Searcher that uses the generic layer.
type genericSearcher struct{ e env.Environment }

func (g genericSearcher) Grep(ctx context.Context, q GrepQuery, yield func(FileMatch) bool) (Summary, error) {
	return Grep(ctx, g.e, q, yield)
}

func (g genericSearcher) Glob(ctx context.Context, q GlobQuery) (GlobResult, error) {
	return Glob(ctx, g.e, q)
}

// paths returns the paths of matches, one per line.
func paths(ms []FileMatch) string {
	var b strings.Builder
	for _, m := range ms {
		fmt.Fprintln(&b, m.Path)
	}
	return b.String()
}

// text formats matches as grep does: path:number:line, with dashes for context.
func text(ms []FileMatch) string {
	var b strings.Builder
	for _, m := range ms {
		for _, l := range m.Lines {
			sep := "-"
			if l.Match {
				sep = ":"
			}
			fmt.Fprintf(&b, "%s%s%d%s%s\n", m.Path, sep, l.Number, sep, l.Text)
		}
	}
	return b.String()
}
