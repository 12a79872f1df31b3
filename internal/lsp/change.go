package lsp

import (
	"context"
	"errors"
	"io/fs"
	"slices"
)

// Diagnostics returns the diagnostics for a file's current content. It waits for the server until ctx is done.
func (w *Workspace) Diagnostics(ctx context.Context, path string) (all []Diagnostic, err error) {
	err = w.with(ctx, path, func(c *client) error {
		c.stale.Store(true)
		c.refresh(ctx)
		d, err := c.open(ctx, path)
		if err != nil {
			return err
		}
		err = c.check(ctx, d)
		all = c.known(func(p string) bool { return c.paths.Key(p) == c.paths.Key(path) })
		return err
	})
	return all, err
}

// Known returns the diagnostics that running servers have reported for files at or below a path.
func (w *Workspace) Known(path string) (all []Diagnostic) {
	for _, c := range w.running() {
		all = append(all, c.known(func(p string) bool { return c.paths.Within(path, p) })...)
	}
	return all
}

// Change is a change of files whose effect on diagnostics is observed.
type Change struct {
	w     *Workspace
	paths []string
	sides map[*client]*side
}

// side is the part of a change for one server.
type side struct {
	opened  []document // before the change
	before  []Diagnostic
	late    bool // the errors before the change are unknown
	changed []document
}

// Report is how a change affected the diagnostics.
type Report struct {
	New    []Diagnostic // errors that did not exist before, sorted by path
	Before int          // errors in the changed files that existed before and still do
	// Known is false if the errors before the change are unknown because the server was not ready. New then contains
	// all errors in the changed files.
	Known bool
}

// Before prepares for a change of files. It opens them in the servers that are running, without waiting for their
// diagnostics.
func (w *Workspace) Before(ctx context.Context, paths []string) *Change {
	ch := &Change{w: w, paths: paths, sides: make(map[*client]*side)}
	for _, p := range paths {
		c := w.runs(p)
		if c == nil {
			continue
		}
		if ch.sides[c] == nil {
			c.refresh(ctx)
			ch.sides[c] = &side{}
		}
		if d, err := c.open(ctx, p); err == nil {
			ch.sides[c].opened = append(ch.sides[c].opened, d)
		}
	}
	return ch
}

// runs returns the server for a file if it is running.
func (w *Workspace) runs(path string) *client {
	for _, c := range w.running() {
		if c.server.language(c.paths, path) != "" {
			return c
		}
	}
	return nil
}

// After tells the servers that the files were changed, and waits for diagnostics until ctx is done. Before that, it
// waits for the unchanged files' diagnostics until half is done, which must be earlier.
func (ch *Change) After(ctx, half context.Context) (Report, error) {
	for c, s := range ch.sides {
		for _, d := range s.opened {
			s.late = c.check(half, d) != nil || s.late
		}
		s.before = errorsIn(c.known(nil))
	}
	var err error
	for _, p := range ch.paths {
		err = errors.Join(err, ch.w.with(ctx, p, func(c *client) error { return ch.send(ctx, c, p) }))
	}
	r := Report{Known: true}
	for c, s := range ch.sides {
		c.saved(ctx, ch.paths)
		for _, d := range s.changed {
			err = errors.Join(err, c.check(ctx, d))
		}
		ch.compare(c, s, &r)
	}
	return r, err
}

// send sends a changed file to its server.
func (ch *Change) send(ctx context.Context, c *client, path string) error {
	s := ch.sides[c]
	if s == nil {
		s = &side{late: true}
		ch.sides[c] = s
	}
	d, err := c.open(ctx, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		s.changed = append(s.changed, d)
	}
	return err
}

// compare adds a server's diagnostics to a report.
func (ch *Change) compare(c *client, s *side, r *Report) {
	mine := func(d Diagnostic) bool { return slices.Contains(ch.paths, d.Path) }
	after := errorsIn(c.known(nil))
	if s.late {
		r.Known = false
		after = slices.DeleteFunc(after, func(d Diagnostic) bool { return !mine(d) })
	}
	fresh := subtract(after, s.before)
	r.New = append(r.New, fresh...)
	for _, d := range after {
		if mine(d) {
			r.Before++
		}
	}
	for _, d := range fresh {
		if mine(d) {
			r.Before--
		}
	}
}

// errorsIn returns the diagnostics that are errors, never nil.
func errorsIn(all []Diagnostic) []Diagnostic {
	return slices.DeleteFunc(append([]Diagnostic{}, all...), func(d Diagnostic) bool { return d.Severity != Error })
}

// subtract returns the diagnostics that were not there before. It ignores line numbers, because edits change them.
func subtract(after, before []Diagnostic) (fresh []Diagnostic) {
	type id struct{ path, source, message string }
	count := make(map[id]int)
	for _, d := range before {
		count[id{d.Path, d.Source, d.Message}]++
	}
	for _, d := range after {
		k := id{d.Path, d.Source, d.Message}
		if count[k] > 0 {
			count[k]--
			continue
		}
		fresh = append(fresh, d)
	}
	return fresh
}
