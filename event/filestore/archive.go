package filestore

import (
	"archive/tar"
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/reins-agent/reins/event"
)

// archiveIndex is the first file in an archive.
type archiveIndex struct {
	index
	Blobs int `json:"blobs"` // how many follow, because a truncated tar archive may look complete
}

// Export writes a session as a tar archive: its description, its log, then its blobs. The session may have a writer;
// Export writes what the session contained when it was called. Damaged lines are exported unchanged.
func (s *Store) Export(ctx context.Context, id string, out io.Writer) error {
	if err := usable(ctx, id); err != nil {
		return err
	}
	x, err := s.status(id)
	if err != nil {
		return err
	}
	e := exporter{ctx, s, id, tar.NewWriter(out), x.Meta.Updated}
	if err := e.run(x); err != nil {
		return fmt.Errorf("cannot export session %s: %w", id, err)
	}
	return nil
}

type exporter struct {
	ctx   context.Context
	store *Store
	id    string
	out   *tar.Writer
	time  time.Time
}

func (e *exporter) run(x status) error {
	blobs, err := e.blobs()
	if err != nil {
		return err
	}
	repairs, err := x.repairs()
	if err != nil {
		return err
	}
	size := x.Size
	x.Size, x.Lines = x.Size+int64(len(repairs)), x.Lines+bytes.Count(repairs, []byte("\n"))
	if err := e.index(archiveIndex{x.index, len(blobs)}); err != nil {
		return err
	}
	if err := e.file(logName, size, repairs); err != nil {
		return err
	}
	for _, b := range blobs {
		if err := e.file(path.Join(blobsName, b.Name()), b.Size(), nil); err != nil {
			return err
		}
	}
	return e.out.Close()
}

func (e *exporter) header(name string, size int64) error {
	if err := context.Cause(e.ctx); err != nil {
		return err
	}
	return e.out.WriteHeader(&tar.Header{Name: name, Size: size, Mode: filePerm, ModTime: e.time.Truncate(time.Second)})
}

func (e *exporter) index(x archiveIndex) error {
	line, err := appendJSON(nil, x)
	if err == nil {
		err = e.header(indexName, int64(len(line)))
	}
	if err == nil {
		_, err = e.out.Write(line)
	}
	return err
}

// file writes the first size bytes of a file, then more.
func (e *exporter) file(name string, size int64, more []byte) error {
	f, err := e.store.files.OpenFile(e.store.path(e.id, name), os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := e.header(name, size+int64(len(more))); err != nil {
		return err
	}
	if _, err := io.CopyN(e.out, f, size); err != nil {
		return err
	}
	_, err = e.out.Write(more)
	return err
}

func (e *exporter) blobs() (blobs []fs.FileInfo, err error) {
	entries, err := e.store.files.ReadDir(e.store.path(e.id, blobsName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, entry := range entries {
		if !isHash(entry.Name()) {
			continue
		}
		info, err := entry.Info()
		if err != nil {
			return nil, err
		}
		blobs = append(blobs, info)
	}
	return blobs, nil
}

// Import configures Store.Import.
type Import struct {
	ID string // new session id; default: the id in the archive
	// Damaged accepts a damaged archive. The log stays unchanged, and damaged blobs are renamed to the hash of what
	// they hold.
	Damaged bool
	MaxSize int64 // maximum archive size in bytes; default DefaultMaxSize
}

// DefaultMaxSize is the default for Import.MaxSize.
const DefaultMaxSize = 1 << 30

const (
	maxIndex = 16 << 20 // limits reading when the file is not an archive
	maxBlobs = 100_000  // limits the files in an archive
)

// ErrTooLarge means that an archive is larger than Import.MaxSize.
var ErrTooLarge = errors.New("the archive is too large")

// Import adds a session from an archive, completely or not at all. The archive need not be trusted: its names are not
// used as paths, its size is limited, times in the future become the present, and Meta.Imported marks the session.
func (s *Store) Import(ctx context.Context, in io.Reader, how Import) (Report, error) {
	archive := &archiveReader{ctx: ctx, tar: tar.NewReader(&limited{in, cmp.Or(how.MaxSize, DefaultMaxSize)})}
	x, err := archive.index()
	if err != nil {
		return Report{}, fmt.Errorf("not a session archive: %w", err)
	}
	id := cmp.Or(how.ID, x.Meta.ID)
	if err := usable(ctx, id); err != nil {
		return Report{}, err
	}
	lock, err := s.lock(ctx, id)
	if err != nil {
		return Report{}, err
	}
	defer lock.Close()
	if err := s.vacant(id); err != nil {
		return Report{}, err
	}
	i := importer{ctx, s, id, filepath.Join(s.dir, stagingName, event.FoldID(id)), references{}, Report{Session: id}}
	err = i.unpack(archive, x)
	if err == nil && !how.Damaged {
		err = errors.Join(i.report.Problems...)
	}
	if err == nil {
		err = i.move()
	}
	if err != nil {
		return i.report, errors.Join(fmt.Errorf("cannot import session %s: %w", id, err), s.files.RemoveAll(i.dir))
	}
	return i.report, nil
}

// limited is a reader that fails after a number of bytes.
type limited struct {
	in   io.Reader
	left int64
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.in.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, ErrTooLarge
	}
	return n, err
}

// archiveReader reads the regular files in an archive.
type archiveReader struct {
	ctx context.Context
	tar *tar.Reader
}

// next moves to the next file. It refuses sparse files, which could fill a disk from a small archive.
func (a *archiveReader) next() (*tar.Header, error) {
	h, err := a.tar.Next()
	if err != nil {
		return nil, err
	}
	if h.Typeflag != tar.TypeReg {
		return nil, fmt.Errorf("%q is not a regular file", h.Name)
	}
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return nil, fmt.Errorf("%q is a sparse file", h.Name)
		}
	}
	return h, nil
}

func (a *archiveReader) Read(p []byte) (int, error) {
	if err := context.Cause(a.ctx); err != nil {
		return 0, err
	}
	return a.tar.Read(p)
}

func (a *archiveReader) index() (x archiveIndex, err error) {
	h, err := a.next()
	if err != nil {
		return x, err
	}
	if h.Name != indexName || h.Size > maxIndex {
		return x, fmt.Errorf("it starts with %q of %d bytes", h.Name, h.Size)
	}
	line, err := io.ReadAll(a)
	if err != nil {
		return x, err
	}
	object, err := openLine(line)
	if err != nil {
		return x, err
	}
	return x, json.Unmarshal(object, &x)
}

// importer builds a session in the staging directory.
type importer struct {
	ctx    context.Context
	store  *Store
	id     string
	dir    string
	refs   references
	report Report
}

func (i *importer) unpack(archive *archiveReader, x archiveIndex) error {
	files := i.store.files
	if err := errors.Join(files.RemoveAll(i.dir), files.MkdirAll(i.dir, dirPerm)); err != nil {
		return err
	}
	h, err := archive.next()
	switch {
	case err == io.EOF || err == nil && h.Name != logName:
		return errors.New("the archive has no log")
	case err != nil:
		return err
	}
	if err := i.log(archive, x.Format); err != nil {
		return err
	}
	for n := 0; ; n++ {
		h, err := archive.next()
		if err == io.EOF {
			if n < x.Blobs {
				return fmt.Errorf("the archive is truncated: it has %d of %d blobs", n, x.Blobs)
			}
			i.store.checkReferences(i.dir, i.refs, &i.report)
			return files.RemoveAll(filepath.Join(i.dir, tempName))
		}
		if err != nil {
			return err
		}
		if n == maxBlobs {
			return fmt.Errorf("the archive has more than %d blobs", maxBlobs)
		}
		if err := i.blob(h.Name, archive); err != nil {
			return err
		}
	}
}

// log copies complete log lines, replaces the id in the header, marks the copy as imported, and verifies it.
func (i *importer) log(archive io.Reader, format int) error {
	f, err := i.store.files.OpenFile(filepath.Join(i.dir, logName), os.O_RDWR|os.O_CREATE|os.O_TRUNC, filePerm)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReaderSize(archive, readSize)
	first, err := in.ReadSlice('\n')
	if err != nil {
		return fmt.Errorf("the log has no header: %w", err)
	}
	h := header{Format: format}
	if object, err := openLine(first); err != nil {
		i.report.Problems = append(i.report.Problems, fmt.Errorf("the header of the log is damaged: %w", err))
	} else if err := json.Unmarshal(object, &h); err != nil {
		return fmt.Errorf("the log has no header: %w", err)
	}
	h.Session = i.id
	line, err := appendJSON(nil, h)
	if err != nil {
		return err
	}
	if _, err := f.Write(line); err != nil {
		return err
	}
	if err := i.lines(f, in); err != nil {
		return err
	}
	x, err := i.mark(f)
	if err != nil {
		return err
	}
	if err := verifyLog(i.ctx, io.NewSectionReader(f, 0, 1<<62), known{}, i.id, &i.report, i.refs); err != nil {
		return err
	}
	return i.store.writeIndex(i.dir, x)
}

// lines copies lines, replacing times in the future.
func (i *importer) lines(to io.Writer, from io.Reader) error {
	out := bufio.NewWriterSize(to, readSize)
	now := i.store.now().UTC()
	for in := newScanner(from, 1, 0); ; {
		line, err := in.next()
		if err == io.EOF {
			return out.Flush()
		}
		if err != nil {
			return err
		}
		if _, err := out.Write(notAfter(now, append(line, '\n'))); err != nil {
			return err
		}
	}
}

// mark adds a description to the log that tells where the imported records end.
func (i *importer) mark(f File) (x index, err error) {
	if _, err := x.extend(f, i.id); err != nil {
		return x, err
	}
	x.Meta.Imported = x.Meta.Last + 1
	line, err := appendJSON(nil, description{x.Meta})
	if err != nil {
		return x, err
	}
	if _, err := f.WriteAt(line, x.Size); err != nil {
		return x, err
	}
	x.Size, x.Lines = x.Size+int64(len(line)), x.Lines+1
	return x, f.Sync()
}

// notAfter returns a log line with its times limited to now. A damaged line stays unchanged.
func notAfter(now time.Time, line []byte) []byte {
	isMeta := bytes.HasPrefix(line, metaStart)
	if !isMeta && !recordTime(line).After(now) {
		return line
	}
	object, err := openLine(bytes.Clone(line))
	if err != nil {
		return line
	}
	var fixed []byte
	if isMeta {
		var d description
		if err := json.Unmarshal(object, &d); err != nil {
			return line
		}
		d.Meta.Created, d.Meta.Updated = earlier(d.Meta.Created, now), earlier(d.Meta.Updated, now)
		fixed, err = appendJSON(nil, d)
	} else {
		text, rest := timeText(object)
		fixed = slices.Concat(object[:len(object)-len(rest)-len(text)], now.AppendFormat(nil, time.RFC3339Nano), rest)
		fixed, err = endLine(fixed, 0)
	}
	if err != nil {
		return line
	}
	return fixed
}

func (i *importer) blob(name string, data io.Reader) error {
	if err := context.Cause(i.ctx); err != nil {
		return err
	}
	want, ok := strings.CutPrefix(name, blobsName+"/")
	if !ok || !isHash(want) {
		return fmt.Errorf("unexpected file %q in the archive", name)
	}
	got, size, err := i.store.putBlob(i.dir, "blob", data)
	if err != nil {
		return err
	}
	if got != want {
		i.report.Problems = append(i.report.Problems, fmt.Errorf("blob %s is damaged: its hash is %s", want, got))
		return nil
	}
	i.report.Blobs++
	i.report.BlobSize += size
	return nil
}

// move moves the session into place, replacing what an incomplete Create left.
func (i *importer) move() error {
	files, home := i.store.files, i.store.path(i.id)
	err := files.SyncDir(i.dir)
	if err == nil {
		err = files.RemoveAll(filepath.Join(home, logName))
	}
	if err == nil {
		err = files.Rename(i.dir, home)
	}
	if err == nil {
		err = files.SyncDir(i.store.dir)
	}
	return err
}
