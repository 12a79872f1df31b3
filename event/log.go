package event

import (
	"context"
	"iter"
	"slices"
	"sync"
	"time"
)

// maxTransient bounds the transient records that a log keeps for readers that are behind.
const maxTransient = 8192

// Log is a log in memory. The zero value is ready, and safe for concurrent use.
type Log struct {
	mu      sync.Mutex
	entries []entry // in order of their position
	last    uint64  // the position that was given out last
	seq     Seq
	loose   int // transient entries
	readers map[*reader]struct{}
	wake    chan struct{} // closed when there is something new; nil if nobody waits
	closed  bool
}

type entry struct {
	pos uint64
	Record
}

// reader is where somebody who follows the log has got to.
type reader struct{ pos uint64 }

// Append adds a record; it gives a durable one its number and its time, and returns it. A log that
// is closed takes nothing more and reports false.
func (l *Log) Append(r Record) (Record, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return r, false
	}
	if r.Time.IsZero() {
		r.Time = time.Now()
	}
	l.last++
	if r.Kind().transient() {
		r.Seq = 0
		l.loose++
	} else {
		l.seq++
		r.Seq = l.seq
	}
	l.entries = append(l.entries, entry{l.last, r})
	if l.loose > 0 && (r.Seq != 0 || l.loose > maxTransient) {
		l.prune()
	}
	if l.wake != nil {
		close(l.wake)
		l.wake = nil
	}
	return r, true
}

// prune drops transient records that every reader has seen; when there are too many of them, the
// older half whoever has not.
func (l *Log) prune() {
	seen := l.last
	for r := range l.readers {
		seen = min(seen, r.pos)
	}
	excess := 0
	if l.loose > maxTransient {
		excess = l.loose - maxTransient/2
	}
	// Transient records lie at the end of the log, behind durable ones long settled.
	first := len(l.entries)
	for rest := l.loose; rest > 0 && first > 0; {
		first--
		if l.entries[first].Seq == 0 {
			rest--
		}
	}
	kept := slices.DeleteFunc(l.entries[first:], func(e entry) bool {
		if e.Seq != 0 || (e.pos > seen && excess <= 0) {
			return false
		}
		excess--
		l.loose--
		return true
	})
	l.entries = l.entries[:first+len(kept)]
}

// Close ends the log: readers come to an end behind its last record.
func (l *Log) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.wake != nil {
		close(l.wake)
		l.wake = nil
	}
}

// Last is the number of the last durable record.
func (l *Log) Last() Seq {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seq
}

// Records are the durable records behind a number.
func (l *Log) Records(after Seq) []Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []Record
	for _, e := range l.entries[l.find(after):] {
		if e.Seq != 0 {
			out = append(out, e.Record)
		}
	}
	return out
}

// find is the index of the first entry behind a durable record.
func (l *Log) find(after Seq) int {
	if after == 0 {
		return 0
	}
	// Durable records are in order; transient ones between them are passed over.
	lo, hi := 0, len(l.entries)
	for lo < hi {
		mid := (lo + hi) / 2
		m := mid
		for m > lo && l.entries[m].Seq == 0 {
			m--
		}
		if s := l.entries[m].Seq; s != 0 && s > after {
			hi = m
		} else {
			lo = mid + 1
		}
	}
	for lo > 0 && l.entries[lo-1].Seq == 0 {
		lo--
	}
	return lo
}

// Events follows the log behind a durable record: what is there, then what comes, until the log is
// closed, which ends it without an error, or ctx ends, which is its error. Any number of readers
// may follow; one that is slow loses nothing but transient records.
func (l *Log) Events(ctx context.Context, after Seq) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		r := l.join(after)
		defer l.leave(r)
		for {
			batch, wait, open := l.next(r)
			for _, e := range batch {
				if !yield(e.Record, nil) {
					return
				}
				l.mu.Lock()
				r.pos = e.pos
				l.mu.Unlock()
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
				yield(Record{}, context.Cause(ctx))
				return
			}
		}
	}
}

func (l *Log) join(after Seq) *reader {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &reader{}
	if i := l.find(after); i > 0 {
		r.pos = l.entries[i-1].pos
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

// next copies out what a reader has not seen, some of it at a time; wait tells of more.
func (l *Log) next(r *reader) (batch []entry, wait <-chan struct{}, open bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i, _ := slices.BinarySearchFunc(l.entries, r.pos, func(e entry, pos uint64) int {
		if e.pos <= pos {
			return -1
		}
		return 1
	})
	if i < len(l.entries) {
		return slices.Clone(l.entries[i:min(i+64, len(l.entries))]), nil, true
	}
	if l.closed {
		return nil, nil, false
	}
	if l.wake == nil {
		l.wake = make(chan struct{})
	}
	return nil, l.wake, true
}
