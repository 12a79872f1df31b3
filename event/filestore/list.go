package filestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/reins-agent/reins/event"
)

// List describes all sessions, most recently written first. Before them, it yields an error for each session that
// cannot be described, with the fields that are known.
func (s *Store) List(ctx context.Context) iter.Seq2[event.Meta, error] {
	return func(yield func(event.Meta, error) bool) {
		names, err := s.names()
		if err != nil {
			yield(event.Meta{}, err)
			return
		}
		saved := s.readCopies()
		list := s.describeAll(ctx, names, saved)
		if err := context.Cause(ctx); err != nil {
			yield(event.Meta{}, err)
			return
		}
		defer s.saveCopies(names, list, saved)
		metas := make([]*event.Meta, 0, len(list))
		for i := range list {
			switch d := &list[i]; {
			case errors.Is(d.err, event.ErrNotFound): // incomplete, or just deleted
			case d.err == nil:
				metas = append(metas, &d.meta)
			case !yield(d.meta, d.err):
				return
			}
		}
		slices.SortFunc(metas, func(a, b *event.Meta) int { return a.Compare(*b) })
		for _, m := range metas {
			if !yield(*m, nil) {
				return
			}
		}
	}
}

// names returns all session directories.
func (s *Store) names() ([]string, error) {
	entries, err := s.files.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot list sessions: %w", err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// described is the result of describe.
type described struct {
	meta event.Meta
	err  error
	copy []byte // for .list; nil if the description may change without a trace
	read bool   // from meta.json, so .list lacks the copy
}

// describeAll describes sessions, several at a time. It stops when ctx is done.
func (s *Store) describeAll(ctx context.Context, names []string, saved copies) []described {
	out := make([]described, len(names))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(names)) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(names)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				out[i] = s.describe(names[i], saved[names[i]])
			}
		})
	}
	workers.Wait()
	return out
}

// describe describes the session in a directory, of which .list may have a copy. With an error it returns what is
// known, at least the id.
func (s *Store) describe(name string, saved []byte) described {
	info, err := s.files.Stat(s.dir + "/" + name + "/" + logName)
	if err == nil {
		if x, object, ok := openCopy(saved, info); ok {
			return described{meta: x.Meta, copy: object}
		}
	}
	x, object, err2 := s.readIndex(name)
	if err == nil && err2 == nil && x.Size == info.Size() {
		return described{meta: x.Meta, copy: newCopy(name, info, object), read: true}
	}
	m, err := s.describeLog(name, x)
	return described{meta: m, err: err}
}

// describeLog describes a session from its log, or from meta.json if the log is unreadable.
func (s *Store) describeLog(name string, x index) (event.Meta, error) {
	id := name
	if event.FoldID(x.Meta.ID) == name {
		id = x.Meta.ID
	}
	log, k, err := s.openLog(id)
	if err != nil {
		k.Meta.ID = cmp.Or(k.Meta.ID, id)
		return k.Meta, err
	}
	defer log.Close()
	now, err := statusOf(log, k, id)
	now.Meta.ID = cmp.Or(now.Meta.ID, id)
	return now.Meta, err
}
