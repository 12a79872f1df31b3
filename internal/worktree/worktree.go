// Package worktree gives an agent a copy of a git repository's files to work in.
//
// A worktree has its own files, index, references and commits. It shares only objects with the original repository, and
// only reads them. Nothing that happens in a worktree changes that repository: not its files, index, references, stash
// or configuration. The result is a diff, a branch in the repository, or changes to its files ([Tree.Diff],
// [Tree.SaveBranch], [Tree.Apply]).
//
// Git does not run programs that a repository configures: a repository that configures any is refused unless it is
// trusted. Anything that an agent writes into its worktree's repository has no effect here, because the package reads
// the files with a separate repository.
package worktree

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/internal/atomicfile"
	"github.com/reins-agent/reins/internal/filelock"
	"github.com/reins-agent/reins/internal/lazy"
)

// Errors in this package.
var (
	ErrNoRepository = errors.New("not a git repository")
	ErrLocked       = errors.New("the worktree is in use by another session")
	ErrDirty        = errors.New("the worktree has changes that are saved nowhere else")
	ErrNotFound     = errors.New("no such worktree")
)

// Store is a directory with worktrees.
type Store struct {
	Dir string
	// Env creates the environment for a directory. Commands and file tools of agents, and git, run in such
	// environments.
	Env func(dir string) (env.Environment, error)
	// Trusted allows git to run programs that a repository's configuration names.
	Trusted bool
	// Wait is how long to wait for a worktree that is in use.
	Wait time.Duration
}

// Info describes a worktree. It is saved next to its files.
type Info struct {
	ID      string    `json:"id"` // in the store: "REPOSITORY/NAME"
	Session string    `json:"session,omitempty"`
	From    string    `json:"from"` // the directory that it was created from
	Top     string    `json:"top"`  // the repository's top
	Base    string    `json:"base"` // the commit that it was created from
	Created time.Time `json:"created"`

	Start State `json:"start"` // when it was created
	// Saved is the state that was last applied or saved as a branch. Commit is the commit of that branch.
	Saved  State  `json:"saved,omitzero"`
	Commit string `json:"commit,omitempty"`
}

// State identifies a worktree's content.
type State struct {
	Tree string `json:"tree"` // all files that are not ignored
	Head string `json:"head"` // the checked-out commit
	Refs string `json:"refs"` // hash of the other references
}

// Name returns the worktree's name.
func (i Info) Name() string { return i.ID[strings.LastIndexByte(i.ID, '/')+1:] }

// Branch returns the name of the worktree's branch.
func (i Info) Branch() string { return "worktree-" + i.Name() }

// Tree is an open worktree. No other process can open it.
type Tree struct {
	Info
	store  Store
	place  string // the directory with its files, repositories and lock
	lock   *os.File
	env    env.Environment // nil until it is needed
	free   func()
	admin  env.Environment // where git runs; nil until it is needed
	closed bool
}

// Options configures a new worktree.
type Options struct {
	Name    string // "" means a random name
	Session string // its session's ID
	// Changes includes the repository's uncommitted changes and untracked files.
	Changes bool
}

var validName = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$`)

// Create creates a worktree for the repository that contains an environment's working directory, and opens it.
func (s Store) Create(ctx context.Context, from env.Environment, o Options) (_ *Tree, err error) {
	o.Name = cmp.Or(o.Name, strings.ToLower(rand.Text()[:8]))
	if !validName().MatchString(o.Name) {
		return nil, fmt.Errorf("invalid worktree name %q: use up to 40 letters, digits, _ and -", o.Name)
	}
	r, err := s.repository(ctx, from)
	if err != nil {
		return nil, err
	}
	t := &Tree{store: s, Info: Info{
		ID:      key(r.top) + "/" + o.Name,
		Session: o.Session,
		From:    from.Info().Dir,
		Top:     r.top,
		Created: time.Now().UTC(),
	}}
	t.place = s.place(t.ID)
	if err := os.MkdirAll(filepath.Dir(t.place), 0o700); err != nil {
		return nil, err
	}
	if err := os.Mkdir(t.place, 0o700); errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("worktree %s already exists; choose another name", o.Name)
	} else if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("cannot create worktree %s: %w", o.Name, err), t.Close(), os.RemoveAll(t.place))
		}
	}()
	if err := t.acquire(ctx); err != nil {
		return nil, err
	}
	if err := t.fill(ctx, r, o.Changes); err != nil {
		return nil, err
	}
	return t, t.save()
}

// key returns the name of the directory for a repository's worktrees.
func key(top string) string {
	base := strings.Map(func(r rune) rune {
		if validName().MatchString(string(r)) || r == '_' || r == '-' {
			return r
		}
		return '-'
	}, filepath.Base(top))
	sum := sha256.Sum256([]byte(top))
	return base[:min(len(base), 40)] + "-" + hex.EncodeToString(sum[:6])
}

var validID = lazy.Regexp(`^[A-Za-z0-9_-]{1,60}/[A-Za-z0-9][A-Za-z0-9_-]{0,39}$`)

func (s Store) place(id string) string { return filepath.Join(s.Dir, filepath.FromSlash(id)) }

// Find returns the worktree with this name that was created from a directory.
func (s Store) Find(from, name string) (Info, error) {
	all, err := s.List()
	if err != nil {
		return Info{}, err
	}
	var names []string
	for _, i := range all {
		if i.From == from && i.Name() == name {
			return i, nil
		}
		if i.From == from {
			names = append(names, i.Name())
		}
	}
	if len(names) == 0 {
		return Info{}, fmt.Errorf("%w %q: there are none for %s", ErrNotFound, name, from)
	}
	return Info{}, fmt.Errorf("%w %q: use one of %s", ErrNotFound, name, strings.Join(names, ", "))
}

// Open opens a worktree by its ID.
func (s Store) Open(ctx context.Context, id string) (*Tree, error) {
	if !validID().MatchString(id) {
		return nil, fmt.Errorf("%w %q", ErrNotFound, id)
	}
	i, err := s.read(id)
	if err != nil {
		return nil, err
	}
	t := &Tree{Info: i, store: s, place: s.place(id)}
	if err := t.acquire(ctx); err != nil {
		return nil, err
	}
	if t.Info, err = s.read(id); err != nil { // it may have changed before the lock
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

const infoFile = "worktree.json"

func (s Store) read(id string) (i Info, err error) {
	data, err := os.ReadFile(filepath.Join(s.place(id), infoFile))
	if errors.Is(err, fs.ErrNotExist) {
		return i, fmt.Errorf("%w %q", ErrNotFound, id)
	}
	if err == nil {
		err = json.Unmarshal(data, &i)
	}
	if err == nil && (i.ID != id || i.Top == "" || i.From == "") {
		err = errors.New("the file is damaged")
	}
	if err != nil {
		err = fmt.Errorf("cannot read %s of worktree %s: %w", infoFile, id, err)
	}
	return i, err
}

// save atomically replaces the description file.
func (t *Tree) save() error {
	data, err := json.MarshalIndent(t.Info, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(t.place, infoFile), data, 0o600)
}

// List returns all worktrees, sorted by ID. It skips those that cannot be read.
func (s Store) List() (list []Info, err error) {
	files, err := filepath.Glob(filepath.Join(s.Dir, "*", "*", infoFile))
	for _, f := range files {
		place := filepath.Dir(f)
		id := filepath.Base(filepath.Dir(place)) + "/" + filepath.Base(place)
		if i, err := s.read(id); err == nil && validID().MatchString(id) {
			list = append(list, i)
		}
	}
	slices.SortFunc(list, func(a, b Info) int { return cmp.Compare(a.ID, b.ID) })
	return list, err
}

// acquire locks the worktree.
func (t *Tree) acquire(ctx context.Context) error {
	f, err := os.OpenFile(filepath.Join(t.place, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, t.store.Wait, fmt.Errorf("%s: %w", t.Name(), ErrLocked))
	defer cancel()
	if err := filelock.Wait(ctx, f); err != nil {
		return errors.Join(err, f.Close())
	}
	t.lock = f
	return nil
}

// Close ends the commands that run in the worktree and unlocks it. It does not delete files.
func (t *Tree) Close() (err error) {
	if t.closed {
		return nil
	}
	t.closed = true
	if t.free != nil {
		t.free()
	}
	for _, e := range []env.Environment{t.env, t.admin} {
		if e != nil {
			err = errors.Join(err, e.Close())
		}
	}
	if t.lock != nil {
		err = errors.Join(err, t.lock.Close())
	}
	return err
}

// root returns the directory with the files.
func (t *Tree) root() string { return filepath.Join(t.place, "tree") }

// private returns the directory of the repository that agents do not use.
func (t *Tree) private() string { return filepath.Join(t.place, "git") }

// Dir returns the working directory in the worktree, which corresponds to From.
func (t *Tree) Dir() string { return filepath.Join(t.root(), t.prefix()) }

// prefix returns From relative to the repository's top.
func (t *Tree) prefix() string {
	rel, err := filepath.Rel(t.Top, t.From)
	if err != nil || !filepath.IsLocal(rel) {
		return "."
	}
	return rel
}

// Remove closes and deletes the worktree. It returns ErrDirty if it has changes or commits that were neither applied
// nor saved as a branch. Ignored files are deleted.
func (t *Tree) Remove(ctx context.Context) error {
	if t.env != nil { // a command could still change files
		if err := t.env.Close(); err != nil {
			return err
		}
	}
	if err := t.Clean(ctx); err != nil {
		return err
	}
	return t.remove()
}

// Discard closes and deletes the worktree with all its changes.
func (t *Tree) Discard() error {
	if t.env != nil {
		if err := t.env.Close(); err != nil {
			return err
		}
	}
	return t.remove()
}

func (t *Tree) remove() error {
	// A worktree without its description file is no longer listed, even if this process is killed now.
	if err := os.Remove(filepath.Join(t.place, infoFile)); err != nil {
		return err
	}
	err := errors.Join(t.Close(), os.RemoveAll(t.place))
	_ = os.Remove(filepath.Dir(t.place)) // if it is empty
	return err
}
