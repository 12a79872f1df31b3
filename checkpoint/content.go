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
	"time"

	"github.com/reins-agent/reins/env/search"
	"golang.org/x/sync/errgroup"
)

// pieceSize is what a file is cut into if it is larger. It bounds memory, and lets a large file
// that changes at its end share the rest.
const pieceSize = 4 << 20

// patience is how often a file that changes while it is read is read again.
const patience = 3

// recorder reads the pending files of a scan and gives their contents to a sink.
type recorder struct {
	root *os.Root
	sink func(data []byte) (hash, error)
	bufs sync.Pool // of *[]byte

	mu         sync.Mutex
	read       int
	unreadable []PathError
}

// record completes a snapshot. It reads files in parallel, as the sink must allow.
func (r *recorder) record(ctx context.Context, snap *snapshot) error {
	g, inner := errgroup.WithContext(ctx)
	jobs := make(chan job)
	g.Go(func() error {
		defer close(jobs)
		return snap.pending(inner, jobs)
	})
	// A few workers, not a goroutine for each file: compressing needs a deep stack, which grows
	// slowly and is kept.
	for range runtime.GOMAXPROCS(0) {
		g.Go(func() error {
			for j := range jobs {
				if err := r.file(inner, join(j.dir, j.node.name), j.node); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// job is a file to be read.
type job struct {
	dir  string
	node *node
}

// pending sends the files that have not been read yet.
func (s *snapshot) pending(ctx context.Context, jobs chan<- job) error {
	for _, f := range s.folders {
		for i := range f.nodes {
			if !f.nodes[i].pending {
				continue
			}
			select {
			case jobs <- job{f.path, &f.nodes[i]}:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return nil
}

// file records one file. Only a sink that fails is an error; a file that cannot be read is left
// out of the snapshot and listed.
func (r *recorder) file(ctx context.Context, path string, n *node) error {
	n.pending = false
	var sinkErr error
	for range patience {
		if err := ctx.Err(); err != nil {
			return err
		}
		var again bool
		var err error
		again, sinkErr, err = r.try(path, n)
		if sinkErr != nil {
			return fmt.Errorf("record %s: %w", path, sinkErr)
		}
		if err != nil {
			n.gone = true
			if !errors.Is(err, fs.ErrNotExist) {
				r.mu.Lock()
				r.unreadable = append(r.unreadable, PathError{path, reason(err)})
				r.mu.Unlock()
			}
			return nil
		}
		if !again {
			break
		}
	}
	r.mu.Lock()
	r.read++
	r.mu.Unlock()
	return nil
}

// try records a file as it is now; again says that it changed meanwhile.
func (r *recorder) try(path string, n *node) (again bool, sinkErr, err error) {
	now := time.Now()
	f, err := r.root.OpenFile(filepath.FromSlash(path), os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return false, nil, err
	}
	defer f.Close()
	before, err := f.Stat()
	if err != nil {
		return false, nil, err
	}
	if !before.Mode().IsRegular() {
		return false, nil, errors.New("it is no longer a regular file")
	}
	st := search.TreeStatOf(before)
	n.id, n.mode = identityOf(st), entryMode(st.Mode)
	n.settled = n.id.settled(now)
	if sinkErr, err = r.content(io.LimitReader(f, st.Size), n); err != nil || sinkErr != nil {
		return false, sinkErr, err
	}
	after, err := f.Stat()
	if err != nil {
		return false, nil, err
	}
	if identityOf(search.TreeStatOf(after)) != n.id {
		n.settled = false
		return true, nil, nil
	}
	return false, nil, nil
}

// content reads a file into one object, or into pieces and a list of them.
func (r *recorder) content(src io.Reader, n *node) (sinkErr, err error) {
	buf, _ := r.bufs.Get().(*[]byte)
	if buf == nil {
		buf = new([]byte)
	}
	defer r.bufs.Put(buf)
	if want := int(min(n.id.size, pieceSize)); cap(*buf) < want {
		*buf = make([]byte, want)
	}
	n.kind, n.size = fileKind, 0
	var pieces []byte
	for {
		piece := (*buf)[:min(n.id.size-n.size, pieceSize)]
		m, err := io.ReadFull(src, piece)
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return nil, err
		}
		n.size += int64(m)
		if n.hash, sinkErr = r.sink(piece[:m]); sinkErr != nil {
			return sinkErr, nil
		}
		pieces = append(pieces, n.hash[:]...)
		if err != nil || n.size == n.id.size {
			break
		}
	}
	if len(pieces) > len(n.hash) {
		n.kind = largeKind
		n.hash, sinkErr = r.sink(pieces)
	}
	return sinkErr, nil
}

// pieces gives the hashes of the objects that a file's content is made of.
func (o *objects) pieces(e *entry) ([]hash, error) {
	if e.kind == fileKind {
		return []hash{e.hash}, nil
	}
	list, err := o.read(e.hash)
	if err != nil {
		return nil, err
	}
	if len(list)%len(hash{}) != 0 {
		return nil, &DamagedError{"packs", "object " + e.hash.String() + " is not a list of pieces"}
	}
	var hs []hash
	for ; len(list) > 0; list = list[len(hash{}):] {
		hs = append(hs, hash(list))
	}
	return hs, nil
}

// holds reports whether the whole content of a file is there.
func (o *objects) holds(e *entry) bool {
	if e.kind == fileKind || !o.has(e.hash) {
		return o.has(e.hash)
	}
	hs, err := o.pieces(e)
	for _, h := range hs {
		if !o.has(h) {
			return false
		}
	}
	return err == nil
}

// copyTo writes the content of a file.
func (o *objects) copyTo(w io.Writer, e *entry) error {
	hs, err := o.pieces(e)
	if err != nil {
		return err
	}
	for _, h := range hs {
		data, err := o.read(h)
		if err != nil {
			return err
		}
		if _, err := w.Write(data); err != nil {
			return err
		}
	}
	return nil
}

// tree reads the entries of a directory.
func (o *objects) tree(h hash) ([]entry, error) {
	data, err := o.read(h)
	if err != nil {
		return nil, err
	}
	entries, err := decodeTree(data)
	if err != nil {
		return nil, &DamagedError{"packs", fmt.Sprintf("directory %s: %v", h, err)}
	}
	return entries, nil
}
