package filestore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/reins-agent/reins/event"
)

// Create creates a session. It replaces what an incomplete Create left.
func (s *Store) Create(ctx context.Context, m event.Meta) (event.Writer, error) {
	if err := usable(ctx, m.ID); err != nil {
		return nil, err
	}
	lock, err := s.lock(ctx, m.ID)
	if errors.Is(err, event.ErrLocked) {
		return nil, fmt.Errorf("session %s %w", m.ID, event.ErrExists)
	}
	if err != nil {
		return nil, err
	}
	w, err := s.create(m, lock)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return w, nil
}

func (s *Store) create(m event.Meta, lock io.Closer) (*writer, error) {
	if err := s.vacant(m.ID); err != nil {
		return nil, err
	}
	if err := s.files.MkdirAll(s.path(m.ID), dirPerm); err != nil {
		return nil, fmt.Errorf("cannot create session %s: %w", m.ID, err)
	}
	log, err := s.openFile(s.path(m.ID, logName), os.O_RDWR|os.O_CREATE|os.O_TRUNC, filePerm)
	if err != nil {
		return nil, fmt.Errorf("cannot create session %s: %w", m.ID, err)
	}
	m = m.Clone()
	m.Last, m.Updated = 0, s.now().UTC()
	if m.Created.IsZero() {
		m.Created = m.Updated
	}
	// A meta.json implies a log, so the log's name must be durable before meta.json is written.
	err = s.files.SyncDir(s.path(m.ID))
	if err == nil {
		err = s.files.SyncDir(s.dir)
	}
	w := &writer{
		store: s,
		id:    m.ID,
		log:   log,
		lock:  lock,
		disk:  index{Meta: m},
	}
	if err == nil {
		err = w.begin()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot create session %s: %w", m.ID, err), log.Truncate(0), log.Close())
	}
	return w, nil
}

// vacant returns ErrExists if a session has the id, ignoring case.
func (s *Store) vacant(id string) error {
	log, k, err := s.openLog(id)
	var damage *event.CorruptError
	switch {
	case err == nil:
		defer log.Close()
		_, err = newScanner(log, 0, 0).next()
		if err != io.EOF {
			return fmt.Errorf("session %s %w", id, event.ErrExists)
		}
	case !errors.Is(err, event.ErrNotFound) && !errors.As(err, &damage):
		return err
	}
	if k.exists {
		return fmt.Errorf("session %s %w without its log: delete it to use the name again", id, event.ErrExists)
	}
	return nil
}

// Open opens a session for writing. If the log has lost its end, new records get numbers after the lost records, and
// the log notes the loss. If the log is missing, Open returns an *event.CorruptError.
func (s *Store) Open(ctx context.Context, id string) (event.Writer, error) {
	if err := usable(ctx, id); err != nil {
		return nil, err
	}
	if !s.begun(id) { // otherwise lock would create a file for it
		return nil, fmt.Errorf("session %s %w", id, event.ErrNotFound)
	}
	lock, err := s.lock(ctx, id)
	if err != nil {
		return nil, err
	}
	w, err := s.open(id, lock)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return w, nil
}

// begun reports whether a session has any files.
func (s *Store) begun(id string) bool {
	for _, name := range []string{logName, indexName} {
		if _, err := s.files.Stat(s.path(id, name)); !errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	return false
}

func (s *Store) open(id string, lock io.Closer) (*writer, error) {
	x, err := s.status(id)
	if err != nil {
		return nil, err
	}
	log, err := s.openFile(s.path(id, logName), os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot open session %s: %w", id, err)
	}
	w, err := s.prepare(x, log, lock)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot open session %s: %w", id, err), log.Close())
	}
	return w, nil
}

// prepare repairs the log end and returns a writer.
func (s *Store) prepare(x status, log File, lock io.Closer) (*writer, error) {
	id := x.Meta.ID
	if x.torn > 0 {
		if err := s.moveTorn(id, log, x.Size, x.torn); err != nil {
			return nil, err
		}
	}
	if err := s.files.RemoveAll(s.path(id, tempName)); err != nil {
		return nil, err
	}
	w := &writer{
		store: s,
		id:    id,
		log:   log,
		lock:  lock,
		disk:  x.index,
	}
	if x.lost.Bytes == 0 {
		return w, nil
	}
	if err := x.lost.fill(log, x.Size); err != nil {
		return nil, err
	}
	w.disk.Size += x.lost.Bytes
	w.disk.Lines++
	return w, w.begin() // the description may have been in the lost part
}

// tornLine is a line in torn.jsonl.
type tornLine struct {
	Offset int64     `json:"offset"`
	Size   int64     `json:"size"`
	Found  time.Time `json:"found"`
	Bytes  []byte    `json:"bytes"` // up to 1 MiB
}

// moveTorn moves an incomplete last line to torn.jsonl. Its records were never acknowledged.
func (s *Store) moveTorn(id string, log File, offset, size int64) error {
	kept := make([]byte, min(size, keepSize))
	if _, err := log.ReadAt(kept, offset); err != nil {
		return err
	}
	line, err := json.Marshal(tornLine{offset, size, s.now().UTC(), kept})
	if err != nil {
		return err
	}
	f, err := s.openFile(s.path(id, tornName), os.O_WRONLY|os.O_CREATE|os.O_APPEND, filePerm)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := log.Truncate(offset); err != nil {
		return err
	}
	return log.Sync()
}
