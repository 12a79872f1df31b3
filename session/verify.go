package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"github.com/reins-agent/reins/checkpoint"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/event/filestore"
)

// Verified is the result of checking a session.
type Verified struct {
	ID       string    `json:"id"`
	OK       bool      `json:"ok"`        // Problems is empty
	Records  int       `json:"records"`   // how many are intact
	Last     event.Seq `json:"last"`      // number of the last record
	Size     int64     `json:"size"`      // log size in bytes
	Blobs    int       `json:"blobs"`     // how many are intact
	BlobSize int64     `json:"blob_size"` // of all of them, in bytes
	Torn     int64     `json:"torn"`      // the size of an incomplete last record after a crash, which is not a problem
	Problems []string  `json:"problems"`
}

func newVerified(r filestore.Report) Verified {
	return Verified{
		ID:       r.Session,
		OK:       r.Clean(),
		Records:  r.Records,
		Last:     r.Last,
		Size:     r.Size,
		Blobs:    r.Blobs,
		BlobSize: r.BlobSize,
		Torn:     r.Torn,
		Problems: errorTexts(r.Problems),
	}
}

func errorTexts(errs []error) []string {
	texts := []string{}
	for _, err := range errs {
		texts = append(texts, err.Error())
	}
	return texts
}

// Verify checks sessions for damage and changes nothing. Without names, it checks all sessions, those that cannot be
// listed included.
func (m *Manager) Verify(ctx context.Context, names ...string) iter.Seq2[Verified, error] {
	return func(yield func(Verified, error) bool) {
		a, err := m.archiver()
		if err != nil {
			yield(Verified{}, err)
			return
		}
		ids, err := m.idsOf(ctx, names)
		if err != nil {
			yield(Verified{}, err)
			return
		}
		for _, id := range ids {
			report, err := a.Verify(ctx, id)
			if ctx.Err() != nil {
				yield(Verified{}, context.Cause(ctx))
				return
			}
			if err != nil {
				report.Session, report.Problems = id, append(report.Problems, err)
			}
			if !yield(newVerified(report), nil) {
				return
			}
		}
	}
}

// idsOf returns the IDs of sessions, or of all if none are named. It includes sessions that cannot be read.
func (m *Manager) idsOf(ctx context.Context, names []string) (ids []string, err error) {
	if len(names) > 0 {
		found, err := m.FindAll(ctx, names...)
		for _, s := range found {
			ids = append(ids, s.ID)
		}
		return ids, err
	}
	for s, err := range m.Store.List(ctx) {
		if s.ID == "" {
			return nil, err
		}
		ids = append(ids, s.ID)
	}
	return ids, nil
}

// VerifiedCheckpoints is the result of a check of a directory's checkpoints.
type VerifiedCheckpoints struct {
	Checkpoints string   `json:"checkpoints"` // directory name in the state directory
	OK          bool     `json:"ok"`
	Problems    []string `json:"problems"`
}

// VerifyCheckpoints checks the checkpoints of all directories and changes nothing. If some are damaged, undo cannot
// restore everything, but sessions work.
func (m *Manager) VerifyCheckpoints(ctx context.Context) iter.Seq2[VerifiedCheckpoints, error] {
	return func(yield func(VerifiedCheckpoints, error) bool) {
		root := m.Home.Checkpoints()
		entries, err := os.ReadDir(root)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			yield(VerifiedCheckpoints{}, fmt.Errorf("cannot list the checkpoints: %w", err))
			return
		}
		for _, e := range entries {
			if !e.IsDir() {
				continue
			}
			problems, err := checkpoint.Verify(ctx, filepath.Join(root, e.Name()))
			if ctx.Err() != nil {
				yield(VerifiedCheckpoints{}, context.Cause(ctx))
				return
			}
			if err != nil {
				problems = append(problems, err)
			}
			v := VerifiedCheckpoints{Checkpoints: e.Name(), OK: len(problems) == 0, Problems: errorTexts(problems)}
			if !yield(v, nil) {
				return
			}
		}
	}
}
