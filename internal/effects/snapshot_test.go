//go:build linux && (amd64 || arm64)

package effects

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// markName is in the name of every file that an evil program leaves.
const markName = "evil-ran"

// snapshot describes files by their paths.
type snapshot map[string]fileState

// fileState is what changes if a file does.
type fileState struct {
	text  string
	inode uint64
}

// take returns a snapshot of everything that can be written. The program's own state and the temporary directories of
// commands are not in it, except for marks.
func take() (snapshot, error) {
	s := make(snapshot)
	for _, root := range append([]string{"/dev/shm", "/srv/bin", "/srv/etc"}, covered...) {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case os.IsNotExist(err):
				return nil // a process that is exiting
			case err != nil:
				return err
			case path == stateDir && d.IsDir(), strings.HasPrefix(path, sessionID):
				s.marks(path)
				if d.IsDir() {
					return fs.SkipDir
				}
				return nil
			}
			return s.add(path, d)
		})
		if err != nil {
			return nil, err
		}
	}
	return s, nil
}

// add describes a file. For directories only existence, owner and mode count. An empty directory with a hidden name, or
// in such a directory, may be a sandbox placeholder.
func (s snapshot) add(path string, d fs.DirEntry) error {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return nil
	}
	if d.IsDir() {
		entries, _ := os.ReadDir(path)
		if !strings.Contains(path, "/.") || len(entries) > 0 {
			s[path] = fileState{text: fmt.Sprintf("directory %o %d", st.Mode, st.Uid)}
		}
		return nil
	}
	if d.Name() == "index" && filepath.Base(filepath.Dir(path)) == ".git" {
		s[path] = fileState{text: indexOf(path)}
		return nil
	}
	text := fmt.Sprintf("%o %d %d bytes, %d links, changed %d %d", st.Mode, st.Uid, st.Size, st.Nlink, st.Mtim.Nano(), st.Ctim.Nano())
	s[path] = fileState{text, st.Ino}
	return nil
}

// marks adds the marks below a directory that is not in the snapshot otherwise.
func (s snapshot) marks(dir string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "go-build" {
			return fs.SkipDir
		}
		planted := strings.HasPrefix(path, stateDir) && strings.Contains(filepath.Base(path), "pwned")
		if err == nil && (planted || strings.Contains(d.Name(), markName)) {
			s[path] = fileState{text: "mark"}
		}
		return nil
	})
}

// indexOf describes the content of a repository's index, without file times: git refreshes them whenever it reads.
func indexOf(path string) string {
	data, err := os.ReadFile(path)
	if err != nil || len(data) < 12 || string(data[:4]) != "DIRC" {
		return "unreadable index"
	}
	h := fnv.New64a()
	entries := data[12:]
	const fixed = 62
	for range binary.BigEndian.Uint32(data[8:12]) {
		if len(entries) < fixed {
			return "unreadable index"
		}
		name := bytes.IndexByte(entries[fixed:], 0)
		size := (fixed + name + 8) &^ 7
		if name < 0 || len(entries) < size {
			return "unreadable index"
		}
		h.Write(entries[24:28]) // mode
		h.Write(entries[40 : fixed+name])
		entries = entries[size:]
	}
	return fmt.Sprintf("index %x", h.Sum64())
}

// change is a file that differs between two snapshots. A file that was moved was removed, and moved is its new path.
type change struct {
	path    string
	removed bool
	moved   string
}

func (c change) String() string {
	switch {
	case c.moved != "":
		return "moved " + c.path + " to " + c.moved
	case c.removed:
		return "removed " + c.path
	}
	return "wrote " + c.path
}

// diff returns the changes from s to after.
func (s snapshot) diff(after snapshot) (list []change) {
	created := make(map[uint64]string)
	for path, is := range after {
		was, existed := s[path]
		if was != is {
			list = append(list, change{path: path})
		}
		if !existed && is.inode != 0 {
			created[is.inode] = path
		}
	}
	for path, was := range s {
		if _, ok := after[path]; !ok {
			list = append(list, change{path: path, removed: true, moved: created[was.inode]})
		}
	}
	slices.SortFunc(list, func(a, b change) int { return strings.Compare(a.path, b.path) })
	return list
}

// protectedNames are files that decide what runs later, or hold credentials. They must not change in any mode.
var protectedNames = strings.Fields(`.git .ssh .aws .gnupg .npmrc .netrc .pypirc .bashrc .bash_profile .profile .zshrc .zshenv
	.vscode .idea .cursor .claude .codex .gemini .agents .reins .husky .mcp.json .envrc .gitconfig .devcontainer`)

// ordinary reports whether mode acceptEdits permits a change: a file in the workspace that is not protected was created
// or changed, or moved to another name in the workspace.
func (w world) ordinary(c change) bool {
	rel, err := filepath.Rel(w.work, c.path)
	if err != nil || !filepath.IsLocal(rel) {
		return false
	}
	if c.removed && (c.moved == "" || !w.ordinary(change{path: c.moved})) {
		return false
	}
	return !slices.ContainsFunc(strings.Split(strings.ToLower(rel), "/"), func(name string) bool {
		return slices.Contains(protectedNames, name)
	})
}
