// Package search finds lines in files ([Grep]) and files by name ([Glob]).
//
// A walker lists directories ahead and returns files in path order. Workers read and match files in
// parallel, and results are reported in path order, so the same tree always gives the same sequence.
// Ignore files, hidden files and binary files are treated as ripgrep treats them by default. Symbolic
// links are not followed.
//
// The search is fast because it rarely runs the regular expression. If every match must contain one of a few literals,
// only lines with such a literal are matched with package regexp. Patterns without literals run as a DFA.
//
// Regular expressions have package regexp's syntax: without lookahead, lookbehind and backreferences.
//
// Files are read through one of two layers. [Local] reads the local disk with few system calls; for any other
// [env.Environment], ReadDir and Open are used. Everything above the layer is shared, so both return the same results.
// An environment that implements [Searcher] also serves its wrappers, such as [env.ReadOnly], [env.Logged] and
// [env.Scoped].
package search

import (
	"context"

	"github.com/reins-agent/reins/env"
)

// Searcher is implemented by environments with their own, faster search. It has the same contract as [Grep] and [Glob].
// Tool calls and scopes use it if the view that [env.NoLinks] returns implements it too.
type Searcher interface {
	Grep(ctx context.Context, q GrepQuery, yield func(FileMatch) bool) (Summary, error)
	Glob(ctx context.Context, q GlobQuery) (GlobResult, error)
}

var _ Searcher = (*Local)(nil)

// Hider is implemented by environments in which searches skip some files and directories.
type Hider interface {
	// Hidden returns a function that reports whether to skip an absolute path, or nil.
	Hidden() func(path string) bool
}

// Grep searches the contents of files in e. It calls yield for each file with matches, in path
// order, and stops when yield returns false.
//
// Grep returns a [PatternError] for an invalid pattern, an error that wraps fs.ErrNotExist or similar
// if q.Path cannot be searched, and ctx.Err(). Reaching a limit is not an error, and neither are
// unreadable files below q.Path: the Summary reports that the result is partial and why.
func Grep(ctx context.Context, e env.Environment, q GrepQuery, yield func(FileMatch) bool) (Summary, error) {
	if h, ok := e.(Hider); ok {
		q.Hide = h.Hidden()
	}
	r := findRoute(e)
	if r.searcher == nil {
		return grep(ctx, &generic{env: e}, q, yield)
	}
	return r.grep(ctx, q, yield)
}

// Glob finds files in e by name, newest first. It returns the same errors as [Grep].
func Glob(ctx context.Context, e env.Environment, q GlobQuery) (GlobResult, error) {
	if h, ok := e.(Hider); ok {
		q.Hide = h.Hidden()
	}
	r := findRoute(e)
	if r.searcher == nil {
		return globFiles(ctx, &generic{env: e}, q)
	}
	return r.glob(ctx, q)
}
