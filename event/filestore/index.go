package filestore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/reins-agent/reins/event"
)

// index is what the log of a session says about it as a whole, up to a point. It is kept in
// meta.json.
type index struct {
	Format int        `json:"format"`
	Size   int64      `json:"log_size"`
	Lines  int        `json:"log_lines"`
	Meta   event.Meta `json:"meta"`
}

// add takes in an entry of the log.
func (x *index) add(e entry) {
	switch {
	case e.header != nil:
		x.Format = e.header.Format
		if x.Meta.ID == "" { // a later one is that of the session it was, if it is a copy
			x.Meta.ID = e.header.Session
		}
	case e.meta != nil:
		created := x.Meta.Created
		if created.IsZero() {
			created = e.meta.Created
		}
		// More than the records before it say is only in one that follows a loss.
		last := max(x.Meta.Last, e.meta.Last)
		id, updated := x.Meta.ID, later(x.Meta.Updated, e.meta.Updated)
		if id == "" {
			id = e.meta.ID
		}
		x.Meta = *e.meta
		x.Meta.ID, x.Meta.Created, x.Meta.Last, x.Meta.Updated = id, created, last, updated
	default:
		x.Meta.Last = e.seq
		x.Meta.Updated = later(x.Meta.Updated, recordTime(e.record))
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// extend reads the log on from where the index ends, and says how many bytes stand behind its last
// whole line. A damaged line counts as the record that it probably was, so that its number is not
// given away again.
func (s *Store) extend(x *index, log io.ReaderAt, id string) (torn int64, err error) {
	in := s.readLog(io.NewSectionReader(log, x.Size, 1<<62), id, *x)
	for {
		e, err := in.next()
		var damage *event.CorruptError
		switch {
		case err == io.EOF:
			return in.torn, nil
		case errors.As(err, &damage):
			if damage.Line > 1 {
				x.Meta.Last++
			}
		case err != nil:
			return 0, err
		default:
			x.add(e)
		}
		x.Size, x.Lines = in.end, in.number
	}
}

// status is what is known about a session: what meta.json has, brought up to date, and how its log
// ends.
type status struct {
	index
	torn int64 // bytes behind the last whole line
	lost loss
}

// status describes a session. No session, or one that was not created to the end, is ErrNotFound;
// one whose log is gone comes as an *event.CorruptError, with what meta.json says of it.
func (s *Store) status(id string) (status, error) {
	log, k, err := s.openLog(id)
	if err != nil {
		return status{index: k.index}, err
	}
	defer log.Close()
	x, err := s.statusOf(log, k, id)
	if err != nil {
		return x, err
	}
	if x.Meta.ID != "" && x.Meta.ID != id {
		return x, fmt.Errorf("session %s %w", id, event.ErrNotFound)
	}
	x.Meta.ID = id
	return x, nil
}

func (s *Store) statusOf(log File, k known, id string) (x status, err error) {
	info, err := log.Stat()
	if err != nil {
		return x, err
	}
	if k.fits(log, info.Size()) {
		x.index = k.index
	}
	if x.Size < info.Size() {
		if x.torn, err = s.extend(&x.index, log, id); err != nil {
			return x, err
		}
	}
	if x.Lines == 0 {
		return status{index: k.index}, k.gone(id, isEmpty)
	}
	if x.Meta.ID != "" && k.Meta.ID != x.Meta.ID {
		return x, nil
	}
	x.lost = k.lost(x.Size, x.Meta.Last)
	last := max(x.Meta.Last, k.Meta.Last) // no number is given away twice
	if x.lost.Bytes > 0 {
		x.Meta = k.Meta
	}
	x.Meta.Last = last
	return x, nil
}

// fits reports whether the log of the given size may begin with what meta.json covers.
func (k known) fits(log io.ReaderAt, size int64) bool {
	if k.Size == 0 || k.Size > size {
		return false
	}
	var end [1]byte
	_, err := log.ReadAt(end[:], k.Size-1)
	return err == nil && end[0] == '\n'
}

// known reads meta.json. That it cannot be read is no error: then the log is.
func (s *Store) known(id string) known {
	x, err := s.readIndex(id)
	if err != nil {
		return known{there: !errors.Is(err, fs.ErrNotExist)}
	}
	return known{x, true}
}

// readIndex reads meta.json.
func (s *Store) readIndex(id string) (x index, err error) {
	f, err := s.openFile(s.path(id, indexName), os.O_RDONLY, 0)
	if err != nil {
		return x, err
	}
	defer f.Close()
	line, err := io.ReadAll(io.LimitReader(f, maxLine))
	if err != nil {
		return x, err
	}
	object, err := openLine(bytes.TrimSuffix(line, []byte("\n")))
	if err != nil {
		return x, err
	}
	if err := json.Unmarshal(object, &x); err != nil {
		return x, err
	}
	if x.Format != s.formats.current() || x.Size <= 0 || x.Lines <= 0 {
		return index{}, errors.New("of another format")
	}
	return x, nil
}

// writeIndex replaces meta.json in a session's directory. It is not flushed: what a crash makes of
// it is noticed.
func (s *Store) writeIndex(dir string, x index) error {
	x.Format = s.formats.current()
	line, err := appendJSON(nil, x)
	if err != nil {
		return err
	}
	temporary := filepath.Join(dir, indexName+".new")
	f, err := s.openFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, filePerm)
	if err != nil {
		return err
	}
	_, err = f.Write(line)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return s.files.Rename(temporary, filepath.Join(dir, indexName))
}
