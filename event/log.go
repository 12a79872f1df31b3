package event

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sync"
	"time"
)

const (
	// maxTransient limits the transient records that a log keeps for slow readers.
	maxTransient = 8192
	// maxTransientBytes limits the tool output in these records.
	maxTransientBytes = 2 << 20
	// batchSize is how many records a reader copies at a time.
	batchSize = 64
)

// Log is a log in memory. The zero value is an empty log. Its methods may be called concurrently.
type Log struct {
	mu      sync.Mutex
	durable []entry   // by number; may have gaps
	loose   []entry   // transient
	bytes   int       // tool output in loose
	last    uint64    // last position
	shown   time.Time // time of the last transient record
	readers map[*reader]struct{}
	wake    chan struct{} // closed when there is more to read; nil without waiting readers
	closed  bool
}

// entry is a record at its position among the durable and transient records.
type entry struct {
	pos uint64
	Record
}

// NewLog returns a log that starts with durable records, which must be in order and may have gaps.
func NewLog(records []Record) *Log {
	l := &Log{durable: make([]entry, len(records))}
	for i, r := range records {
		l.last++
		l.durable[i] = entry{l.last, r}
	}
	return l
}

// Append adds a record and returns it with its number and time. It keeps a time that is set, and the number of a
// durable record if it is higher than the last number. It never blocks, not even for slow readers. It reports false if
// the log is closed.
func (l *Log) Append(r Record) (Record, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return r, false
	}
	if r.Kind().Transient() {
		l.addTransient(r)
		return r, true
	}
	if r.Time.IsZero() {
		r.Time = time.Now()
	}
	if last := l.lastSeq(); r.Seq <= last {
		r.Seq = last + 1
	}
	l.last++
	l.durable = append(l.durable, entry{l.last, r})
	l.forget(l.seen())
	l.rouse()
	return r, true
}

// show adds a record as if it were transient: it has no number and only current readers see it. It reports false if the
// log is closed.
func (l *Log) show(r Record) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.addTransient(r)
	return true
}

func (l *Log) addTransient(r Record) {
	if r.Time.IsZero() {
		r.Time = time.Now()
	}
	r.Time = r.Time.Round(0)
	if !r.Time.After(l.shown) { // the clock is coarse, or was set back
		r.Time = l.shown.Add(1)
	}
	l.shown = r.Time
	r.Seq = 0
	l.last++
	l.loose = append(l.loose, entry{l.last, r})
	l.bytes += weight(r)
	if len(l.loose) > maxTransient || l.bytes > maxTransientBytes {
		l.forget(l.seen()) // readers that keep up miss nothing
	}
	if len(l.loose) > maxTransient || l.bytes > maxTransientBytes {
		l.forget(l.half())
	}
	l.rouse()
}

// weight returns the bytes of tool output in a record.
func weight(r Record) int {
	if d, ok := r.Data.(ToolCallDelta); ok {
		return len(d.Text)
	}
	return 0
}

// half returns how many of the oldest transient records to drop so that at most half of each limit is used.
func (l *Log) half() int {
	n := max(0, len(l.loose)-maxTransient/2)
	left := l.bytes
	for _, e := range l.loose[:n] {
		left -= weight(e.Record)
	}
	for ; n < len(l.loose) && left > maxTransientBytes/2; n++ {
		left -= weight(l.loose[n].Record)
	}
	return n
}

// seen returns how many transient records all readers have passed.
func (l *Log) seen() int {
	if len(l.loose) == 0 {
		return 0
	}
	least := l.last
	for r := range l.readers {
		least = min(least, r.pos)
	}
	return l.looseAfter(least)
}

// forget drops the oldest n transient records.
func (l *Log) forget(n int) {
	if n == 0 {
		return
	}
	for _, e := range l.loose[:n] {
		l.bytes -= weight(e.Record)
	}
	kept := copy(l.loose, l.loose[n:])
	clear(l.loose[kept:])
	l.loose = l.loose[:kept]
	if kept == 0 && cap(l.loose) > 64 {
		l.loose = nil // keep idle logs small
	}
}

func (l *Log) rouse() {
	if l.wake != nil {
		close(l.wake)
		l.wake = nil
	}
}

// Close closes the log. Readers finish after the last record.
func (l *Log) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.rouse()
}

// Last returns the last durable record number.
func (l *Log) Last() Seq {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lastSeq()
}

func (l *Log) lastSeq() Seq {
	if len(l.durable) == 0 {
		return 0
	}
	return l.durable[len(l.durable)-1].Seq
}

// Records returns the durable records after a number.
func (l *Log) Records(after Seq) []Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	rest := l.durable[l.durableAfter(after):]
	out := make([]Record, len(rest))
	for i, e := range rest {
		out[i] = e.Record
	}
	return out
}

// durableAfter returns the index of the first durable record after a number.
func (l *Log) durableAfter(after Seq) int {
	if after >= l.lastSeq() {
		return len(l.durable)
	}
	i, _ := slices.BinarySearchFunc(l.durable, after+1, func(e entry, n Seq) int { return cmp.Compare(e.Seq, n) })
	return i
}

// looseAfter returns the index of the first transient record after a position.
func (l *Log) looseAfter(pos uint64) int {
	i, _ := slices.BinarySearchFunc(l.loose, pos+1, func(e entry, n uint64) int { return cmp.Compare(e.pos, n) })
	return i
}

// reader is a reader's progress.
type reader struct {
	pos   uint64 // last position seen
	after Seq    // last durable record seen
}

// Events follows the log after the durable record numbered after, which may not exist yet. It yields the existing
// records, then new records as they are appended. Any number of readers may follow the log at their own pace, and a
// reader may stop at any time.
//
// Every reader sees all durable records after that number, in order. It may miss transient records when it is slow, but
// never a durable one. A reader that joins while records stream may get those since the last durable record that others
// have seen before; the transient records in a log have different, increasing times. The iteration ends when the log is
// closed and all records have been yielded. When ctx is done, it ends with the cause as an error.
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

// join adds a reader. It skips transient records before the durable record.
func (l *Log) join(after Seq) *reader {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &reader{after: after}
	if after > l.lastSeq() {
		r.pos = l.last
	} else if i := l.durableAfter(after); i > 0 {
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

func (l *Log) passed(r *reader, e entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.pos = e.pos
	if e.Seq != 0 {
		r.after = e.Seq
	}
}

// next returns the next records for a reader. Without any, wait is closed when there are more.
func (l *Log) next(r *reader) (batch []entry, wait <-chan struct{}, open bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	batch = merge(l.durable[l.durableAfter(r.after):], l.loose[l.looseAfter(r.pos):])
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

// merge copies the first entries from two lists, in order of position.
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
