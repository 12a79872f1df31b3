package search

import (
	"cmp"
	"context"
	"io/fs"
	"slices"
	"strings"

	"github.com/reins-agent/reins/env"
)

// Root returns the directory in which the search starts: Path joined with the pattern's leading literal directories. ""
// is the working directory.
func (q GlobQuery) Root(paths env.Paths) string {
	root, _ := q.split(paths)
	return root
}

// split returns the search root and the pattern below it.
func (q GlobQuery) split(paths env.Paths) (root, rest string) {
	pattern := q.Pattern
	if paths.IsAbs(pattern) {
		pattern = paths.ToSlash(pattern)
	}
	base, rest := splitGlob(pattern)
	switch {
	case base == "":
		return q.Path, rest
	case paths.IsAbs(base):
		return paths.Clean(base), rest
	}
	return paths.Join(q.Path, base), rest
}

// named reports whether the pattern starts with literal directories, which may be missing.
func (q GlobQuery) named(paths env.Paths) bool {
	return !paths.IsAbs(q.Pattern) && q.Root(paths) != q.Path
}

// globFiles runs a GlobQuery on a layer.
func globFiles(ctx context.Context, l layer, q GlobQuery) (GlobResult, error) {
	start, rest := q.split(l.paths())
	g, err := compileGlob(rest, q.IgnoreCase)
	if err != nil {
		return GlobResult{}, wholePattern(err, q.Pattern)
	}
	f := &filter{hidden: q.Hidden, names: g.hiddenNames()}
	root, shown := l.abs(start), display(l.paths(), start)
	if e, err := l.stat(ctx, root); err != nil {
		if isMissing(err) && q.named(l.paths()) {
			_, err = l.stat(ctx, l.abs(q.Path))
		}
		return GlobResult{}, err
	} else if e.kind != dirKind {
		return GlobResult{}, &fs.PathError{Op: "glob", Path: rooted(root), Err: env.ErrNotDir}
	}
	inner, cancel := withTimeout(ctx, q.Timeout)
	defer cancel()
	w := &walker{
		layer:    l,
		filter:   f,
		noIgnore: q.NoIgnore,
		hide:     q.Hide,
		root:     root,
	}
	var res GlobResult
	err = w.walk(inner, func(n *node, e *entry) bool {
		res.Summary.Searched++
		if q.Visit != nil {
			if g.matchBelow(n.abs[len(root):], e.name) && !q.Visit(displayPath(shown, root, n, e.name)) {
				res.Summary.partial(LimitReached)
				return false
			}
		} else {
			res.add(inner, g, n, e, shown, root)
		}
		return res.Summary.Searched%64 != 0 || inner.Err() == nil
	})
	if ctx.Err() != nil {
		return GlobResult{}, ctx.Err()
	}
	res.Summary.Failed = int(w.failed.Load())
	if inner.Err() != nil {
		res.Summary.partial(TimedOut)
	} else if err != nil {
		return GlobResult{}, err
	}
	res.finish(q.Limit)
	return res, nil
}

// add adds a file if it matches.
func (r *GlobResult) add(ctx context.Context, g *glob, n *node, e *entry, display, root string) {
	if !g.matchBelow(n.abs[len(root):], e.name) {
		return
	}
	if e.details == nil {
		st, err := n.dir.stat(ctx, e.name)
		if err != nil {
			if !isMissing(err) {
				r.Summary.Failed++
			}
			return
		}
		e.details = st.details
	}
	r.Files = append(r.Files, GlobFile{Path: displayPath(display, root, n, e.name), Size: e.details.size, ModTime: e.details.modTime})
}

// matchBelow matches a file by its directory, which is empty or starts with a slash, and its name. It
// avoids joining them if the name alone decides.
func (g *glob) matchBelow(dir, name string) bool {
	if dir == "" || g.onlyNames() {
		return g.match(name)
	}
	return g.match(dir[1:] + "/" + name)
}

// finish sorts the files, newest first, and applies the limit.
func (r *GlobResult) finish(limit int) {
	slices.SortFunc(r.Files, func(a, b GlobFile) int {
		if c := b.ModTime.Compare(a.ModTime); c != 0 {
			return c
		}
		return cmp.Compare(a.Path, b.Path)
	})
	s := &r.Summary
	if limit > 0 && len(r.Files) > limit {
		r.Files = slices.Clip(r.Files[:limit])
		s.partial(LimitReached)
	}
	if s.Failed > 0 {
		s.partial(Unreadable)
	}
	s.Files, s.Matches = len(r.Files), len(r.Files)
}

// splitGlob splits a pattern before the first element that is not literal. The last element always
// stays in rest.
func splitGlob(pattern string) (base, rest string) {
	rest = pattern
	for {
		elem, after, ok := strings.Cut(rest, "/")
		if !ok || strings.ContainsAny(elem, `*?[]{}\`) {
			break
		}
		base += elem + "/"
		rest = strings.TrimLeft(after, "/")
	}
	return base, rest
}

// wholePattern makes an error about part of a glob name all of it.
func wholePattern(err error, pattern string) error {
	if pe, ok := err.(*PatternError); ok && pe.Kind == "glob" {
		pe.Pattern = pattern
	}
	return err
}
