package coder

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/reins-agent/reins/checkpoint"
	"github.com/reins-agent/reins/home"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// scope finds changes to files that must not change. Checkpoints show all changes, including those made by commands,
// but not changes to ignored files, so scope also tracks the files that tools write. A nil scope allows all changes.
type scope struct {
	dir     string
	allowed []string
	store   *checkpoint.Store
	before  checkpoint.ID

	mu      sync.Mutex
	written map[string]string // the digests of files before tools wrote them, by path
	failed  error             // why a digest is missing
}

// openScope records the directory's state before the run.
func (r *run) openScope(ctx context.Context) (*scope, error) {
	if r.request.AllowedFiles == nil {
		return nil, nil
	}
	s := &scope{dir: r.request.Dir, allowed: r.request.AllowedFiles, written: map[string]string{}}
	var err error
	if s.store, err = home.Dir(r.config.State).OpenCheckpoints(s.dir); err != nil {
		return nil, err
	}
	s.before, err = s.take(ctx)
	return s, err
}

// take takes a checkpoint. It fails if a file is unreadable, because such a file cannot be compared.
func (s *scope) take(ctx context.Context) (checkpoint.ID, error) {
	id, stats, err := s.store.Take(ctx, "reins coder")
	if err == nil && len(stats.Unreadable) > 0 {
		err = stats.Unreadable[0]
	}
	return id, err
}

// permits reports whether a path relative to the directory may change.
func (s *scope) permits(path string) bool {
	return slices.ContainsFunc(s.allowed, func(pattern string) bool { return doublestar.MatchUnvalidated(pattern, path) })
}

// relative returns a path as it is shown: relative to the directory if it is inside.
func (s *scope) relative(path string) string {
	rel, err := filepath.Rel(s.dir, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return path
	}
	return filepath.ToSlash(rel)
}

// remember is middleware that records the state of files that a call is about to write but must not change.
func (s *scope) remember(ctx context.Context, c tool.Call, next func(context.Context) (tool.Result, error)) (tool.Result, error) {
	if s != nil {
		for _, a := range c.Accesses {
			if (a.Kind == policy.Write || a.Kind == policy.Delete) && !s.permits(s.relative(a.Target)) {
				s.mu.Lock()
				if _, ok := s.written[a.Target]; !ok {
					d, err := digest(a.Target)
					s.written[a.Target], s.failed = d, errors.Join(s.failed, err)
				}
				s.mu.Unlock()
			}
		}
	}
	return next(ctx)
}

// digest identifies a file's content; "" means that it does not exist.
func digest(path string) (string, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", err
	case !info.Mode().IsRegular(): // reading a FIFO would wait
		return info.Mode().String(), nil
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return fmt.Sprintf("%x", h.Sum(nil)), err
}

// stamp identifies the state of all files in a directory, ignored files included, by their names, modes, sizes and times.
func stamp(dir string) (string, error) {
	h := sha256.New()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			fmt.Fprintf(h, "%q %v %d %d\n", path, info.Mode(), info.Size(), info.ModTime().UnixNano())
		}
		return err
	})
	return fmt.Sprintf("%x", h.Sum(nil)), err
}

// judge returns the failure for a run that ended with f: a scope violation if it changed files that must not change, or
// if that is unknown.
func (s *scope) judge(ctx context.Context, f *failure) *failure {
	if s == nil {
		return f
	}
	changes, err := s.changes(ctx)
	if err == nil && len(changes) == 0 {
		return f
	}
	message := fmt.Sprintf("%d files changed that must not change", len(changes))
	switch {
	case err != nil:
		message = fmt.Sprintf("the changed files cannot be checked: %v", err)
	case len(changes) == 1:
		message = "1 file changed that must not change: " + changes[0].Path
	}
	v := failf(ScopeViolation, "%s", message)
	v.changes = changes
	if f != nil {
		v.exit, v.message = f.exit, fmt.Sprintf("%s; the run also failed (%s): %s", message, f.kind, f.message)
	}
	return v
}

// changes lists the changes that are not allowed, sorted by path.
func (s *scope) changes(ctx context.Context) ([]Change, error) {
	after, err := s.take(ctx)
	if err != nil {
		return nil, err
	}
	all, err := s.store.Diff(ctx, s.before, after)
	if err = errors.Join(err, s.failed); err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, c := range all {
		if !c.Dir() && !s.permits(c.Path) {
			found[c.Path] = string(c.Kind)
		}
	}
	for path, old := range s.written {
		name := s.relative(path)
		now, err := digest(path)
		if err != nil {
			return nil, err
		}
		if _, ok := found[name]; ok || now == old {
			continue
		}
		kind := checkpoint.Modified
		if old == "" {
			kind = checkpoint.Added
		} else if now == "" {
			kind = checkpoint.Deleted
		}
		found[name] = string(kind)
	}
	var list []Change
	for path, kind := range found {
		list = append(list, Change{path, kind})
	}
	slices.SortFunc(list, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return list, nil
}
