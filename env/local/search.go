package local

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/reins-agent/reins/env/search"
)

// Grep implements [search.Searcher]. It reads the disk directly instead of calling Open.
func (e *Env) Grep(ctx context.Context, q search.GrepQuery, yield func(search.FileMatch) bool) (search.Summary, error) {
	if err := e.usable(ctx); err != nil {
		return search.Summary{}, err
	}
	sum, err := e.searcher().Grep(ctx, q, yield)
	return sum, searchError(err)
}

// Glob implements [search.Searcher].
func (e *Env) Glob(ctx context.Context, q search.GlobQuery) (search.GlobResult, error) {
	if err := e.usable(ctx); err != nil {
		return search.GlobResult{}, err
	}
	res, err := e.searcher().Glob(ctx, q)
	return res, searchError(err)
}

// searchError translates an error of the system.
func searchError(err error) error {
	var pe *fs.PathError
	if !errors.As(err, &pe) {
		return err
	}
	return &fs.PathError{Op: pe.Op, Path: pe.Path, Err: translate(pe.Err)}
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
