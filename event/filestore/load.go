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

// openLog opens a log for reading, and says what meta.json knows of it, also if it does not open.
func (s *Store) openLog(id string) (File, known, error) {
	f, err := s.openFile(s.path(id, logName), os.O_RDONLY, 0)
	k := s.known(id)
	if errors.Is(err, fs.ErrNotExist) && k.there {
		// The session may have been created meanwhile, and its log before its meta.json.
		f, err = s.openFile(s.path(id, logName), os.O_RDONLY, 0)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, k, k.gone(id, isGone)
	case err != nil:
		return nil, k, fmt.Errorf("the log of session %s cannot be read: %w", id, err)
	}
	return f, k, nil
}

// Load reads the records of a session behind a number, one at a time, in memory that does not grow
// with the session. A line that is damaged, a record out of its order and records that are not
// there come as *event.CorruptError, and the iteration goes on behind them. That the log has lost
// its end comes as the last of them, and that all of it is gone as the only one. Every other error
// is the end.
func (s *Store) Load(ctx context.Context, id string, after event.Seq) iter.Seq2[event.Record, error] {
	return func(yield func(event.Record, error) bool) {
		if err := s.load(ctx, id, after, yield); err != nil {
			yield(event.Record{}, err)
		}
	}
}

// load gives an error that is the end of the iteration.
func (s *Store) load(ctx context.Context, id string, after event.Seq, yield func(event.Record, error) bool) error {
	if err := usable(ctx, id); err != nil {
		return err
	}
	log, k, err := s.openLog(id)
	if err != nil {
		return err
	}
	defer log.Close()
	c := check{in: s.readLog(log, id, index{})}
	for {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		e, err := c.next()
		var damage *event.CorruptError
		switch {
		case err == io.EOF && c.in.number > 0 && after > 0 && after >= k.Meta.Last:
			return nil // what may be lost at the end is not asked for
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

// check reads a log and sees to it that the numbers of its records have no gaps.
type check struct {
	in      *logReader
	last    event.Seq // the number of the last sound record
	damaged event.Seq // lines since then that are not sound
}

// reached is the number of the last record, as far as one can tell.
func (c *check) reached() event.Seq { return c.last + c.damaged }

// next is like that of logReader. With a record before which others are missing it gives an error
// as well.
func (c *check) next() (entry, error) {
	e, err := c.in.next()
	var damage *event.CorruptError
	switch {
	case errors.As(err, &damage):
		c.damaged++
		return entry{}, err
	case err != nil || e.record == nil:
		return e, err
	case e.seq <= c.last:
		return entry{}, c.in.corrupt(fmt.Errorf("record %d stands behind record %d", e.seq, c.last))
	case e.seq > c.last+1 && c.damaged == 0:
		err = c.in.corrupt(fmt.Errorf("the records from %d to %d before it are missing", c.last+1, e.seq-1))
	}
	c.last, c.damaged = e.seq, 0
	return e, err
}

// end is what is wrong with the log as a whole, when all of it was read.
func (c *check) end(k known) error {
	if c.in.number == 0 {
		return k.gone(c.in.session, isEmpty)
	}
	l := k.lost(c.in.end, c.reached())
	if l.Bytes == 0 {
		return nil
	}
	return &event.CorruptError{Session: c.in.session, Offset: c.in.end, Line: c.in.number + 1, Err: fmt.Errorf(
		"as far as %s knows, %v", indexName, l)}
}

func (c *check) decode(e entry) (event.Record, error) {
	r, err := event.DecodeRecord(e.record)
	if err != nil {
		return event.Record{}, c.in.corrupt(err)
	}
	return r, nil
}
