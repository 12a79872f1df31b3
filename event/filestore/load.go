package filestore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"

	"github.com/reins-agent/reins/event"
)

// openLog opens a log for reading. It returns the content of meta.json even if the log cannot be opened.
func (s *Store) openLog(id string) (File, known, error) {
	f, err := s.openFile(s.path(id, logName), os.O_RDONLY, 0)
	k := s.known(id)
	if errors.Is(err, fs.ErrNotExist) && k.exists {
		// The session may have just been created, first the log and then meta.json.
		f, err = s.openFile(s.path(id, logName), os.O_RDONLY, 0)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, k, k.missing(id, "is missing")
	case err != nil:
		return nil, k, fmt.Errorf("cannot read the log of session %s: %w", id, err)
	}
	return f, k, nil
}

// Load yields a session's records after a number. Its memory does not grow with the session. Damaged lines, missing
// records and records out of order yield an *event.CorruptError, and the iteration continues. A lost end or a missing
// log yields one as well. Any other error ends the iteration.
func (s *Store) Load(ctx context.Context, id string, after event.Seq) iter.Seq2[event.Record, error] {
	return func(yield func(event.Record, error) bool) {
		if err := s.load(ctx, id, after, yield); err != nil {
			yield(event.Record{}, err)
		}
	}
}

// load returns the error that ends the iteration.
func (s *Store) load(ctx context.Context, id string, after event.Seq, yield func(event.Record, error) bool) error {
	if err := usable(ctx, id); err != nil {
		return err
	}
	log, k, err := s.openLog(id)
	if err != nil {
		return err
	}
	defer log.Close()
	c := checker{in: readLog(log, id, index{})}
	for {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		e, err := c.next()
		var damage *event.CorruptError
		switch {
		case err == io.EOF && c.in.number > 0 && after > 0 && after >= k.Meta.Last:
			return nil // the lost end is before after
		case err == io.EOF:
			return c.end(k)
		case err != nil && !errors.As(err, &damage):
			return err
		case e.header != nil && c.in.number == 1 && e.header.Session != id:
			return fmt.Errorf("session %s %w", id, event.ErrNotFound)
		}
		if err != nil && c.reached() > after && !yield(event.Record{}, err) {
			return nil
		}
		if e.record == nil || e.seq <= after {
			continue
		}
		if !yield(c.decode(e)) {
			return nil
		}
	}
}

// checker reads a log and checks that its records have consecutive numbers.
type checker struct {
	in      *logReader
	last    event.Seq // number of the last intact record
	damaged event.Seq // number of damaged lines after it
}

// reached returns the last record number if the damaged lines are records.
func (c *checker) reached() event.Seq { return c.last + c.damaged }

// next returns the next entry. If records are missing before it, it returns both the entry and an error.
func (c *checker) next() (entry, error) {
	e, err := c.in.next()
	var damage *event.CorruptError
	switch {
	case errors.As(err, &damage):
		c.damaged++
		return entry{}, err
	case err != nil || e.record == nil:
		return e, err
	case e.seq <= c.last:
		return entry{}, c.in.corrupt(fmt.Errorf("record %d follows record %d", e.seq, c.last))
	case e.seq > c.last+1 && c.damaged == 0:
		err = c.in.corrupt(fmt.Errorf("records %d to %d are missing before it", c.last+1, e.seq-1))
	}
	c.last, c.damaged = e.seq, 0
	return e, err
}

// end returns an error about the whole log, after its last entry.
func (c *checker) end(k known) error {
	if c.in.number == 0 {
		return k.missing(c.in.session, "has no complete line")
	}
	l := k.lost(c.in.end, c.reached())
	if l.Bytes == 0 {
		return nil
	}
	return &event.CorruptError{
		Session: c.in.session,
		Offset:  c.in.end,
		Line:    c.in.number + 1,
		Err:     fmt.Errorf("according to %s, %v", indexName, l),
	}
}

func (c *checker) decode(e entry) (event.Record, error) {
	r, err := event.DecodeRecord(e.record)
	if err != nil {
		return event.Record{}, c.in.corrupt(err)
	}
	return r, nil
}
