package filestore

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/reins-agent/reins/event"
)

// index is the content of meta.json: the session description, up to a position in its log.
type index struct {
	Format int        `json:"format"`
	Size   int64      `json:"log_size"`
	Lines  int        `json:"log_lines"`
	Meta   event.Meta `json:"meta"`
}

// add applies a log entry.
func (x *index) add(e entry) {
	switch {
	case e.header != nil:
		x.Format = e.header.Format
		x.Meta.ID = cmp.Or(x.Meta.ID, e.header.Session) // a later header may have the id before an import
	case e.meta != nil:
		m := *e.meta
		m.ID = cmp.Or(x.Meta.ID, m.ID)
		m.Created = cmp.Or(x.Meta.Created, m.Created)
		m.Updated = later(x.Meta.Updated, m.Updated)
		m.Last = max(x.Meta.Last, m.Last) // only greater after a loss
		x.Meta = m
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

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// extend applies the rest of the log to the index, and returns an incomplete last line's size. A damaged line
// counts as a record, so that its number is not used again.
func (x *index) extend(log io.ReaderAt, id string) (torn int64, err error) {
	in := readLog(io.NewSectionReader(log, x.Size, 1<<62), id, *x)
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

// status is an up-to-date index and the log end.
type status struct {
	index
	torn int64 // size of an incomplete last line
	lost loss
}

// status describes a session. It returns ErrNotFound for an incomplete session. If the log is missing, it returns an
// *event.CorruptError and the content of meta.json.
func (s *Store) status(id string) (status, error) {
	log, k, err := s.openLog(id)
	if err != nil {
		return status{index: k.index}, err
	}
	defer log.Close()
	x, err := statusOf(log, k, id)
	if err != nil {
		return x, err
	}
	if x.Meta.ID != "" && x.Meta.ID != id {
		return x, fmt.Errorf("session %s %w", id, event.ErrNotFound)
	}
	x.Meta.ID = id
	return x, nil
}

func statusOf(log File, k known, id string) (x status, err error) {
	info, err := log.Stat()
	if err != nil {
		return x, err
	}
	if k.fits(log, info.Size()) {
		x.index = k.index
	}
	if x.Size < info.Size() {
		if x.torn, err = x.extend(log, id); err != nil {
			return x, err
		}
	}
	if x.Lines == 0 {
		return status{index: k.index}, k.missing(id, "has no complete line")
	}
	if x.Meta.ID != "" && k.Meta.ID != x.Meta.ID {
		return x, nil
	}
	x.lost = k.lost(x.Size, x.Meta.Last)
	last := max(x.Meta.Last, k.Meta.Last) // numbers are not used twice
	if x.lost.Bytes > 0 {
		x.Meta = k.Meta
	}
	x.Meta.Last = last
	return x, nil
}

// readIndex reads meta.json. It also returns its JSON object.
func (s *Store) readIndex(id string) (x index, object []byte, err error) {
	f, err := s.openFile(s.path(id, indexName), os.O_RDONLY, 0)
	if err != nil {
		return x, nil, err
	}
	defer f.Close()
	line, err := io.ReadAll(io.LimitReader(f, maxLine))
	if err != nil {
		return x, nil, err
	}
	object, err = openLine(line)
	if err != nil {
		return x, nil, err
	}
	x, err = checkIndex(object)
	return x, object, err
}

// checkIndex decodes an index and checks it.
func checkIndex(object []byte) (index, error) {
	x, err := decodeIndex(object)
	if err != nil {
		return index{}, err
	}
	if x.Format != format || x.Size <= 0 || x.Lines <= 0 {
		return index{}, errors.New("unknown format")
	}
	return x, nil
}

// writeIndex replaces meta.json in a session directory. The file is not flushed: readers detect crash damage.
func (s *Store) writeIndex(dir string, x index) error {
	x.Format = format
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

// known is the content of meta.json. The log is flushed before meta.json is written, so a shorter log is damaged. known
// must be read before the log, which may grow.
type known struct {
	index
	exists bool // set even if it is unreadable
}

func (s *Store) known(id string) known {
	x, _, err := s.readIndex(id)
	if err != nil {
		return known{exists: !errors.Is(err, fs.ErrNotExist)}
	}
	return known{x, true}
}

// fits reports whether a log with the given size can begin with the part that meta.json covers.
func (k known) fits(log io.ReaderAt, size int64) bool {
	if k.Size == 0 || k.Size > size {
		return false
	}
	var end [1]byte
	_, err := log.ReadAt(end[:], k.Size-1)
	return err == nil && end[0] == '\n'
}

// missing returns the error for a log without a complete line. Without a meta.json the session was never
// completely created.
func (k known) missing(id, problem string) error {
	if !k.exists || k.Meta.ID != "" && k.Meta.ID != id {
		return fmt.Errorf("session %s %w", id, event.ErrNotFound)
	}
	says := "cannot be read"
	if k.Lines > 0 {
		says = fmt.Sprintf("covers %d bytes up to record %d", k.Size, k.Meta.Last)
	}
	return &event.CorruptError{Session: id, Line: 1, Err: fmt.Errorf(
		"the log %s, and %s %s: restore %s from a backup, or delete the session", problem, indexName, says, logName)}
}
