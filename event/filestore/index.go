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
		x.Format, x.Meta.ID = e.header.Format, e.header.Session
	case e.meta != nil:
		created := x.Meta.Created
		if created.IsZero() {
			created = e.meta.Created
		}
		id, last, updated := x.Meta.ID, x.Meta.Last, later(x.Meta.Updated, e.meta.Updated)
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

// index is what is known about a session: what meta.json has, brought up to date. No session, or
// one that was not created to the end, is ErrNotFound.
func (s *Store) index(id string) (x index, torn int64, err error) {
	log, err := s.openLog(id)
	if err != nil {
		return x, 0, err
	}
	defer log.Close()
	x, torn, err = s.indexOf(log, id)
	if err != nil {
		return x, torn, err
	}
	if x.Lines == 0 || x.Meta.ID != "" && x.Meta.ID != id {
		return x, torn, fmt.Errorf("%w: %s", event.ErrNotFound, id)
	}
	x.Meta.ID = id
	return x, torn, nil
}

func (s *Store) indexOf(log File, id string) (x index, torn int64, err error) {
	info, err := log.Stat()
	if err != nil {
		return x, 0, err
	}
	x, err = s.readIndex(id)
	if err != nil || x.Size > info.Size() {
		x = index{}
	}
	if x.Size == info.Size() {
		return x, 0, nil
	}
	torn, err = s.extend(&x, log, id)
	return x, torn, err
}

// missing explains why a log does not open.
func (s *Store) missing(id string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the log of session %s cannot be read: %w", id, err)
	}
	if _, err := s.files.Stat(s.path(id, indexName)); err == nil {
		return fmt.Errorf("the log of session %s is gone, though its %s is there: %w", id, indexName, event.ErrNotFound)
	}
	return fmt.Errorf("%w: %s", event.ErrNotFound, id)
}

// readIndex reads meta.json.
func (s *Store) readIndex(id string) (x index, err error) {
	f, err := s.files.OpenFile(s.path(id, indexName), os.O_RDONLY, 0)
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
	if x.Format != s.formats.current() || x.Size < 0 || x.Lines < 0 {
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
	f, err := s.files.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, filePerm)
	if err != nil {
		return err
	}
	_, err = f.Write(line)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return s.files.Rename(temporary, filepath.Join(dir, indexName))
}
