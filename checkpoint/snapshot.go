package checkpoint

import (
	"cmp"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/reins-agent/reins/internal/search"
)

// snapshot is a workspace state in memory. Folders precede the folders inside them.
type snapshot struct {
	folders []*folder
	byPath  map[string]*folder
	root    hash
	entries int
	files   int
	bytes   int64
}

// folder is a directory and its contents, sorted by name.
type folder struct {
	path  string // relative to the workspace, "" for the workspace itself
	nodes []node
}

// node is an entry and its file's state.
type node struct {
	entry
	id      identity
	settled bool // any change to the content will change the identity
	pending bool // the content has not been read yet
	gone    bool // removed meanwhile, or unreadable
	ignored bool // recorded only because git tracks it
}

// identity changes whenever a file's content changes.
type identity struct {
	size, modTime, changeTime int64
	inode                     uint64
}

func identityOf(st search.TreeStat) identity {
	return identity{st.Size, st.ModTime, st.ChangeTime, st.Inode}
}

// settled reports whether a change after now would change the file's times. These advance in ticks: a few milliseconds
// on file systems with nanoseconds, up to two seconds on others. A second change within a tick does not change them.
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

func (s *snapshot) add(path string) *folder {
	f := &folder{path: path}
	s.folders = append(s.folders, f)
	s.byPath[path] = f
	return f
}

// find returns the node for a path, or nil.
func (s *snapshot) find(p string) *node {
	dir, name := path.Split(p)
	return s.byPath[strings.TrimSuffix(dir, "/")].find(name)
}

// find returns the node with a name, or nil. A nil folder is empty.
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

// insert adds a node in order.
func (f *folder) insert(n node) {
	i, _ := f.search(n.name)
	f.nodes = slices.Insert(f.nodes, i, n)
}

// join joins a relative directory, which may be "", and one name.
func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// finish removes nodes that are gone, and hashes the folders bottom-up. It passes their trees to add.
func (s *snapshot) finish(add func(data []byte) (hash, error)) error {
	var buf []byte
	for _, f := range slices.Backward(s.folders) {
		f.nodes = slices.DeleteFunc(f.nodes, func(n node) bool { return n.gone })
		buf = buf[:0]
		for i := range f.nodes {
			n := &f.nodes[i]
			buf = appendEntry(buf, &n.entry)
			if n.isFile() {
				s.files++
				s.bytes += n.size
			}
		}
		h, err := add(buf)
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

// entryMode returns the recorded bits of a mode.
func entryMode(m fs.FileMode) fs.FileMode {
	if m&fs.ModeSymlink != 0 {
		return 0
	}
	return m & modeBits
}
