package filestore

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"
)

// Export writes a session as one file: a tar archive of what describes it, its log, and its blobs,
// in this order. It may run beside a writer, and holds the session as it was when it began. Damage
// is exported as it is; that the log has lost its end is said in the copy, as a writer says it.
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
		return fmt.Errorf("session %s cannot be exported: %w", id, err)
	}
	return nil
}

// archiveIndex is what an archive begins with.
type archiveIndex struct {
	index
	Blobs int `json:"blobs"` // how many follow, since tar does not tell that its end is cut off
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
	amends, err := e.store.amends(x)
	if err != nil {
		return err
	}
	size := x.Size
	x.Size, x.Lines = x.Size+int64(len(amends)), x.Lines+bytes.Count(amends, []byte("\n"))
	if err := e.index(archiveIndex{x.index, len(blobs)}); err != nil {
		return err
	}
	if err := e.file(logName, size, amends); err != nil {
		return err
	}
	for _, b := range blobs {
		if err := e.file(path.Join(blobsName, b.Name()), b.Size(), nil); err != nil {
			return err
		}
	}
	return e.out.Close()
}

func (e *exporter) entry(name string, size int64) error {
	if err := context.Cause(e.ctx); err != nil {
		return err
	}
	return e.out.WriteHeader(&tar.Header{Name: name, Size: size, Mode: filePerm, ModTime: e.time.Truncate(time.Second)})
}

func (e *exporter) index(x archiveIndex) error {
	line, err := appendJSON(nil, x)
	if err == nil {
		err = e.entry(indexName, int64(len(line)))
	}
	if err == nil {
		_, err = e.out.Write(line)
	}
	return err
}

// file writes the first bytes of a file, and some more.
func (e *exporter) file(name string, size int64, more []byte) error {
	f, err := e.store.files.OpenFile(e.store.path(e.id, name), os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := e.entry(name, size+int64(len(more))); err != nil {
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

// blobName is the hash of a blob whose name in an archive is given.
func blobName(name string) (string, bool) {
	hash, found := strings.CutPrefix(name, blobsName+"/")
	return hash, found && isHash(hash)
}
