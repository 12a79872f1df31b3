// Package gitdir finds git repositories as git does. A directory called .git is not enough: git ignores an empty or
// incomplete one and searches further up, and so does everything that depends on where a repository's top is.
//
// Bare repositories are not found. They have no work tree, and git treats their files as files in the surrounding
// repository. Neither are owners and mount points examined, which can only make git refuse a repository.
package gitdir

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/internal/lazy"
)

// ErrInvalid is wrapped by errors about a .git entry with which git fails instead of searching further up.
var ErrInvalid = errors.New("git does not accept it")

// Files reads a machine's files. Paths are absolute. If a file does not exist, errors wrap fs.ErrNotExist.
type Files interface {
	Paths() env.Paths
	// Stat returns a file's mode. It follows symbolic links.
	Stat(path string) (fs.FileMode, error)
	// Link returns a symbolic link's target, or "" for any other file.
	Link(path string) (string, error)
	// Real returns a path without symbolic links.
	Real(path string) (string, error)
	// Read returns a small regular file's content, and refuses other files. It follows symbolic links.
	Read(path string) ([]byte, error)
}

// maxRead is the maximum size of a file that Files reads. Git does not read larger .git files.
const maxRead = 1 << 20

// Repo is a repository. The zero value is none.
type Repo struct {
	Dir    string // its directory, with HEAD and the index
	Common string // the directory with its objects and configuration, which linked worktrees share
}

// At returns the repository whose work tree has its top at a directory. It returns no repository and no error only if
// git searches further up. An error that wraps [ErrInvalid] means that git fails there, or that some versions do, or that
// .git is a link to nothing, which may be a disk that is not mounted. Other errors mean that files could not be read;
// whether there is a repository is then unknown.
func At(f Files, dir string) (Repo, error) {
	name := f.Paths().Join(dir, ".git")
	if _, err := f.Link(name); errors.Is(err, fs.ErrNotExist) {
		return Repo{}, nil
	}
	mode, err := f.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Repo{}, fmt.Errorf("%s links to nothing: %w", name, ErrInvalid)
	case err == nil && mode.IsDir():
		return open(f, name)
	case err == nil && !mode.IsRegular(), errors.Is(err, env.ErrSpecial):
		return Repo{}, fmt.Errorf("%s is neither a directory nor a regular file: %w", name, ErrInvalid)
	case err != nil:
		return Repo{}, err
	}
	text, err := f.Read(name)
	if err != nil {
		return Repo{}, err
	}
	target, ok := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), "gitdir: ")
	if !ok || target == "" {
		return Repo{}, fmt.Errorf("%s does not name a repository: %w", name, ErrInvalid)
	}
	r, err := open(f, f.Paths().Abs(dir, target))
	if err == nil && r == (Repo{}) {
		err = fmt.Errorf("%s names %q, which is not a repository: %w", name, target, ErrInvalid)
	}
	return r, err
}

// Stops reports whether git stops searching at a directory, with a repository or an error. It also reports true if that
// is unknown. So it suits limits on what a project may affect: a directory does not become part of the surrounding
// project because its .git is unreadable or broken.
func Stops(f Files, dir string) bool {
	r, err := At(f, dir)
	return err != nil || r != (Repo{})
}

// Find returns the nearest directory at or above dir at which [Stops] reports true, and At's results for it. The top is
// "" if no directory qualifies.
func Find(f Files, dir string) (top string, r Repo, err error) {
	for d := dir; ; {
		if r, err = At(f, d); err != nil || r != (Repo{}) {
			return d, r, err
		}
		above := f.Paths().Dir(d)
		if above == d {
			return "", r, nil
		}
		d = above
	}
}

// open returns the repository in a directory, or none if git would not use it.
func open(f Files, dir string) (Repo, error) {
	if ok, err := validHead(f, f.Paths().Join(dir, "HEAD")); !ok || err != nil {
		return Repo{}, err
	}
	real, err := f.Real(dir)
	if err != nil {
		return Repo{}, err
	}
	r := Repo{Dir: real, Common: real}
	link := f.Paths().Join(real, "commondir")
	text, err := f.Read(link)
	linked := !errors.Is(err, fs.ErrNotExist)
	if linked {
		if err != nil {
			return Repo{}, err
		}
		if len(text) == 0 {
			return Repo{}, fmt.Errorf("%s is empty: %w", link, ErrInvalid)
		}
		r.Common = f.Paths().Abs(real, strings.TrimRight(string(text), "\r\n"))
	}
	for _, name := range []string{"objects", "refs"} {
		ok, err := searchable(f, f.Paths().Join(r.Common, name))
		switch {
		case err != nil:
			return Repo{}, err
		case !ok && linked:
			return Repo{}, fmt.Errorf("%s names %s, which has no %s: %w", link, r.Common, name, ErrInvalid)
		case !ok:
			return Repo{}, nil
		}
	}
	return r, nil
}

var head = lazy.Regexp(`^(ref:[ \t\r\n]*refs/|[0-9a-fA-F]{40})`)

// validHead reports whether git accepts a file as a repository's HEAD: it begins as a reference or an object name does,
// or is a symbolic link to a reference, which need not exist.
func validHead(f Files, name string) (bool, error) {
	target, err := f.Link(name)
	if err == nil && target != "" {
		return strings.HasPrefix(target, "refs/"), nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if mode, err := f.Stat(name); err == nil && mode.IsDir() {
		return false, nil
	}
	text, err := f.Read(name)
	return head().Match(text), err
}

// searchable reports whether git can enter a directory.
func searchable(f Files, dir string) (bool, error) {
	mode, err := f.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !mode.IsDir():
		return mode.Perm()&0o111 != 0, nil // git checks only that
	}
	if _, err := f.Stat(f.Paths().Join(dir, "x")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	return true, nil
}
