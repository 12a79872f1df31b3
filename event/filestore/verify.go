package filestore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reins-agent/reins/event"
)

// Report is the result of verifying a session.
type Report struct {
	Session  string
	Records  int       // intact records
	Last     event.Seq // last intact record number
	Size     int64     // log size
	Blobs    int       // intact blobs
	BlobSize int64
	// Torn is the size of an incomplete last line, from a crash or a working writer. It is not damage: its records were
	// never acknowledged.
	Torn     int64
	Problems []error // log problems are *event.CorruptError
}

// Clean reports whether there are no problems.
func (r Report) Clean() bool { return len(r.Problems) == 0 }

// Verify checks a whole session without changing it. The session may have a writer. Problems are in the report; an
// error means that the session could not be checked.
func (s *Store) Verify(ctx context.Context, id string) (Report, error) {
	report := Report{Session: id}
	if err := usable(ctx, id); err != nil {
		return report, err
	}
	refs := references{}
	log, k, err := s.openLog(id)
	if err == nil {
		err = verifyLog(ctx, log, k, id, &report, refs)
		log.Close()
	}
	var damage *event.CorruptError
	switch {
	case errors.As(err, &damage):
		report.Problems = append(report.Problems, err)
	case err != nil:
		return report, err
	}
	s.checkReferences(s.path(id), refs, &report)
	return report, s.verifyBlobs(ctx, id, &report)
}

// maxProblems limits the reported problems per log, and so the memory for them.
const maxProblems = 10_000

// verifyLog checks a log. It returns an error if it cannot, or if the whole log is damaged.
func verifyLog(ctx context.Context, log io.Reader, k known, id string, report *Report, refs references) error {
	c := checker{in: readLog(log, id, index{})}
	for {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if len(report.Problems) > maxProblems {
			return fmt.Errorf("the log has more than %d problems", maxProblems)
		}
		e, err := c.next()
		var damage *event.CorruptError
		switch {
		case err == io.EOF:
			report.Last = c.last
			report.Size = c.in.end
			report.Torn = c.in.torn
			return c.end(k)
		case err != nil && !errors.As(err, &damage):
			return err
		}
		if err != nil {
			report.Problems = append(report.Problems, err)
		}
		if c.in.number == 1 && e.header != nil && e.header.Session != id {
			return fmt.Errorf("session %s %w", id, event.ErrNotFound)
		}
		if c.in.number == 1 && e.header == nil && err == nil {
			report.Problems = append(report.Problems, c.in.corrupt(errors.New("the log has no header")))
		}
		if e.record == nil {
			continue
		}
		r, err := c.decode(e)
		if err != nil {
			report.Problems = append(report.Problems, err)
			continue
		}
		report.Records++
		refs.add(r)
	}
}

// references holds the first record that refers to each blob.
type references map[string]event.Seq

func (refs references) add(r event.Record) {
	for _, b := range event.Blobs(r) {
		if _, ok := refs[b.Hash]; !ok {
			refs[b.Hash] = r.Seq
		}
	}
}

// checkReferences reports blobs that are missing from a session directory.
func (s *Store) checkReferences(dir string, refs references, report *Report) {
	for _, hash := range slices.Sorted(maps.Keys(refs)) {
		if _, err := s.files.Stat(filepath.Join(dir, blobsName, hash)); !isHash(hash) || err != nil {
			report.Problems = append(report.Problems, fmt.Errorf("blob %s of record %d is missing", hash, refs[hash]))
		}
	}
}

func (s *Store) verifyBlobs(ctx context.Context, id string, report *Report) error {
	entries, err := s.files.ReadDir(s.path(id, blobsName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if strings.HasPrefix(e.Name(), ".") {
			continue // such as .DS_Store
		}
		size, err := s.verifyBlob(id, e.Name())
		if err != nil {
			report.Problems = append(report.Problems, err)
			continue
		}
		report.Blobs++
		report.BlobSize += size
	}
	return nil
}

func (s *Store) verifyBlob(id, hash string) (int64, error) {
	b, err := s.openBlob(id, hash)
	if err != nil {
		return 0, err
	}
	defer b.Close()
	return io.Copy(io.Discard, b)
}
