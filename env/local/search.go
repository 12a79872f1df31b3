package local

import (
	"context"
	"os"

	"github.com/reins-agent/reins/env/search"
)

// Grep searches the contents of files. It reads the disk itself, without a detour over Open.
func (e *Env) Grep(ctx context.Context, q search.GrepQuery, yield func(search.FileMatch) bool) (search.Summary, error) {
	if err := e.usable(ctx); err != nil {
		return search.Summary{}, err
	}
	return e.searcher().Grep(ctx, q, yield)
}

// Glob finds files by name, newest first.
func (e *Env) Glob(ctx context.Context, q search.GlobQuery) (search.GlobResult, error) {
	if err := e.usable(ctx); err != nil {
		return search.GlobResult{}, err
	}
	return e.searcher().Glob(ctx, q)
}

func (e *Env) searcher() *search.Local {
	l := &search.Local{Dir: e.info.Dir}
	if len(e.tree.roots) > 0 {
		l.Open = e.openForSearch
	}
	return l
}

// openForSearch opens a file or directory inside the roots.
func (e *Env) openForSearch(path string) (*os.File, error) {
	var f *os.File
	err := e.tree.follow(path, true, func(h handle, name string) (err error) {
		f, err = h.OpenFile(name, os.O_RDONLY|openNonblock, 0)
		return err
	})
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: e.tree.explain(err)}
	}
	return f, nil
}
