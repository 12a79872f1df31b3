// Package watch notices changes to the files in a directory, and finds comments in them that are instructions.
//
// It compares file metadata at intervals. That needs no handles and no system limits,
// works on network file systems, and costs at most 0.5 % of a core.
package watch

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/reins-agent/reins/internal/search"
)

const (
	idlePause    = 500 * time.Millisecond // between scans while nothing changes
	settlePause  = 300 * time.Millisecond // how long nothing may change before a change counts
	maxUnrest    = 5 * time.Second        // after which it counts anyway
	costFactor   = 200                    // a pause is at least that many times longer than a scan
	defaultFiles = 100_000
)

// ErrTooMany is wrapped by errors about directories with more files than a tree may have.
var ErrTooMany = errors.New("too many files to watch")

// State describes a tree's files by path, relative to its directory and with slashes.
type State map[string]search.TreeStat

// Tree is a directory. Files that git ignores, .git directories and temporary files of editors are not a part of it, and
// symbolic links are not followed.
type Tree struct {
	Dir      string                 // an absolute path without symbolic links
	Skip     func(path string) bool // directories to leave out, by relative path
	MaxFiles int                    // 0 means 100,000

	cost time.Duration // duration of the last scan
}

// Scan returns the current files.
func (t *Tree) Scan(ctx context.Context) (State, error) {
	start := time.Now()
	defer func() { t.cost = time.Since(start) }()
	limit := t.MaxFiles
	if limit == 0 {
		limit = defaultFiles
	}
	files := State{}
	local := &search.Local{Dir: t.Dir}
	err := local.Tree(ctx, search.TreeQuery{SkipDir: t.Skip}, func(e *search.TreeEntry) error {
		if !e.Stat.Mode.IsRegular() || temporary(e.Name) {
			return nil
		}
		if len(files) == limit {
			return fmt.Errorf(
				"%w: %s has more than %d files; add directories to .gitignore, or watch a subdirectory",
				ErrTooMany, t.Dir, limit,
			)
		}
		files[path.Join(e.Dir, e.Name)] = e.Stat
		return nil
	})
	return files, err
}

// temporary reports whether editors use the name while they save a file.
func temporary(name string) bool {
	switch path.Ext(name) {
	case ".swp", ".swo", ".swx", ".tmp":
		return true
	}
	return name == "4913" || strings.HasSuffix(name, "~") || strings.HasPrefix(name, ".#") ||
		strings.HasPrefix(name, "#") && strings.HasSuffix(name, "#")
}

// Wait waits until the files differ from a state and no longer change. It returns the new state.
func (t *Tree) Wait(ctx context.Context, base State) (State, error) {
	last, since := base, time.Time{}
	for {
		pause := idlePause
		if !since.IsZero() {
			pause = settlePause
		}
		select {
		case <-time.After(max(pause, costFactor*t.cost)):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		now, err := t.Scan(ctx)
		if err != nil {
			return nil, err
		}
		changed := len(Changed(base, now)) > 0
		switch {
		case !changed:
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		case len(Changed(last, now)) == 0, time.Since(since) > maxUnrest:
			return now, nil
		}
		last = now
	}
}

// Changed lists the files that were added, changed or removed between two states, sorted.
func Changed(from, to State) (list []string) {
	for p, st := range to {
		if was, ok := from[p]; !ok || was != st {
			list = append(list, p)
		}
	}
	for p := range from {
		if _, ok := to[p]; !ok {
			list = append(list, p)
		}
	}
	slices.Sort(list)
	return list
}
