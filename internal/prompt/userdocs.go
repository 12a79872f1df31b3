package prompt

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/reins-agent/reins/env"
)

// user reads the user's documents. Problems are added to docs.
func (f Finder) user(ctx context.Context, docs *Docs) (list []Doc) {
	for _, file := range f.User {
		dir := filepath.Dir(file)
		shown := func(p string) string {
			if rel, err := filepath.Rel(f.Home, p); f.Home != "" && err == nil && filepath.IsLocal(rel) {
				return "~/" + filepath.ToSlash(rel)
			}
			return p
		}
		d := &docFinder{
			ctx:    ctx,
			files:  hostFiles{},
			paths:  env.PathsOf(runtime.GOOS),
			root:   dir,
			home:   f.Home,
			shown:  shown,
			budget: docBudget,
		}
		own, _ := filepath.EvalSymlinks(file) // may be a link to another place, such as a repository of settings
		top, _ := filepath.EvalSymlinks(dir)
		d.permits = func(real string) bool {
			return real == own || d.paths.Within(top, real) || d.paths.Within(filepath.Dir(own), real)
		}
		d.load(file, 0)
		for _, doc := range d.docs.Files {
			if !slices.ContainsFunc(list, func(o Doc) bool { return o.Text == doc.Text }) {
				list = append(list, doc)
			}
		}
		docs.Refused, docs.limits = append(docs.Refused, d.docs.Refused...), append(docs.limits, d.docs.limits...)
		if d.docs.Truncated {
			docs.limits = append(docs.limits, shown(file)+" was truncated at 32 KiB, with what it imports")
		}
	}
	return list
}

// hostFiles reads files on this machine.
type hostFiles struct{}

func (hostFiles) Lstat(_ context.Context, path string) (env.FileInfo, error) {
	return fileInfo(os.Lstat(path))
}

func (hostFiles) Stat(_ context.Context, path string) (env.FileInfo, error) {
	return fileInfo(os.Stat(path))
}

func fileInfo(fi os.FileInfo, err error) (env.FileInfo, error) {
	if err != nil {
		return env.FileInfo{}, err
	}
	return env.FileInfo{Name: fi.Name(), Size: fi.Size(), Mode: fi.Mode(), ModTime: fi.ModTime()}, nil
}

func (hostFiles) RealPath(_ context.Context, path string) (string, error) {
	return filepath.EvalSymlinks(path)
}

func (hostFiles) Open(_ context.Context, path string) (io.ReadCloser, error) { return os.Open(path) }

func (hostFiles) ReadDir(context.Context, string) ([]env.FileInfo, error) { return nil, os.ErrInvalid }
