package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reins-agent/reins/internal/search"
	"golang.org/x/sync/errgroup"
)

// Stats describes a checkpoint and the work to take it.
type Stats struct {
	Files int   // regular files in the checkpoint
	Bytes int64 // their total size
	Read  int   // files that were read because they are new or may have changed
	Added int64 // bytes added to the store, without the record and the index

	// Unreadable lists files that could not be read. They are not in the checkpoint, and restoring the checkpoint
	// leaves them alone.
	Unreadable []PathError
}

// Take records the workspace, with a label for display. If nothing has changed since the newest checkpoint, it returns
// that checkpoint. It fails with [ErrTooLarge] above the [Config] limits.
func (s *Store) Take(ctx context.Context, label string) (id ID, stats Stats, err error) {
	err = s.locked(ctx, "take checkpoint", func() error {
		t, err := s.begin(ctx)
		if err != nil {
			return err
		}
		defer t.close()
		if id, stats, err = t.take(ctx, label); err == nil {
			s.makeRoom(ctx)
		}
		return err
	})
	return id, stats, err
}

// taking is a checkpoint being taken. It requires the lock.
type taking struct {
	store   *Store
	root    *os.Root
	objects *objects
	scan    *scan
	pack    *packWriter

	mu   sync.Mutex // for read, and scan's unreadable files
	read int
}

// begin scans the workspace.
func (s *Store) begin(ctx context.Context) (_ *taking, err error) {
	t := &taking{store: s}
	defer func() {
		if err != nil {
			t.close()
		}
	}()
	if t.root, err = os.OpenRoot(s.workspace); err != nil {
		return nil, err
	}
	if t.objects, err = openObjects(s.packs()); err != nil {
		return nil, err
	}
	t.scan, err = s.scan(ctx, t.root, t.objects, s.loadIndex())
	return t, err
}

func (t *taking) close() {
	if t.root != nil {
		t.root.Close()
	}
	if t.objects != nil {
		t.objects.close()
	}
}

// take records the files that begin found.
func (t *taking) take(ctx context.Context, label string) (ID, Stats, error) {
	s, snap := t.store, t.scan.snap
	for _, p := range t.scan.leftovers {
		t.root.Remove(filepath.FromSlash(p))
	}
	t.pack = newPackWriter(s, t.objects.has)
	defer t.pack.abort()
	err := t.readPending(ctx)
	if err == nil {
		err = snap.finish(t.pack.add)
	}
	if err == nil {
		err = t.pack.finish()
	}
	if err != nil {
		return "", Stats{}, err
	}
	c := Checkpoint{
		Label: label,
		Time:  time.Now(),
		Files: snap.files,
		Bytes: snap.bytes,
		root:  snap.root,
	}
	for _, u := range t.scan.unreadable {
		c.unreadable = append(c.unreadable, u.Path)
	}
	id, err := s.record(c)
	if err != nil {
		return "", Stats{}, err
	}
	if t.read > 0 {
		s.saveIndex(snap)
	}
	return id, Stats{snap.files, snap.bytes, t.read, t.pack.offset, t.scan.unreadable}, nil
}

// readPending reads the files that are new or may have changed, several at a time.
func (t *taking) readPending(ctx context.Context) error {
	type job struct {
		path string
		node *node
	}
	var jobs []job
	for _, f := range t.scan.snap.folders {
		for i := range f.nodes {
			if n := &f.nodes[i]; n.pending {
				jobs = append(jobs, job{join(f.path, n.name), n})
			}
		}
	}
	// A few workers instead of a goroutine per file: compression needs a deep stack, which grows slowly.
	g, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	for range min(runtime.GOMAXPROCS(0), len(jobs)) {
		g.Go(func() error {
			var buf []byte
			for {
				i := int(next.Add(1)) - 1
				if i >= len(jobs) {
					return nil
				}
				if err := t.file(ctx, jobs[i].path, jobs[i].node, &buf); err != nil {
					return err
				}
			}
		})
	}
	return g.Wait()
}

// maxReads limits how often a file that keeps changing is read.
const maxReads = 3

// file records one file. An unreadable file is listed and left out of the snapshot. Only a pack that cannot be written
// is an error.
func (t *taking) file(ctx context.Context, path string, n *node, buf *[]byte) error {
	n.pending = false
	for range maxReads {
		if err := ctx.Err(); err != nil {
			return err
		}
		changed, err := t.try(path, n, buf)
		if failure := t.pack.failure(); failure != nil {
			return fmt.Errorf("record %s: %w", path, failure)
		}
		if err != nil {
			n.gone = true
			if !errors.Is(err, fs.ErrNotExist) {
				t.mu.Lock()
				t.scan.failed(path, err)
				t.mu.Unlock()
			}
			return nil
		}
		if !changed {
			break
		}
	}
	t.mu.Lock()
	t.read++
	t.mu.Unlock()
	return nil
}

// try records a file and reports whether it changed meanwhile.
func (t *taking) try(path string, n *node, buf *[]byte) (changed bool, err error) {
	now := time.Now()
	f, err := t.root.OpenFile(filepath.FromSlash(path), os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return false, err
	}
	defer f.Close()
	before, err := f.Stat()
	if err != nil {
		return false, err
	}
	if !before.Mode().IsRegular() {
		return false, errNotRegular
	}
	st := search.TreeStatOf(before)
	n.id, n.mode = identityOf(st), entryMode(st.Mode)
	if err := t.content(f, n, buf); err != nil {
		return false, err
	}
	after, err := f.Stat()
	if err != nil {
		return false, err
	}
	changed = identityOf(search.TreeStatOf(after)) != n.id
	n.settled = !changed && n.id.settled(now)
	return changed, nil
}

// pieceSize is the piece size for large files. It bounds memory, and lets a large file that changes at its end share
// the rest.
const pieceSize = 4 << 20

// content stores a file as one object, or as pieces and a list of their hashes.
func (t *taking) content(src io.Reader, n *node, buf *[]byte) error {
	if want := int(min(n.id.size, pieceSize)); cap(*buf) < want {
		*buf = make([]byte, want)
	}
	n.kind, n.size = fileKind, 0
	var pieces []byte
	for {
		piece := (*buf)[:min(n.id.size-n.size, pieceSize)]
		m, err := io.ReadFull(src, piece)
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return err
		}
		n.size += int64(m)
		h, addErr := t.pack.add(piece[:m])
		if addErr != nil {
			return addErr
		}
		n.hash, pieces = h, append(pieces, h[:]...)
		if err != nil || n.size == n.id.size {
			break
		}
	}
	if len(pieces) == len(n.hash) {
		return nil
	}
	n.kind = largeKind
	h, err := t.pack.add(pieces)
	n.hash = h
	return err
}
