//go:build amd64 || arm64

package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// masks notices when masked files appear, disappear or are replaced. There are hundreds of them, most of which do not
// exist, so it checks their directories, and files only in directories that have changed.
type masks struct {
	files map[string]fileID
	dirs  map[string]*maskDir // innermost existing directory for each file
}

// maskDir is a directory with the files that it would contain, at any depth.
type maskDir struct {
	state dirState
	files []string
}

// dirState is a directory's state. Two changes may have the same time, so a state is meaningful only if it was read
// some time after the last change.
type dirState struct {
	id      fileID
	changed int64
	settled bool
}

// coarseTime is longer than the clock steps in file times.
const coarseTime = 50 * time.Millisecond

// newMasks returns the present state of files.
func newMasks(paths []string) masks {
	m := masks{files: make(map[string]fileID, len(paths)), dirs: make(map[string]*maskDir)}
	for _, path := range paths {
		dir := filepath.Dir(path)
		for missing(dir) && len(dir) > 1 {
			dir = filepath.Dir(dir)
		}
		d := m.dirs[dir]
		if d == nil {
			d = &maskDir{state: stateOf(dir)}
			m.dirs[dir] = d
		}
		d.files = append(d.files, path)
	}
	for _, path := range paths { // after the directories, so that no change is missed
		m.files[path] = identify(path)
	}
	return m
}

func stateOf(dir string) dirState {
	now := time.Now()
	var st unix.Stat_t
	if unix.Lstat(dir, &st) != nil {
		return dirState{}
	}
	at := st.Mtim.Nano()
	return dirState{
		id:      fileID{uint64(st.Dev), st.Ino},
		changed: at,
		settled: now.Sub(time.Unix(0, at)).Abs() > coarseTime,
	}
}

// changed reports whether a file differs from the remembered state.
func (m *masks) changed() bool {
	for dir, d := range m.dirs {
		now := stateOf(dir)
		if d.state.settled && now == d.state {
			continue
		}
		if m.mayDiffer(dir, d.files) {
			return m.refresh()
		}
		d.state = now
	}
	return false
}

// mayDiffer reports whether a directory has an entry that leads to one of its files, unless nothing about that file has
// changed. A file whose directory appeared may differ.
func (m *masks) mayDiffer(dir string, files []string) bool {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return true
	}
	names := make(map[string]bool, len(entries))
	for _, e := range entries {
		names[strings.ToLower(e.Name())] = true // some file systems ignore case
	}
	for _, path := range files {
		rest := strings.TrimPrefix(path[len(dir):], "/")
		name, _, deeper := strings.Cut(rest, "/")
		was := m.files[path]
		if !names[strings.ToLower(name)] && was == (fileID{}) {
			continue
		}
		if deeper || identify(path) != was {
			return true
		}
	}
	return false
}

// refresh checks all files again, and reports whether any has changed.
func (m *masks) refresh() bool {
	paths := make([]string, 0, len(m.files))
	for path := range m.files {
		paths = append(paths, path)
	}
	now := newMasks(paths)
	for path, id := range m.files {
		if now.files[path] != id {
			return true
		}
	}
	m.dirs = now.dirs
	return false
}
