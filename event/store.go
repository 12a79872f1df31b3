package event

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/reins-agent/reins/llm"
)

// Store saves session logs. A session has at most one writer and any number of readers. All methods may be called
// concurrently, also by several processes if the store is shared between them.
//
// A store guarantees:
//
//   - Records are only appended. A record never changes, and its number is never used for another record.
//   - Once Writer.Append returns, the records are saved. A persistent store has flushed them to disk.
//   - Damage is reported and never repaired silently: it yields a *CorruptError, and all intact records stay readable.
//   - Readers do not need the lock. They see at least the records that were appended before they started.
//
// Errors wrap ErrExists, ErrNotFound, ErrLocked, ErrBadID or ErrOrder where these apply. If ctx is done, methods return
// its cause and have no effect.
//
// Package storetest tests implementations.
type Store interface {
	// Create creates a session and opens it for writing. It returns ErrExists if the id is taken, ignoring case, and
	// ErrBadID if CheckID refuses the id. The store sets m.Last and m.Updated, and m.Created unless it is set.
	Create(ctx context.Context, m Meta) (Writer, error)
	// Open opens a session for writing. It returns ErrLocked if the session has a writer, and ErrNotFound if it does
	// not exist.
	Open(ctx context.Context, id string) (Writer, error)
	// Load yields the session's records with numbers above after, in order; 0 yields all records. An unreadable record
	// yields a *CorruptError, after which the iteration continues. Any other error ends it, such as ErrNotFound.
	Load(ctx context.Context, id string, after Seq) iter.Seq2[Record, error]
	// Meta describes a session, and List describes all sessions, most recently written first. Neither reads whole logs.
	// If a session cannot be described, List yields an error together with the fields that are known, and continues.
	Meta(ctx context.Context, id string) (Meta, error)
	List(ctx context.Context) iter.Seq2[Meta, error]
	// OpenBlob opens a blob by the hash that Writer.PutBlob returned. Reading reports an error if the content was
	// damaged.
	OpenBlob(ctx context.Context, id, hash string) (io.ReadCloser, error)
	// Delete removes a session and its blobs. It returns ErrLocked if the session has a writer.
	Delete(ctx context.Context, id string) error
}

// Writer writes a session, which stays locked until Close. Its methods may be called concurrently.
type Writer interface {
	// Append adds durable records and returns when they are safe. Their numbers must continue the log without a gap.
	// After an error, no record counts as saved and the writer can no longer be used: open the session again to see
	// what was saved.
	Append(ctx context.Context, records ...Record) error
	// PutBlob saves data that is too large for a record and returns its SHA-256.
	PutBlob(ctx context.Context, data io.Reader) (hash string, size int64, err error)
	// SetMeta replaces the session description, except for values that the store maintains: see Meta.Replace.
	SetMeta(ctx context.Context, m Meta) error
	Close() error
}

// Leaser is a Writer that can keep its session locked after the process dies.
type Leaser interface {
	// Lease keeps others from opening the session while processes that h started are alive, even if this process is
	// killed. It ends when the writer is closed.
	Lease(h Holder) error
}

// Holder keeps a file open while processes that it started are alive, even if this process is killed.
type Holder interface {
	// Hold covers processes started from now on. The file stays open until release is called.
	Hold(f *os.File) (release func())
}

// Store errors. Stores wrap them after the session name, as in "session a already exists".
var (
	ErrExists   = errors.New("already exists")
	ErrNotFound = errors.New("not found")
	ErrLocked   = errors.New("is open elsewhere")
	ErrBadID    = errors.New("invalid session id")
	ErrOrder    = errors.New("record out of order")
)

// CorruptError reports damage to a session, such as an unreadable record.
type CorruptError struct {
	Session string
	Offset  int64 // first byte of the record
	Line    int   // from 1; 0 if unknown
	Err     error
}

func (e *CorruptError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("session %s is damaged: %v", e.Session, e.Err)
	}
	return fmt.Sprintf("session %s is damaged at line %d (byte %d): %v", e.Session, e.Line, e.Offset, e.Err)
}

func (e *CorruptError) Unwrap() error { return e.Err }

// Latest returns the most recently written session that match accepts; nil accepts all. It returns ErrNotFound if there
// is none. Sessions that cannot be described are skipped.
func Latest(ctx context.Context, s Store, match func(Meta) bool) (Meta, error) {
	for m, err := range s.List(ctx) {
		if ctx.Err() != nil {
			return Meta{}, context.Cause(ctx)
		}
		if err != nil && m.ID == "" {
			return Meta{}, err
		}
		if err == nil && (match == nil || match(m)) {
			return m, nil
		}
	}
	return Meta{}, fmt.Errorf("session %w", ErrNotFound)
}

// Meta describes a session.
type Meta struct {
	ID       string    `json:"id"`
	Title    string    `json:"title,omitempty"`
	Prompt   string    `json:"prompt,omitempty"` // first prompt
	Summary  string    `json:"summary,omitempty"`
	Tags     []string  `json:"tags,omitempty"`
	Provider string    `json:"provider,omitempty"`
	Model    string    `json:"model,omitempty"`
	Dir      string    `json:"dir,omitempty"`
	Branch   string    `json:"branch,omitempty"` // git branch
	Parent   string    `json:"parent,omitempty"` // session it was forked from
	ForkedAt Seq       `json:"forked_at,omitempty"`
	Imported Seq       `json:"imported,omitempty"` // first number after imported records; 0 if none were imported
	Created  time.Time `json:"created"`
	Updated  time.Time `json:"updated"`
	Last     Seq       `json:"last"` // last record number
	Turns    int       `json:"turns"`
	Usage    llm.Usage `json:"usage"`
	Cost     *float64  `json:"cost"` // in US dollars; null if unknown
}

// Foreign reports whether the session was imported from an archive and has not been continued since.
func (m Meta) Foreign() bool { return m.Last < m.Imported }

// Compare orders sessions, most recently written first.
func (m Meta) Compare(other Meta) int {
	return cmp.Or(other.Updated.Compare(m.Updated), cmp.Compare(m.ID, other.ID))
}

// Advance applies a record that is appended to the log. It returns ErrOrder unless the record has the next number.
// Updated never decreases.
func (m *Meta) Advance(r Record) error {
	if r.Seq != m.Last+1 {
		return fmt.Errorf("%w: record %d after record %d in session %s", ErrOrder, r.Seq, m.Last, m.ID)
	}
	m.Last = r.Seq
	if r.Time.After(m.Updated) {
		m.Updated = r.Time
	}
	return nil
}

// Replace returns n with the values that stores maintain: ID, Created, Last, Updated and Imported.
func (m Meta) Replace(n Meta) Meta {
	n = n.Clone()
	n.ID = m.ID
	n.Created = m.Created
	n.Last = m.Last
	n.Updated = m.Updated
	n.Imported = m.Imported
	return n
}

// Clone returns a deep copy.
func (m Meta) Clone() Meta {
	m.Tags = slices.Clone(m.Tags)
	m.Usage.Raw = slices.Clone(m.Usage.Raw)
	if m.Cost != nil {
		cost := *m.Cost
		m.Cost = &cost
	}
	return m
}

// maxID keeps paths short enough for all systems.
const maxID = 128

// CheckID returns an ErrBadID unless id is a valid session id: a file name that is valid on all systems and cannot be
// mistaken for a flag or a path. It has at most 128 ASCII letters, digits and . _ - @ + = ~ , characters, starts with a
// letter, a digit or _, and does not end in a dot.
func CheckID(id string) error {
	switch {
	case id == "":
		return fmt.Errorf("%w: it is empty", ErrBadID)
	case len(id) > maxID:
		return fmt.Errorf("%w: %d bytes, maximum %d", ErrBadID, len(id), maxID)
	}
	for _, r := range id {
		if r >= utf8.RuneSelf || !alphanumeric(byte(r)) && !strings.ContainsRune("._-@+=~,", r) {
			return fmt.Errorf("%w: %q contains %q; use letters, digits and . _ - @ + = ~ ,", ErrBadID, id, r)
		}
	}
	switch {
	case !alphanumeric(id[0]) && id[0] != '_':
		return fmt.Errorf("%w: %q starts with %q", ErrBadID, id, id[0])
	case strings.HasSuffix(id, "."):
		return fmt.Errorf("%w: %q ends in a dot", ErrBadID, id)
	case device(id):
		return fmt.Errorf("%w: %q is a device name on Windows", ErrBadID, id)
	}
	return nil
}

// FoldID returns the id in lower case. Ids that differ only in case cannot coexist in a store.
func FoldID(id string) string { return strings.ToLower(id) }

func alphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// device reports whether a file name, with or without an extension, is a Windows device name.
func device(id string) bool {
	stem, _, _ := strings.Cut(FoldID(id), ".")
	switch stem {
	case "con", "prn", "aux", "nul":
		return true
	}
	port, found := strings.CutPrefix(stem, "com")
	if !found {
		port, found = strings.CutPrefix(stem, "lpt")
	}
	return found && len(port) == 1 && '0' <= port[0] && port[0] <= '9'
}
