package filestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"strings"
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
	tempName  = "tmp" // blobs on their way

	locksName   = ".locks"
	leasesName  = ".leases"
	trashName   = ".trash"   // sessions on their way out
	stagingName = ".staging" // and in
)

// Config sets up a store.
type Config struct {
	Dir string           // made if need be
	FS  FS               // OS{} if nil
	Now func() time.Time // time.Now if nil

	// Waiting is told of a session that takes longer than a second to open, because commands that a
	// killed process had started for it are still being ended. It may be nil.
	Waiting func(id string)
}

// Store keeps sessions in a directory. It is an event.Store, holds nothing open, and need not be
// closed.
type Store struct {
	dir      string
	files    FS
	now      func() time.Time
	formats  formats
	waiting  func(id string)
	patience patience

	mu     sync.Mutex
	claims map[string]bool // the sessions that are open here
}

var _ event.Store = (*Store)(nil)

// New gives the store in a directory.
func New(c Config) (*Store, error) {
	if c.Dir == "" {
		return nil, errors.New("filestore: Config.Dir is empty: name the directory for the sessions")
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return nil, fmt.Errorf("filestore: %w", err)
	}
	s := &Store{dir: dir, files: c.FS, now: c.Now, formats: released, waiting: c.Waiting, patience: usualPatience, claims: make(map[string]bool)}
	if s.files == nil {
		s.files = OS{}
	}
	if s.now == nil {
		s.now = time.Now
	}
	return s, nil
}

// path is where something of a session is.
func (s *Store) path(id string, names ...string) string {
	return filepath.Join(append([]string{s.dir, event.FoldID(id)}, names...)...)
}

// usable checks what every call begins with.
func usable(ctx context.Context, id string) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return event.CheckID(id)
}

// Meta describes a session.
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

// List describes all sessions, the one written last first. A session that cannot be described
// comes, as an error and what was last known of it, before the others.
func (s *Store) List(ctx context.Context) iter.Seq2[event.Meta, error] {
	return func(yield func(event.Meta, error) bool) {
		names, err := s.names()
		if err != nil {
			yield(event.Meta{}, err)
			return
		}
		metas := make([]event.Meta, 0, len(names))
		for _, name := range names {
			if err := context.Cause(ctx); err != nil {
				yield(event.Meta{}, err)
				return
			}
			m, err := s.describe(name)
			switch {
			case errors.Is(err, event.ErrNotFound): // not created to the end, or deleted meanwhile
			case err == nil:
				metas = append(metas, m)
			case !yield(m, err):
				return
			}
		}
		slices.SortFunc(metas, event.Meta.Compare)
		for _, m := range metas {
			if !yield(m, nil) {
				return
			}
		}
	}
}

// names are the directories of sessions.
func (s *Store) names() ([]string, error) {
	entries, err := s.files.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the sessions cannot be listed: %w", err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// describe describes the session in a directory. Beside an error it gives what is known, the id at
// least.
func (s *Store) describe(name string) (event.Meta, error) {
	info, err := s.files.Stat(s.path(name, logName))
	x, err2 := s.readIndex(name)
	if err == nil && err2 == nil && x.Size == info.Size() {
		return x.Meta, nil
	}
	id := name
	if event.FoldID(x.Meta.ID) == name {
		id = x.Meta.ID
	}
	log, k, err := s.openLog(id)
	if err != nil {
		return identified(k.Meta, id), err
	}
	defer log.Close()
	now, err := s.statusOf(log, k, id)
	return identified(now.Meta, id), err
}

// identified is a description that has an id.
func identified(m event.Meta, id string) event.Meta {
	m.ID = cmp.Or(m.ID, id)
	return m
}

// Delete removes a session. It is gone at once and for every process, even if the disk is slow to
// give its space back.
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
		return err // somebody was faster
	}
	return s.remove(id)
}

// deletable checks that there is a session, be it one whose log is gone.
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
		err = s.files.RemoveAll(filepath.Join(trash, event.FoldID(id))) // what a crash left
	}
	if err == nil {
		err = s.files.Rename(s.path(id), filepath.Join(trash, event.FoldID(id)))
	}
	if err == nil {
		err = s.files.SyncDir(s.dir)
	}
	if err != nil {
		return fmt.Errorf("session %s cannot be deleted: %w", id, err)
	}
	if err := s.files.RemoveAll(filepath.Join(trash, event.FoldID(id))); err != nil {
		return fmt.Errorf("session %s is deleted, but its files are still in %s: %w", id, trash, err)
	}
	// A lock file that stays behind, as it does on Windows, does no harm.
	_ = s.files.RemoveAll(s.leasePath(id))
	_ = s.files.RemoveAll(s.lockPath(id))
	return nil
}

func (s *Store) lockPath(id string) string { return filepath.Join(s.dir, locksName, event.FoldID(id)) }
