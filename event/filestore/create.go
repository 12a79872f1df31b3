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

// Create begins a session. One that somebody began to create and did not finish is begun anew.
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

func (s *Store) create(m event.Meta, lock io.Closer) (*Writer, error) {
	if err := s.vacant(m.ID); err != nil {
		return nil, err
	}
	if err := s.files.MkdirAll(s.path(m.ID), dirPerm); err != nil {
		return nil, fmt.Errorf("session %s cannot be created: %w", m.ID, err)
	}
	log, err := s.openFile(s.path(m.ID, logName), os.O_RDWR|os.O_CREATE|os.O_TRUNC, filePerm)
	if err != nil {
		return nil, fmt.Errorf("session %s cannot be created: %w", m.ID, err)
	}
	m = m.Clone()
	m.Last, m.Updated = 0, s.now().UTC()
	if m.Created.IsZero() {
		m.Created = m.Updated
	}
	// First the names: a meta.json, which may be written from now on, says that there is a log.
	err = s.files.SyncDir(s.path(m.ID))
	if err == nil {
		err = s.files.SyncDir(s.dir)
	}
	w := newWriter(s, log, lock, index{Meta: m})
	if err == nil {
		err = w.begin(m)
	}
	if err != nil {
		// What is left is no session; it is made room for by the next attempt.
		return nil, errors.Join(fmt.Errorf("session %s cannot be created: %w", m.ID, err), log.Truncate(0), log.Close())
	}
	return w, nil
}

// vacant checks that there is no session of this id in any case.
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
	if k.there {
		return fmt.Errorf("session %s %w; its log is gone: delete it to use the name again", id, event.ErrExists)
	}
	return nil
}

// Open gives the writer of a session. One whose log has lost its end goes on behind what is lost,
// with the next number that was never given away, and the log says from then on what was lost. One
// whose log is gone does not open: that is an *event.CorruptError.
func (s *Store) Open(ctx context.Context, id string) (event.Writer, error) {
	if err := usable(ctx, id); err != nil {
		return nil, err
	}
	if !s.begun(id) { // and so is to have no lock, which is a file
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

// begun reports whether there is anything of a session.
func (s *Store) begun(id string) bool {
	for _, name := range []string{logName, indexName} {
		if _, err := s.files.Stat(s.path(id, name)); !errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	return false
}

func (s *Store) open(id string, lock io.Closer) (*Writer, error) {
	x, err := s.status(id)
	if err != nil {
		return nil, err
	}
	log, err := s.openFile(s.path(id, logName), os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("session %s cannot be written: %w", id, err)
	}
	w, err := s.prepare(x, log, lock)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("session %s cannot be written: %w", id, err), log.Close())
	}
	return w, nil
}

// prepare makes the log one that can be continued.
func (s *Store) prepare(x status, log File, lock io.Closer) (*Writer, error) {
	id := x.Meta.ID
	if x.torn > 0 {
		if err := s.mend(id, log, x.Size, x.torn); err != nil {
			return nil, err
		}
	}
	if err := s.files.RemoveAll(s.path(id, tempName)); err != nil {
		return nil, err
	}
	if x.lost.Bytes > 0 {
		if err := x.lost.fill(log, x.Size); err != nil {
			return nil, err
		}
		x.Size += x.lost.Bytes
		x.Lines++
	}
	w := newWriter(s, log, lock, x.index)
	w.torn = x.torn
	switch {
	case x.lost.Bytes > 0:
		return w, w.begin(x.Meta) // which only meta.json may know by now
	case x.Format != s.formats.current():
		return w, w.begin(event.Meta{})
	}
	return w, nil
}

// tornLine is the end of a log that was not written to the end.
type tornLine struct {
	Offset int64     `json:"offset"`
	Size   int64     `json:"size"`
	Found  time.Time `json:"found"`
	Bytes  []byte    `json:"bytes"` // the first MiB of it
}

// mend moves what stands behind the last whole line to torn.jsonl. Nobody was told that it is
// safe, but it may be all that is left of something.
func (s *Store) mend(id string, log File, offset, size int64) error {
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
