package event

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/reins-agent/reins/llm"
)

// Store keeps the logs of sessions. Any number of readers may read while one writer writes; all
// methods may be called concurrently, also from several processes where the store says so.
//
// Package storetest is the suite that every store must pass.
type Store interface {
	// Create begins the log of a new session and gives its writer. An id that is taken, also by
	// one that differs in case only, gives ErrExists; one that could not be a file name gives
	// ErrBadID.
	Create(ctx context.Context, m Meta) (Writer, error)
	// Open gives the writer of a session. There is one at a time: ErrLocked says that somebody
	// else has it, and ErrNotFound that there is no such session.
	Open(ctx context.Context, id string) (Writer, error)
	// Load reads the durable records of a session behind a number, in order, one at a time. A
	// record that cannot be read comes as a *CorruptError; the iteration goes on behind it, for
	// the caller to go on or to stop.
	Load(ctx context.Context, id string, after Seq) iter.Seq2[Record, error]
	// Meta describes a session. List describes all of them, the one written last first, without
	// reading their logs.
	Meta(ctx context.Context, id string) (Meta, error)
	List(ctx context.Context) iter.Seq2[Meta, error]
	// OpenBlob reads a blob of a session.
	OpenBlob(ctx context.Context, id, hash string) (io.ReadCloser, error)
	// Delete removes a session with all that belongs to it. A session that somebody writes to
	// gives ErrLocked.
	Delete(ctx context.Context, id string) error
}

// Writer writes one session. It holds the session's lease until it is closed.
type Writer interface {
	// Append adds durable records, whose numbers go on where the log ends. It returns when they
	// are safe; after an error none of them counts, and the writer is of no more use.
	Append(ctx context.Context, records ...Record) error
	// PutBlob keeps data that is too large for a record and gives its hash.
	PutBlob(ctx context.Context, data io.Reader) (hash string, size int64, err error)
	// SetMeta changes what Meta and List tell. The id and the time of creation stay.
	SetMeta(ctx context.Context, m Meta) error
	Close() error
}

// Meta describes a session.
type Meta struct {
	ID       string    `json:"id"`
	Title    string    `json:"title,omitempty"`
	Prompt   string    `json:"prompt,omitempty"` // the first one
	Summary  string    `json:"summary,omitempty"`
	Tags     []string  `json:"tags,omitempty"`
	Provider string    `json:"provider,omitempty"`
	Model    string    `json:"model,omitempty"`
	Dir      string    `json:"dir,omitempty"`
	Branch   string    `json:"branch,omitempty"` // of git
	Parent   string    `json:"parent,omitempty"` // the session it was forked from
	ForkedAt Seq       `json:"forked_at,omitempty"`
	Created  time.Time `json:"created"`
	Updated  time.Time `json:"updated"`
	Last     Seq       `json:"last"` // the number of the last record
	Turns    int       `json:"turns"`
	Usage    llm.Usage `json:"usage"`
	Cost     *float64  `json:"cost"` // in US dollars; null if it is not known
}

// Errors of stores.
var (
	ErrExists   = errors.New("there is a session of this name")
	ErrNotFound = errors.New("there is no such session")
	ErrLocked   = errors.New("the session is open elsewhere")
	ErrBadID    = errors.New("not a usable session id")
	ErrOrder    = errors.New("the record does not go on where the log ends")
)

// Latest is the session that was written last, of those that the function takes; nil takes all.
// Those that cannot be described are passed over; if the sessions cannot be listed at all it is why.
// If there is none it is ErrNotFound.
func Latest(ctx context.Context, s Store, take func(Meta) bool) (Meta, error) {
	for m, err := range s.List(ctx) {
		if ctx.Err() != nil {
			return Meta{}, context.Cause(ctx)
		}
		if err != nil && m.ID == "" {
			return Meta{}, err
		}
		if err == nil && (take == nil || take(m)) {
			return m, nil
		}
	}
	return Meta{}, ErrNotFound
}

// CorruptError is a record that cannot be read.
type CorruptError struct {
	Session string
	Offset  int64 // where it begins, in bytes
	Line    int   // or in lines, from 1
	Err     error
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("the record in line %d (byte %d) of session %s is damaged: %v", e.Line, e.Offset, e.Session, e.Err)
}

func (e *CorruptError) Unwrap() error { return e.Err }
