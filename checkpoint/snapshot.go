package checkpoint

import (
	"cmp"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/reins-agent/reins/env/search"
)

// snapshot is the state of a workspace in memory: its folders, each before those inside it.
type snapshot struct {
	folders []*folder
	byPath  map[string]*folder
	root    hash
	entries int
	files   int
	bytes   int64
}

// folder is a directory and what it holds, in byte order of the names.
type folder struct {
	path  string // relative to the workspace, "" for the workspace itself
	nodes []node
}

// node is an entry together with what is known of the file it stands for.
type node struct {
	entry
	id      identity
	settled bool // as long as the identity stays, so does the content
	pending bool // the content has not been read yet
	gone    bool // it vanished, or could not be read
	ignored bool // it is only there because git tracks it
}

// identity is what changes with the content of a file.
type identity struct {
	size, modTime, changeTime int64
	inode                     uint64
}

func identityOf(st search.TreeStat) identity {
	return identity{st.Size, st.ModTime, st.ChangeTime, st.Inode}
}

// settled reports whether a change after the time now would show in the file's times. They advance
// in ticks: of some milliseconds at most on the file systems that count in nanoseconds, of up to
// two seconds on the others. A change within the tick of the last one does not move them.
func (id identity) settled(now time.Time) bool {
	last := max(id.modTime, id.changeTime)
	tick := 50 * time.Millisecond
	if last%int64(time.Millisecond) == 0 {
		tick = 2 * time.Second
	}
	return last < now.Add(-tick).UnixNano()
}

func newSnapshot() *snapshot {
	s := &snapshot{byPath: map[string]*folder{}}
	s.add("")
	return s
}

// add gives the snapshot a folder.
func (s *snapshot) add(path string) *folder {
	f := &folder{path: path}
	s.folders = append(s.folders, f)
	s.byPath[path] = f
	return f
}

// find gives the node of a path, or nil.
func (s *snapshot) find(p string) *node {
	dir, name := path.Split(p)
	return s.byPath[strings.TrimSuffix(dir, "/")].find(name)
}

// find gives the node of a name, or nil. A nil folder has none.
func (f *folder) find(name string) *node {
	if f == nil {
		return nil
	}
	if i, ok := f.search(name); ok {
		return &f.nodes[i]
	}
	return nil
}

func (f *folder) search(name string) (int, bool) {
	return slices.BinarySearchFunc(f.nodes, name, func(n node, name string) int { return cmp.Compare(n.name, name) })
}

// insert adds a node in its place.
func (f *folder) insert(n node) {
	i, _ := f.search(n.name)
	f.nodes = slices.Insert(f.nodes, i, n)
}

// join is path.Join for a relative directory, which may be "", and one name.
func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// finish drops what is gone and names every folder by its content, from the bottom up. The sink
// takes the trees.
func (s *snapshot) finish(sink func(data []byte) (hash, error)) (err error) {
	var buf []byte
	for _, f := range slices.Backward(s.folders) {
		f.nodes = slices.DeleteFunc(f.nodes, func(n node) bool { return n.gone })
		buf = buf[:0]
		for i := range f.nodes {
			n := &f.nodes[i]
			buf = appendEntry(buf, &n.entry)
			if n.kind == fileKind || n.kind == largeKind {
				s.files++
				s.bytes += n.size
			}
		}
		h, err := sink(buf)
		if err != nil {
			return err
		}
		if f.path == "" {
			s.root = h
		} else {
			s.find(f.path).hash = h
		}
	}
	return nil
}

// entryMode is what is recorded of a mode.
func entryMode(m fs.FileMode) fs.FileMode {
	if m&fs.ModeSymlink != 0 {
		return 0
	}
	return m & modeBits
}
