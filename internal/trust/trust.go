// Package trust records which directories the user trusts. In an untrusted project, files that can run a program or
// widen an agent's permissions are ignored.
//
// Trust depends on content: it applies to the files that the user saw, until one of them changes. It covers a whole
// repository, but not repositories nested in it. For a directory outside a repository, it also covers the
// subdirectories.
package trust

import (
	"cmp"
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

	"github.com/reins-agent/reins/internal/atomicfile"
	"github.com/reins-agent/reins/internal/realpath"
)

// Store holds the user's decisions, one file for each directory. A file is always replaced as a whole, so
// no lock is needed.
type Store struct{ dir string }

// Open returns the store in a state directory. It creates nothing.
func Open(dir string) *Store { return &Store{dir} }

// State describes whether a directory is trusted.
type State struct {
	Project
	Trusted bool
	// Changed lists the files that were added, changed or removed since the user trusted the project. The
	// project is untrusted until the user trusts it again.
	Changed []string
}

// record is the user's decision about a project.
type record struct {
	Root  string    `json:"root"`
	Time  time.Time `json:"time"`
	Files []File    `json:"files"`
}

// State returns whether a directory is trusted. If State returns an error, it is not.
func (s *Store) State(dir string) (State, error) {
	p, err := s.Inspect(dir)
	if err != nil {
		return State{Project: p}, err
	}
	r, err := s.read(p.Root)
	if errors.Is(err, fs.ErrNotExist) {
		return State{Project: p}, nil
	}
	if err == nil {
		err = s.outside(p.Root)
	}
	if err != nil {
		return State{Project: p}, err
	}
	changed := p.changed(r.Files)
	return State{Project: p, Trusted: len(changed) == 0, Changed: changed}, nil
}

// Trust records that the user trusts a project with these files.
func (s *Store) Trust(p Project) error {
	if err := s.outside(p.Root); err != nil {
		return err
	}
	r := record{Root: p.Root, Time: time.Now().UTC().Truncate(time.Second), Files: p.Files}
	old, err := s.read(p.Root)
	if err == nil {
		for _, f := range old.Files {
			if !slices.Contains(p.dirs, f.Dir) { // seen when another subdirectory was trusted
				r.Files = append(r.Files, f)
			}
		}
	}
	if err := s.write(s.file(r.Root), r); err != nil {
		return fmt.Errorf("cannot save that %s is trusted: %w", p.Root, err)
	}
	return nil
}

// Notice reports whether a project has a file that it did not have, with this content, when Notice was called before, and
// remembers its files. If it cannot remember them, they are new again the next time.
func (s *Store) Notice(p Project) (isNew bool, err error) { return s.remember(p, noticedSuffix) }

// Decline remembers that the user does not trust a project with its present files.
func (s *Store) Decline(p Project) error {
	_, err := s.remember(p, declinedSuffix)
	return err
}

// Allowed returns why a project cannot be trusted, or nil.
func (s *Store) Allowed(p Project) error { return s.outside(p.Root) }

// Declined reports whether the user does not trust a project with its present files.
func (s *Store) Declined(p Project) bool {
	_, isNew := s.remembered(p, declinedSuffix)
	return !isNew
}

// remembered returns what is remembered about a project, and whether the project has a file besides.
func (s *Store) remembered(p Project, suffix string) (seen record, isNew bool) {
	seen, err := readRecord(s.name(p.Root, suffix))
	if err != nil {
		seen = record{} // a damaged file is replaced
	}
	return seen, slices.ContainsFunc(p.Files, func(f File) bool { return !slices.Contains(seen.Files, f) })
}

// remember remembers a project's files, and reports whether there is a file that was not remembered before.
func (s *Store) remember(p Project, suffix string) (isNew bool, err error) {
	if err := s.outside(p.Root); err != nil {
		return true, err
	}
	seen, isNew := s.remembered(p, suffix)
	if !isNew {
		return false, nil
	}
	r := record{Root: p.Root, Time: time.Now().UTC().Truncate(time.Second), Files: p.Files}
	for _, f := range seen.Files {
		if !slices.Contains(p.dirs, f.Dir) { // seen from another subdirectory
			r.Files = append(r.Files, f)
		}
	}
	return true, s.write(s.name(p.Root, suffix), r)
}

// Untrust stops trusting a directory's project. It reports whether the project was trusted.
func (s *Store) Untrust(dir string) (root string, was bool, err error) {
	real, err := realpath.Dir(dir)
	if err != nil {
		return "", false, err
	}
	root = s.root(real)
	err = os.Remove(s.file(root))
	if errors.Is(err, fs.ErrNotExist) {
		return root, false, nil
	}
	return root, err == nil, err
}

// Entry is a trusted project.
type Entry struct {
	Root string
	Time time.Time // when the user trusted it
}

// List returns the trusted projects, sorted by path.
func (s *Store) List() ([]Entry, error) {
	files, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var list []Entry
	var errs []error
	for _, f := range files {
		if strings.HasSuffix(f.Name(), suffix) {
			r, err := readRecord(filepath.Join(s.dir, f.Name()))
			if err != nil {
				errs = append(errs, err)
				continue
			}
			list = append(list, Entry{r.Root, r.Time})
		}
	}
	slices.SortFunc(list, func(a, b Entry) int { return cmp.Compare(a.Root, b.Root) })
	return list, errors.Join(errs...)
}

// outside returns an error if the store is inside a project. Otherwise the project could include files that look like
// the user's decisions.
func (s *Store) outside(root string) error {
	for d := s.dir; ; d = filepath.Dir(d) {
		real, err := filepath.EvalSymlinks(d)
		if errors.Is(err, fs.ErrNotExist) && filepath.Dir(d) != d {
			continue
		}
		if err != nil {
			return err
		}
		if rel, err := filepath.Rel(root, real); err == nil && filepath.IsLocal(rel) {
			return fmt.Errorf(
				"%s cannot be trusted: it contains the state directory of Reins; set REINS_HOME to a directory outside of it",
				root,
			)
		}
		return nil
	}
}

// File name suffixes: the files that the user trusts, those that a run has named, and those that the user was asked about
// and does not trust.
const (
	suffix         = ".json"
	noticedSuffix  = ".noticed"
	declinedSuffix = ".declined"
)

// file returns the name of a project's record.
func (s *Store) file(root string) string { return s.name(root, suffix) }

// name returns the name of a file about a project.
func (s *Store) name(root, suffix string) string {
	sum := sha256.Sum256([]byte(root))
	return filepath.Join(s.dir, hex.EncodeToString(sum[:16])+suffix)
}

// read returns a project's record.
func (s *Store) read(root string) (record, error) {
	r, err := readRecord(s.file(root))
	if err == nil && r.Root != root {
		err = fmt.Errorf("%s belongs to another directory; remove it", s.file(root))
	}
	return r, err
}

func readRecord(name string) (record, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return record{}, err
	}
	var r record
	if err := json.Unmarshal(b, &r); err != nil {
		return record{}, fmt.Errorf("%s is damaged and must be removed: %w", name, err)
	}
	return r, nil
}

// write saves a record that only this user can read.
func (s *Store) write(name string, r record) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	return atomicfile.Write(name, append(b, '\n'), 0o600)
}
