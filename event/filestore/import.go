package filestore

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/reins-agent/reins/event"
)

// Import says how to read an archive that Export wrote.
type Import struct {
	ID string // the session's new id; "" is the one that it had
	// Damaged lets an archive in that is damaged: its log as it is, blobs by the hash that they
	// have now. Without it such an archive is refused.
	Damaged bool
}

// maxIndex bounds what is read of an archive before it is known to be one.
const maxIndex = 16 << 20

// Import adds a session from an archive. It is there when all of it is on the disk, or not at all.
// An archive may come from anywhere: nothing in it is used as a path.
func (s *Store) Import(ctx context.Context, in io.Reader, how Import) (Report, error) {
	archive := &archiveReader{ctx: ctx, tar: tar.NewReader(in)}
	x, err := importIndex(archive)
	if err != nil {
		return Report{}, fmt.Errorf("this is not the export of a session: %w", err)
	}
	id := how.ID
	if id == "" {
		id = x.Meta.ID
	}
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
		return i.report, errors.Join(fmt.Errorf("session %s cannot be imported: %w", id, err), s.files.RemoveAll(i.dir))
	}
	return i.report, nil
}

// archiveReader reads the plain files of an archive, as long as it is wanted.
type archiveReader struct {
	ctx context.Context
	tar *tar.Reader
}

// next goes on to the next file. One that takes less room in the archive than it says is not among
// those that Export writes, and could fill a disk with nothing.
func (a *archiveReader) next() (*tar.Header, error) {
	h, err := a.tar.Next()
	if err != nil {
		return nil, err
	}
	if h.Typeflag != tar.TypeReg {
		return nil, fmt.Errorf("it has %q in it, which is no plain file", h.Name)
	}
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return nil, fmt.Errorf("it has %q in it, which is a file with holes", h.Name)
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

// importIndex reads the first entry of an archive.
func importIndex(archive *archiveReader) (x archiveIndex, err error) {
	h, err := archive.next()
	if err != nil {
		return x, err
	}
	if h.Name != indexName || h.Size > maxIndex {
		return x, fmt.Errorf("it begins with %q of %d bytes", h.Name, h.Size)
	}
	line, err := io.ReadAll(archive)
	if err != nil {
		return x, err
	}
	object, err := openLine(bytes.TrimSuffix(line, []byte("\n")))
	if err != nil {
		return x, err
	}
	return x, json.Unmarshal(object, &x)
}

// importer builds a session beside the others.
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
				return fmt.Errorf("the archive is cut off: it has %d of %d blobs", n, x.Blobs)
			}
			i.store.checkReferences(i.dir, i.refs, &i.report)
			return files.RemoveAll(filepath.Join(i.dir, tempName))
		}
		if err != nil {
			return err
		}
		if err := i.blob(h.Name, archive); err != nil {
			return err
		}
	}
}

// log copies a log, with a header that has the new id, and looks at the copy.
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
	if object, err := openLine(bytes.TrimSuffix(first, []byte("\n"))); err != nil {
		i.report.Problems = append(i.report.Problems, fmt.Errorf("the header of the log is damaged: %w", err))
	} else if err := json.Unmarshal(object, &h); err != nil {
		return fmt.Errorf("the log has no header: %w", err)
	}
	h.Session = i.id
	line, err := appendJSON(nil, h)
	if err != nil {
		return err
	}
	if _, err := io.Copy(f, io.MultiReader(bytes.NewReader(line), in)); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := i.store.verifyLog(i.ctx, io.NewSectionReader(f, 0, 1<<62), known{}, i.id, &i.report, i.refs); err != nil {
		return err
	}
	return i.index(f)
}

// index saves the first who lists the session from reading its log. One in an old format is read
// once more, until somebody writes to it.
func (i *importer) index(log io.ReaderAt) error {
	var x index
	if _, err := i.store.extend(&x, log, i.id); err != nil {
		return err
	}
	if x.Format != i.store.formats.current() {
		return nil
	}
	return i.store.writeIndex(i.dir, x)
}

func (i *importer) blob(name string, data io.Reader) error {
	if err := context.Cause(i.ctx); err != nil {
		return err
	}
	want, ok := blobName(name)
	if !ok {
		return fmt.Errorf("the archive has %q in it, which no session has", name)
	}
	got, size, err := i.store.putBlob(i.dir, "blob", data)
	if err != nil {
		return err
	}
	if got != want {
		i.report.Problems = append(i.report.Problems, fmt.Errorf("the blob %s is damaged: its hash is %s", want, got))
		return nil
	}
	i.report.Blobs++
	i.report.BlobSize += size
	return nil
}

// move puts the session in its place, where there is nothing but what is left of one that was not
// created to the end.
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
