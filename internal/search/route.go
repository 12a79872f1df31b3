package search

import (
	"context"
	"slices"
	"strings"

	"github.com/reins-agent/reins/env"
)

// route leads from an environment through its wrappers to a searcher underneath.
//
// Each wrapper translates a search path, or refuses it. The searcher then bypasses the wrappers, so it must not follow
// links, which could lead to paths that a wrapper would refuse.
type route struct {
	top      env.Environment
	wrappers []env.Wrapper
	searcher Searcher // or nil
}

func findRoute(e env.Environment) route {
	r := route{top: e}
	for {
		if s, ok := e.(Searcher); ok {
			r.searcher = s
			return r
		}
		w, ok := e.(env.Wrapper)
		if !ok {
			return r
		}
		r.wrappers = append(r.wrappers, w)
		e = w.Unwrap()
	}
}

// passage is one search along a route.
type passage struct {
	from, to string // the requested path, and the path for the searcher
	paths    env.Paths
	done     []func(error)
}

// pass announces a search to the wrappers.
func (r route) pass(ctx context.Context, op, path string) (*passage, error) {
	path = orHere(path)
	p := &passage{from: path, to: path, paths: r.top.Info().Paths()}
	for _, w := range r.wrappers {
		below, done, err := w.Below(ctx, op, p.to)
		if err != nil {
			p.finish(err)
			return nil, err
		}
		p.to = below
		p.done = append(p.done, done)
	}
	return p, nil
}

// finish reports the outcome to the wrappers, the innermost first.
func (p *passage) finish(err error) {
	for _, done := range slices.Backward(p.done) {
		done(err)
	}
}

// moved reports whether the wrappers changed the path.
func (p *passage) moved() bool { return p.from != p.to }

// shown converts a searcher path to a path above the wrappers. It reports false for a path that is not below the
// searched path.
func (p *passage) shown(path string) (string, bool) {
	from, to := display(p.paths, p.from), display(p.paths, p.to)
	if path == to {
		return from, true
	}
	below, ok := strings.CutPrefix(path, strings.TrimSuffix(to, "/")+"/")
	switch {
	case !ok:
		return "", false
	case from == "":
		return below, true
	}
	return strings.TrimSuffix(from, "/") + "/" + below, true
}

func (r route) grep(ctx context.Context, q GrepQuery, yield func(FileMatch) bool) (Summary, error) {
	p, err := r.pass(ctx, "grep", q.Path)
	if err != nil {
		return Summary{}, err
	}
	report := yield
	if p.moved() {
		q.Path = p.to
		report = func(m FileMatch) bool {
			path, ok := p.shown(m.Path)
			if !ok {
				return true
			}
			m.Path = path
			return yield(m)
		}
	}
	sum, err := r.searcher.Grep(ctx, q, report)
	p.finish(err)
	return sum, err
}

func (r route) glob(ctx context.Context, q GlobQuery) (GlobResult, error) {
	paths := r.top.Info().Paths()
	root, rest := q.split(paths)
	p, err := r.pass(ctx, "glob", root)
	if err != nil {
		return GlobResult{}, err
	}
	if !p.moved() {
		res, err := r.searcher.Glob(ctx, q)
		p.finish(err)
		return res, err
	}
	below := q
	below.Path, below.Pattern = p.to, rest
	if q.Visit != nil {
		below.Visit = func(path string) bool {
			path, ok := p.shown(path)
			return !ok || q.Visit(path)
		}
	}
	res, err := r.searcher.Glob(ctx, below)
	p.finish(err)
	if isMissing(err) && q.named(paths) {
		_, err = r.top.Stat(ctx, orHere(q.Path))
		return GlobResult{}, err
	}
	if err != nil {
		return GlobResult{}, wholePattern(err, q.Pattern)
	}
	kept := res.Files[:0]
	for _, f := range res.Files {
		var ok bool
		if f.Path, ok = p.shown(f.Path); ok {
			kept = append(kept, f)
		}
	}
	res.Files = kept
	return res, nil
}

// orHere returns p, or "." if it is empty.
func orHere(p string) string {
	if p == "" {
		return "."
	}
	return p
}
