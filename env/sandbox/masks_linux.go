//go:build amd64 || arm64

package sandbox

import (
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// masks notices when masked files appear, disappear or are replaced. There are hundreds of them, so it looks at their
// directories, unless one has changed.
type masks struct {
	files map[string]fileID
	dirs  map[string]dirState // the innermost directory of each file that exists
}

// dirState is the state of a directory. Two changes may have the same time, so a state says nothing unless it was
// looked at some time after its last change.
type dirState struct {
	id      fileID
	changed int64
	settled bool
}

// coarseTime is longer than the steps of the clock for the times of files.
const coarseTime = 50 * time.Millisecond

// newMasks returns the present state of files.
func newMasks(paths []string) masks {
	m := masks{files: make(map[string]fileID, len(paths)), dirs: make(map[string]dirState)}
	for _, path := range paths {
		dir := filepath.Dir(path)
		for missing(dir) && len(dir) > 1 {
			dir = filepath.Dir(dir)
		}
		m.dirs[dir] = stateOf(dir)
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

// changed reports whether a file is not what it was.
func (m *masks) changed() bool {
	same := true
	for dir, was := range m.dirs {
		if !was.settled || stateOf(dir) != was {
			same = false
			break
		}
	}
	if same {
		return false
	}
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
