package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/event/filestore"
)

// archiver is a store that can export, import and verify sessions.
type archiver interface {
	Export(ctx context.Context, id string, out io.Writer) error
	Import(ctx context.Context, in io.Reader, how filestore.Import) (filestore.Report, error)
	Verify(ctx context.Context, id string) (filestore.Report, error)
}

func (m *Manager) archiver() (archiver, error) {
	if a, ok := m.Store.(archiver); ok {
		return a, nil
	}
	return nil, ErrUnsupported
}

// ExportOptions says what to export.
type ExportOptions struct {
	Session string `json:"session"`
	Secrets bool   `json:"secrets,omitempty"` // export secrets too, instead of replacing them
}

// Export writes a session as a tar archive for [Manager.Import]. Known secrets in it are replaced by placeholders such
// as [redacted:github-token]. The session may be open.
func (m *Manager) Export(ctx context.Context, o ExportOptions, out io.Writer) error {
	a, err := m.archiver()
	if err != nil {
		return err
	}
	s, err := m.Find(ctx, o.Session)
	if err != nil {
		return err
	}
	if o.Secrets {
		return a.Export(ctx, s.ID, out)
	}
	return m.exportRedacted(ctx, s, out)
}

// RedactError means that a session could not be copied without its secrets.
type RedactError struct {
	Session string `json:"session"`
	Err     error  `json:"-"`
}

func (e *RedactError) Error() string {
	return fmt.Sprintf("cannot redact session %s: %v", e.Session, e.Err)
}

// Unwrap returns the cause.
func (e *RedactError) Unwrap() error { return e.Err }

// exportRedacted exports a copy of a session without secrets.
func (m *Manager) exportRedacted(ctx context.Context, s event.Meta, out io.Writer) (err error) {
	secrets, err := m.secrets(ctx, s.Dir)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "reins-export-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	to, err := filestore.New(filestore.Config{Dir: dir})
	if err != nil {
		return err
	}
	if err := copyRedacted(ctx, secrets, m.Store, to, s); err != nil {
		return &RedactError{s.ID, err}
	}
	return to.Export(ctx, s.ID, out)
}

// ImportOptions configures [Manager.Import].
type ImportOptions struct {
	ID      string `json:"id,omitempty"`       // of the session; default its ID in the archive
	Damaged bool   `json:"damaged,omitempty"`  // import a damaged archive as it is
	MaxSize int64  `json:"max_size,omitempty"` // of the archive, in bytes; default [filestore.DefaultMaxSize]
}

// Import adds a session from an archive, completely or not at all. The archive need not be trusted: [Latest] and
// [Manager.Nearest] do not choose the session until it was continued by its ID.
//
// The error wraps [event.ErrExists], [event.ErrBadID] or [event.ErrLocked] if the ID cannot be used, and
// [filestore.ErrTooLarge] if the archive is too large. If it is damaged, the result lists the problems.
func (m *Manager) Import(ctx context.Context, archive io.Reader, o ImportOptions) (Verified, error) {
	a, err := m.archiver()
	if err != nil {
		return Verified{}, err
	}
	report, err := a.Import(ctx, archive, filestore.Import(o))
	return newVerified(report), err
}
