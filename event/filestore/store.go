// Package filestore saves sessions in a directory, in readable files.
//
//	DIR/
//	  ID/                one directory per session, named by its id in lower case
//	    log.jsonl        the session: a header, records and descriptions, one JSON object per line
//	    meta.json        the session description as of a position in the log, for listing
//	    blobs/HASH       values too large for a record, by their SHA-256
//	    torn.jsonl       incomplete last lines that crashes left in the log
//	  .locks/ID          locked while the session has a writer
//	  .leases/ID         locked while session commands may be alive
//	  .list              copies of the meta.json files, if there are many sessions
//
// Directories have mode 0700 and files 0600.
//
// # The log
//
// The log only grows. Every line ends in a checksum, so damage is detected and limited to its line. [event.Writer.Append]
// returns when its records are on disk. A crash can leave an incomplete last line: readers ignore it, and the next
// writer moves it to torn.jsonl. Other damaged lines are never removed. [Store.Load] reports them and continues after
// them.
//
// meta.json is written after the part of the log that it covers is on disk. If the log is shorter than that, its end
// was lost, which a crash cannot cause. Readers report the loss. The next writer replaces the lost part with one
// invalid line of equal size and continues after it, so the loss stays visible and no record number is used twice.
//
// # Concurrency
//
// Several processes can use one directory. A session has one writer at a time; the operating system releases its lock
// when the process ends. A killed process's commands may outlive it for a moment. The process that stops them holds the
// lease, and the next writer waits for it (see [event.Leaser]). Readers need no lock and work on a full or read-only
// disk. They may see records that are not flushed yet.
//
// # Listing
//
// If the log is longer than meta.json records, because it has a writer or the writer was killed, only the rest is read.
// If meta.json is missing or damaged, the whole log is read. An intact log does not depend on meta.json.
//
// Opening 10,000 files takes longer than a screen may take to appear, so [Store.List] saves copies of the meta.json files
// in .list. A copy counts only while the log has the size, time and inode that it had then. If .list is missing, damaged
// or cannot be written, listing only takes longer.
package filestore

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/reins-agent/reins/event"
)

const (
	dirPerm  = 0o700
	filePerm = 0o600

	logName   = "log.jsonl"
	indexName = "meta.json"
	blobsName = "blobs"
	tornName  = "torn.jsonl"
	tempName  = "tmp" // incomplete blobs

	locksName   = ".locks"
	leasesName  = ".leases"
	trashName   = ".trash"   // sessions being deleted
	stagingName = ".staging" // sessions being imported
)

// Config configures a store.
type Config struct {
	Dir string           // required; created if necessary
	FS  FS               // default OS{}
	Now func() time.Time // default time.Now

	// Waiting, if not nil, is called when opening a session takes longer than a second because a killed process's
	// commands are still being stopped. Opening continues meanwhile; the call must not use the store for that session.
	Waiting func(id string)
}

// Store is an event.Store in a directory. It need not be closed.
type Store struct {
	dir     string
	files   FS
	now     func() time.Time
	waiting func(id string)
	waits   waits

	mu     sync.Mutex
	claims map[string]bool // sessions open in this store
}

var _ event.Store = (*Store)(nil)

// New returns the store in a directory. It creates the directory when the first session is created.
func New(c Config) (*Store, error) {
	if c.Dir == "" {
		return nil, errors.New("filestore: Config.Dir is required")
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return nil, fmt.Errorf("filestore: %w", err)
	}
	s := &Store{
		dir:     dir,
		files:   c.FS,
		now:     c.Now,
		waiting: c.Waiting,
		waits:   defaultWaits,
		claims:  make(map[string]bool),
	}
	if s.files == nil {
		s.files = OS{}
	}
	if s.now == nil {
		s.now = time.Now
	}
	return s, nil
}

// path returns a path in a session directory.
func (s *Store) path(id string, names ...string) string {
	return filepath.Join(append([]string{s.dir, event.FoldID(id)}, names...)...)
}

func usable(ctx context.Context, id string) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return event.CheckID(id)
}

// Meta describes a session, which may be open in any process. It returns event.ErrNotFound if it does not exist.
func (s *Store) Meta(ctx context.Context, id string) (event.Meta, error) {
	if err := usable(ctx, id); err != nil {
		return event.Meta{}, err
	}
	x, err := s.status(id)
	if err != nil {
		return event.Meta{}, err
	}
	return x.Meta, nil
}

// Delete removes a session. It disappears atomically.
func (s *Store) Delete(ctx context.Context, id string) error {
	if err := usable(ctx, id); err != nil {
		return err
	}
	if err := s.deletable(id); err != nil {
		return err
	}
	lock, err := s.lock(ctx, id)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := s.deletable(id); err != nil {
		return err // it was just deleted
	}
	return s.remove(id)
}

// deletable checks that the session exists, with or without its log.
func (s *Store) deletable(id string) error {
	_, err := s.status(id)
	var damage *event.CorruptError
	if errors.As(err, &damage) {
		return nil
	}
	return err
}

func (s *Store) remove(id string) error {
	trash := filepath.Join(s.dir, trashName)
	err := s.files.MkdirAll(trash, dirPerm)
	if err == nil {
		err = s.files.RemoveAll(filepath.Join(trash, event.FoldID(id))) // left by a crash
	}
	if err == nil {
		err = s.files.Rename(s.path(id), filepath.Join(trash, event.FoldID(id)))
	}
	if err == nil {
		err = s.files.SyncDir(s.dir)
	}
	if err != nil {
		return fmt.Errorf("cannot delete session %s: %w", id, err)
	}
	if err := s.files.RemoveAll(filepath.Join(trash, event.FoldID(id))); err != nil {
		return fmt.Errorf("session %s was deleted, but its files remain in %s: %w", id, trash, err)
	}
	s.forgetCopies()
	// Lock files may remain, as on Windows, without harm.
	_ = s.files.RemoveAll(s.leasePath(id))
	_ = s.files.RemoveAll(s.lockPath(id))
	return nil
}
