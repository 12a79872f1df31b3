// Package memory stores notes between sessions: a Markdown file for the user and one for each project.
//
// Both files are in the user's state directory. If they were in the repository, its authors could add text to the
// prompt of every session. Users can edit the files; each note begins with "## " and its title, and new notes come
// last.
package memory

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/reins-agent/reins/internal/atomicfile"
	"github.com/reins-agent/reins/internal/filelock"
	"github.com/reins-agent/reins/internal/gitdir"
)

// Limits for a memory file.
const (
	maxTitle = 100 // bytes
	maxNote  = 2000
	maxSize  = 64 << 10
)

// Scope is what notes apply to.
type Scope string

// The scopes.
const (
	User    Scope = "user"
	Project Scope = "project"
)

// Store holds the memory files for a user and a project.
type Store struct {
	dir     string
	project string // project directory
}

// Open returns the store in a state directory. The project is the repository that contains dir, or dir itself. A .git
// that is broken or cannot be read counts as a repository, so that one project's notes do not reach another. Open does
// not create files.
func Open(notes, dir string) Store {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	top, _, _ := gitdir.Find(gitdir.Host, dir) // an error is about a project as well
	return Store{dir: notes, project: cmp.Or(top, dir)}
}

// Path returns a scope's file. It may not exist.
func (s Store) Path(scope Scope) string {
	name := "user.md"
	if scope == Project {
		sum := sha256.Sum256([]byte(s.project))
		name = fmt.Sprintf("project-%s-%s.md", slug(filepath.Base(s.project)), hex.EncodeToString(sum[:6]))
	}
	return filepath.Join(s.dir, name)
}

// Note is one entry in a memory file.
type Note struct {
	ID    string `json:"id"` // derived from the title
	Title string `json:"title"`
	Text  string `json:"text"`
}

// Notes returns a scope's notes, oldest first.
func (s Store) Notes(scope Scope) ([]Note, error) {
	data, err := s.read(scope)
	return parse(string(data)).notes, err
}

// read returns a file's content, or nil if it does not exist.
func (s Store) read(scope Scope) ([]byte, error) {
	f, err := os.Open(s.Path(scope))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err == nil && len(data) > maxSize {
		err = fmt.Errorf("%s is larger than %d KiB; remove notes that are no longer needed", f.Name(), maxSize>>10)
	}
	return data, err
}

// Shown returns the newest notes in each scope that fit in budget bytes. User notes get at most half.
func (s Store) Shown(budget int) (map[string]string, error) {
	user, err := s.shown(User, budget/2)
	if err != nil {
		return nil, err
	}
	project, err := s.shown(Project, budget-len(user))
	return map[string]string{string(User): user, string(Project): project}, err
}

func (s Store) shown(scope Scope, budget int) (string, error) {
	notes, err := s.Notes(scope)
	if err != nil {
		return "", err
	}
	var list []string
	const room = 60 // for the line about omitted notes
	size := room
	for _, n := range slices.Backward(notes) {
		text := fmt.Sprintf("## %s (id: %s)\n%s", n.Title, n.ID, n.Text)
		if size += len(text) + 1; size > budget {
			break
		}
		list = append(list, text)
	}
	if left := len(notes) - len(list); left > 0 && budget >= room {
		list = append(list, fmt.Sprintf("[%d older notes are left out]", left))
	}
	slices.Reverse(list)
	return strings.Join(list, "\n"), nil
}

// Clear removes a scope's file, and reports whether it existed.
func (s Store) Clear(ctx context.Context, scope Scope) (found bool, err error) {
	err = s.locked(ctx, func() error {
		err := os.Remove(s.Path(scope))
		found = err == nil
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return err
	})
	return found, err
}

// Delete removes the note with a title, and reports whether there was one.
func (s Store) Delete(ctx context.Context, scope Scope, title string) (found bool, err error) {
	err = s.locked(ctx, func() error {
		data, err := s.read(scope)
		if err != nil {
			return err
		}
		f := parse(string(data))
		before := len(f.notes)
		f.notes = slices.DeleteFunc(f.notes, func(n Note) bool { return n.Title == title })
		if found = len(f.notes) < before; !found {
			return nil
		}
		return s.write(scope, f.String())
	})
	return found, err
}

// Create creates a scope's file without notes if it does not exist, so that an editor can open it.
func (s Store) Create(ctx context.Context, scope Scope) error {
	return s.locked(ctx, func() error {
		data, err := s.read(scope)
		if err != nil || data != nil {
			return err
		}
		return s.write(scope, s.head(scope))
	})
}

// head returns the first lines for a new file.
func (s Store) head(scope Scope) string {
	title := "# Memory of the user"
	if scope == Project {
		title = "# Memory of " + s.project
	}
	return title + "\n\nNotes that agents keep between sessions. You can edit them: each begins with \"## \" and its title.\n"
}

// lockTimeout is how long a change waits for another process.
const lockTimeout = 5 * time.Second

// locked calls f while holding the lock on the files.
func (s Store) locked(ctx context.Context, f func() error) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(s.dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	ctx, cancel := context.WithTimeoutCause(ctx, lockTimeout, errors.New("another process is changing the memory; try again"))
	defer cancel()
	if err := filelock.Wait(ctx, lock); err != nil {
		return err
	}
	return f()
}

// write replaces a file atomically.
func (s Store) write(scope Scope, text string) error {
	return atomicfile.Write(s.Path(scope), []byte(text), 0o600)
}

// file is a parsed memory file.
type file struct {
	head  string // up to the first note
	notes []Note
}

func parse(text string) file {
	var f file
	var body strings.Builder
	end := func() {
		if len(f.notes) == 0 {
			f.head = body.String()
		} else {
			f.notes[len(f.notes)-1].Text = strings.TrimSpace(body.String())
		}
		body.Reset()
	}
	for line := range strings.Lines(text) {
		title, ok := strings.CutPrefix(line, "## ")
		if !ok {
			body.WriteString(line)
			continue
		}
		end()
		title = strings.TrimSpace(title)
		f.notes = append(f.notes, Note{ID: slug(title), Title: title})
	}
	end()
	return f
}

func (f file) String() string {
	var b strings.Builder
	b.WriteString(strings.TrimRight(f.head, "\n") + "\n")
	for _, n := range f.notes {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", n.Title, n.Text)
	}
	return b.String()
}

// slug returns an ID or file name made from a title's letters and digits.
func slug(title string) string {
	words := strings.FieldsFunc(strings.ToLower(title), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	id := strings.Join(words, "-")
	if len(id) > 40 {
		id = strings.Trim(strings.ToValidUTF8(id[:40], ""), "-")
	}
	return cmp.Or(id, "note")
}
