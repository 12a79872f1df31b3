// Package search answers two questions about a tree of files: which lines match a pattern
// ([Grep]), and which files have a name that matches ([Glob]).
//
// It works in this process. A walker lists directories ahead of need but hands them out in path
// order, workers read and match files in parallel, and results leave in path order again, so the
// same tree always gives the same answer in the same sequence. Ignore files, hidden and binary
// files are treated as ripgrep treats them by default.
//
// Most of the speed comes from not running the regular expression: the pattern is taken apart to
// find literals of which one must occur in every match, and only lines that hold one are given to
// package regexp.
//
// Regular expressions are those of package regexp. It has neither lookahead and lookbehind nor
// backreferences, and a pattern that needs them is refused with an error that says so.
//
// Files are reached through one of two layers. [Local] reads the machine's own disk with few
// system calls; every other [env.Environment] is read through its ReadDir and Open. Everything
// above the layer is shared, so both give the same results. An environment that is a [Searcher]
// also answers for its wrappers, such as those of [env.ReadOnly], [env.Logged] and [env.Scoped].
package search

import (
	"context"

	"github.com/reins-agent/reins/env"
)

// Searcher is implemented by environments that can search faster than by listing and opening one
// file at a time. The contract is that of the functions [Grep] and [Glob].
type Searcher interface {
	Grep(ctx context.Context, q GrepQuery, yield func(FileMatch) bool) (Summary, error)
	Glob(ctx context.Context, q GlobQuery) (GlobResult, error)
}

var _ Searcher = (*Local)(nil)

// Grep searches the contents of files in e. It calls yield for each file with matches, in path
// order, from the calling goroutine; when yield returns false the search stops.
//
// A limit of the query that is reached is no error: the Summary then says that the result is
// partial, and why. Errors are a [PatternError] for a pattern that cannot be used, an error that
// wraps fs.ErrNotExist or its siblings for a q.Path that cannot be searched, and ctx.Err().
// Files and directories below q.Path that cannot be read are counted, not reported as errors.
func Grep(ctx context.Context, e env.Environment, q GrepQuery, yield func(FileMatch) bool) (Summary, error) {
	r := findRoute(e)
	if r.searcher == nil {
		return grep(ctx, &generic{env: e}, q, yield)
	}
	return r.grep(ctx, q, yield)
}

// Glob finds files in e by name, newest first. Errors are as for [Grep].
func Glob(ctx context.Context, e env.Environment, q GlobQuery) (GlobResult, error) {
	r := findRoute(e)
	if r.searcher == nil {
		return globFiles(ctx, &generic{env: e}, q)
	}
	return r.glob(ctx, q)
}
