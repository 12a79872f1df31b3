package event

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// maxTransient bounds the transient records that a log keeps for readers that are behind.
const maxTransient = 8192

// Log is a log in memory. The zero value is ready, and safe for concurrent use.
type Log struct {
	mu      sync.Mutex
	durable []entry // in the order of their numbers, which may have gaps
	loose   []entry // the transient ones that are still kept
	last    uint64  // the position that was given out last
	readers map[*reader]struct{}
	wake    chan struct{} // closed when there is something new; nil if nobody waits
	closed  bool
}

// entry is a record at its position among all that were appended, of both sorts.
type entry struct {
	pos uint64
	Record
}

// NewLog is a log that begins with durable records, in the order of their numbers, which may have
// gaps.
func NewLog(records []Record) *Log {
	l := &Log{durable: make([]entry, len(records))}
	for i, r := range records {
		l.last++
		l.durable[i] = entry{l.last, r}
	}
	return l
}

// Append adds a record; it gives a durable one its number, unless it has one that is higher than
// all before, and every one its time, and returns it. A log that is closed takes nothing more and
// reports false.
func (l *Log) Append(r Record) (Record, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return r, false
	}
	if r.Kind().Transient() {
		l.show(r)
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

// Show adds a record for those who follow the log now, as if it were transient: it gets no number
// and is not kept. It reports false if the log is closed.
func (l *Log) Show(r Record) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.show(r)
	return true
}

func (l *Log) show(r Record) {
	if r.Time.IsZero() {
		r.Time = time.Now()
	}
	r.Seq = 0
	l.last++
	l.loose = append(l.loose, entry{l.last, r})
	if len(l.loose) > maxTransient {
		l.forget(maxTransient / 2)
	}
	l.rouse()
}

// seen counts the transient records that every reader has passed.
func (l *Log) seen() int {
	if len(l.loose) == 0 {
		return 0
	}
	least := l.last
	for r := range l.readers {
		least = min(least, r.pos)
	}
	n := 0
	for n < len(l.loose) && l.loose[n].pos <= least {
		n++
	}
	return n
}

// forget drops the oldest n transient records.
func (l *Log) forget(n int) {
	if n == 0 {
		return
	}
	kept := copy(l.loose, l.loose[n:])
	clear(l.loose[kept:])
	l.loose = l.loose[:kept]
	if kept == 0 && cap(l.loose) > 64 {
		l.loose = nil // an idle log is small
	}
}

func (l *Log) rouse() {
	if l.wake != nil {
		close(l.wake)
		l.wake = nil
	}
}

// Close ends the log: readers come to an end behind its last record.
func (l *Log) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.rouse()
}

// Last is the number of the last durable record.
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

// beyond is the index of the first durable record behind a number.
func (l *Log) beyond(after Seq) int {
	if after >= l.lastSeq() {
		return len(l.durable)
	}
	i, found := slices.BinarySearchFunc(l.durable, after, func(e entry, n Seq) int { return cmp.Compare(e.Seq, n) })
	if found {
		i++
	}
	return i
}

// Records are the durable records behind a number.
func (l *Log) Records(after Seq) []Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	rest := l.durable[l.beyond(after):]
	out := make([]Record, len(rest))
	for i, e := range rest {
		out[i] = e.Record
	}
	return out
}
