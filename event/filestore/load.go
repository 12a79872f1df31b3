package filestore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/reins-agent/reins/event"
)

// openLog opens a log for reading.
func (s *Store) openLog(id string) (File, error) {
	f, err := s.files.OpenFile(s.path(id, logName), os.O_RDONLY, 0)
	if err != nil {
		return nil, s.missing(id, err)
	}
	return f, nil
}

// Load reads the records of a session behind a number, one at a time, in memory that does not grow
// with the session. A line that is damaged, a record out of its order and records that are not
// there come as *event.CorruptError, and the iteration goes on behind them. Every other error is
// its end.
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
	log, err := s.openLog(id)
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
		case err == io.EOF && c.in.number == 0:
			return fmt.Errorf("%w: %s", event.ErrNotFound, id)
		case err == io.EOF:
			return nil
		case err != nil && !errors.As(err, &damage):
			return err
		case e.header != nil && c.in.number == 1 && e.header.Session != id:
			return fmt.Errorf("%w: %s", event.ErrNotFound, id)
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

func (c *check) decode(e entry) (event.Record, error) {
	r, err := event.DecodeRecord(e.record)
	if err != nil {
		return event.Record{}, c.in.corrupt(err)
	}
	return r, nil
}
