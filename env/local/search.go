package local

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/reins-agent/reins/internal/search"
)

// Grep implements [search.Searcher]. It reads the disk directly instead of calling Open.
func (e *Env) Grep(ctx context.Context, q search.GrepQuery, yield func(search.FileMatch) bool) (search.Summary, error) {
	if err := e.usable(ctx); err != nil {
		return search.Summary{}, err
	}
	sum, err := e.searcher(q.Path).Grep(ctx, q, yield)
	return sum, searchError(err)
}

// Glob implements [search.Searcher].
func (e *Env) Glob(ctx context.Context, q search.GlobQuery) (search.GlobResult, error) {
	if err := e.usable(ctx); err != nil {
		return search.GlobResult{}, err
	}
	res, err := e.searcher(q.Root(e.tree.paths)).Glob(ctx, q)
	return res, searchError(err)
}

// searchError translates a system error.
func searchError(err error) error {
	var pe *fs.PathError
	if !errors.As(err, &pe) {
		return err
	}
	return &fs.PathError{Op: pe.Op, Path: pe.Path, Err: translate(pe.Err)}
}

// searcher returns a search that starts at a path.
func (e *Env) searcher(start string) *search.Local {
	l := &search.Local{Dir: e.info.Dir}
	if len(e.tree.roots) == 0 && !e.tree.exact {
		return l
	}
	start = e.tree.paths.Abs(e.info.Dir, start)
	ignoreFiles := e.tree
	ignoreFiles.exact = false // their text does not appear in results
	l.Open = func(path string) (*os.File, error) {
		if path == start {
			return e.tree.openForSearch(path)
		}
		return ignoreFiles.openForSearch(path)
	}
	return l
}

// openForSearch opens a file or directory.
func (t *tree) openForSearch(path string) (*os.File, error) {
	var f *os.File
	err := t.follow(path, true, func(h handle, name string) (err error) {
		f, err = h.OpenFile(name, os.O_RDONLY|openNonblock, 0)
		return err
	})
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: t.explain(err)}
	}
	return f, nil
}
