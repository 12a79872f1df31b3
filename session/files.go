package session

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/internal/fileindex"
	"github.com/reins-agent/reins/internal/search"
	"github.com/reins-agent/reins/internal/show"
)

// Limits of the file index.
const (
	maxIndexed = 2_000_000       // files
	listTime   = 2 * time.Minute // for listing them
)

// PartialError means that a result lacks some files, because the working directory has too many, or they are still being
// listed.
type PartialError struct {
	Files   int  `json:"files"`   // that were searched
	Listing bool `json:"listing"` // ask again for more
}

func (e *PartialError) Error() string {
	if e.Listing {
		return fmt.Sprintf("%s searched, the others are still being listed", show.Plural(e.Files, "file"))
	}
	return fmt.Sprintf("more than %s: the rest is not searched", show.Plural(e.Files, "file"))
}

// files is an index of the files in a session's working directory. It is built in the background when it is used.
type files struct {
	limit int // of files; 0 means maxIndexed

	mu    sync.Mutex
	dir   string           // whose files are in the index
	index *fileindex.Index // the last complete one, or the first while it is built
	whole bool             // the index has all files
	ready bool             // the index is complete, or as complete as it gets
	err   error            // of the last build
	built time.Time
	took  time.Duration
	build chan struct{} // closed at the end of the build in progress; nil if there is none
}

// find returns the files that match a text best. It lists the files again if the index is old. It waits for that only if
// it should not take long. The error is a *[PartialError] if the index lacks files.
func (f *files) find(ctx, lifetime context.Context, e env.Environment, text string, limit int) ([]string, error) {
	const soon = 250 * time.Millisecond
	dir := e.Info().Dir
	f.mu.Lock()
	if f.build == nil && f.dir != dir { // the session moved, such as to a worktree
		f.dir, f.index = dir, nil
		f.whole, f.ready, f.err = false, false, nil
	}
	// A tenth of the time may be spent on listing.
	if f.build == nil && lifetime.Err() == nil && (!f.ready || time.Since(f.built) > max(time.Second, 10*f.took)) {
		f.start(lifetime, e)
	}
	build := f.build
	wait := build != nil && (!f.ready || f.took < soon/2)
	f.mu.Unlock()
	if wait {
		timer := time.NewTimer(soon)
		defer timer.Stop()
		select {
		case <-build:
		case <-timer.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	f.mu.Lock()
	x, whole, ready, err := f.index, f.whole, f.ready, f.err
	moved := f.dir != dir
	f.mu.Unlock()
	switch {
	case moved: // the other directory is still being listed
		return []string{}, &PartialError{Listing: true}
	case x == nil:
		err = ErrClosed
	}
	if err != nil {
		return nil, err
	}
	list := []string{}
	for _, m := range x.Find(text, limit) {
		list = append(list, m.Path)
	}
	if !whole {
		return list, &PartialError{Files: x.Files(), Listing: !ready}
	}
	return list, nil
}

// start starts a build; f.mu is held.
func (f *files) start(ctx context.Context, e env.Environment) {
	next, done := &fileindex.Index{}, make(chan struct{})
	if f.index != nil {
		next.Grow(f.index)
	} else {
		f.index = next
	}
	f.build = done
	go func() {
		defer close(done)
		start := time.Now()
		whole, err := list(ctx, e, next, cmp.Or(f.limit, maxIndexed))
		next.Finish()
		f.mu.Lock()
		defer f.mu.Unlock()
		f.index, f.whole, f.ready, f.err = next, whole, true, err
		f.built, f.took, f.build = time.Now(), time.Since(start), nil
	}()
}

// list adds the files of the working directory up to a limit, and reports whether it added all. It leaves out what ignore
// files exclude.
func list(ctx context.Context, e env.Environment, x *fileindex.Index, limit int) (whole bool, err error) {
	n, dir := 0, e.Info().Dir
	found, err := search.Glob(ctx, e, search.GlobQuery{
		Pattern: "**",
		Timeout: listTime,
		Visit: func(path string) bool {
			if n++; n > limit {
				return false
			}
			x.Add(strings.TrimPrefix(strings.TrimPrefix(path, dir), "/"))
			return true
		},
	})
	return !found.Summary.Partial || found.Summary.Reason == search.Unreadable, err
}

// close waits for the end of a build. The lifetime must have ended, so that no other build starts.
func (f *files) close() {
	f.mu.Lock()
	build := f.build
	f.mu.Unlock()
	if build != nil {
		<-build
	}
}
