package event

import (
	"context"
	"iter"
	"slices"
)

// batchSize is how many records a reader takes out at a time.
const batchSize = 64

// reader is where somebody who follows the log has got to.
type reader struct {
	pos   uint64 // everything up to here was seen
	after Seq    // and so were the durable records up to here
}

// Events follows the log behind a durable record, which may be one to come: what is there, then what comes, until the log is
// closed, which ends it without an error, or ctx ends, which is its error. Any number of readers
// may follow, and stop at any time; one that is slow loses nothing but transient records.
func (l *Log) Events(ctx context.Context, after Seq) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		r := l.join(after)
		defer l.leave(r)
		for {
			if ctx.Err() != nil {
				yield(Record{}, context.Cause(ctx))
				return
			}
			batch, wait, open := l.next(r)
			for _, e := range batch {
				if !yield(e.Record, nil) {
					return
				}
				l.passed(r, e)
			}
			if len(batch) > 0 {
				continue
			}
			if !open {
				return
			}
			select {
			case <-wait:
			case <-ctx.Done():
			}
		}
	}
}

// join adds a reader behind a durable record. Transient records older than that are not for it.
func (l *Log) join(after Seq) *reader {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &reader{after: after}
	if after > l.lastSeq() {
		r.pos = l.last
	} else if i := l.beyond(after); i > 0 {
		r.pos = l.durable[i-1].pos
	}
	if l.readers == nil {
		l.readers = make(map[*reader]struct{})
	}
	l.readers[r] = struct{}{}
	return r
}

func (l *Log) leave(r *reader) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.readers, r)
}

// passed notes that the reader is done with an entry, which may be forgotten from then on.
func (l *Log) passed(r *reader, e entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.pos = e.pos
	if e.Seq != 0 {
		r.after = e.Seq
	}
}

// next copies out what a reader has not seen, some of it at a time; wait tells of more.
func (l *Log) next(r *reader) (batch []entry, wait <-chan struct{}, open bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	batch = merge(l.durable[l.beyond(r.after):], l.loose[l.behind(r.pos):])
	switch {
	case len(batch) > 0:
		return batch, nil, true
	case l.closed:
		return nil, nil, false
	}
	if l.wake == nil {
		l.wake = make(chan struct{})
	}
	return nil, l.wake, true
}

// behind is the index of the first transient record behind a position.
func (l *Log) behind(pos uint64) int {
	i, _ := slices.BinarySearchFunc(l.loose, pos+1, func(e entry, pos uint64) int {
		switch {
		case e.pos < pos:
			return -1
		case e.pos > pos:
			return 1
		}
		return 0
	})
	return i
}

// merge copies the first entries of two lists in the order of their positions.
func merge(a, b []entry) []entry {
	n := min(len(a)+len(b), batchSize)
	if n == 0 {
		return nil
	}
	out := make([]entry, 0, n)
	for len(out) < n {
		if len(b) == 0 || len(a) > 0 && a[0].pos < b[0].pos {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return out
}
