package checkpoint

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"

	"github.com/reins-agent/reins/env/search"
)

// Ignore files do not count for what git tracks, such as a file that was added by force. So the files
// in git's index are part of a checkpoint, ignored or not.

// maxGitIndex bounds the size of an index that is read. It has about 100 bytes for a file.
const maxGitIndex = 256 << 20

// gitIndex finds the index of the repository that a directory is in, and the path of the directory in
// that repository, with a slash at its end, or "". Without a repository the index is empty.
func gitIndex(dir string) (index []byte, prefix string) {
	for at := dir; ; at = filepath.Dir(at) {
		git := filepath.Join(at, ".git")
		if info, err := os.Stat(git); err == nil {
			if info.Mode().IsRegular() {
				git = linkedGit(git)
			}
			if rel, err := filepath.Rel(at, dir); err == nil && rel != "." {
				prefix = filepath.ToSlash(rel) + "/"
			}
			return readGitIndex(filepath.Join(git, "index")), prefix
		}
		if at == filepath.Dir(at) {
			return nil, ""
		}
	}
}

// linkedGit gives the directory that a file .git names.
func linkedGit(file string) string {
	text, err := readRegular(file)
	dir, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if err != nil || !ok {
		return file
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(filepath.Dir(file), dir)
	}
	return dir
}

func readGitIndex(file string) []byte {
	if info, err := os.Stat(file); err != nil || info.Size() > maxGitIndex {
		return nil
	}
	data, err := readRegular(file)
	if err != nil {
		return nil
	}
	return data
}

var errGitIndex = errors.New("not an index of git that can be read")

// trackedFiles calls visit with the path of each file and link in an index of git. The slice is valid
// during the call.
func trackedFiles(index []byte, visit func(path []byte) error) error {
	// The hashes of objects have 20 bytes, or 32 in newer repositories; the index does not say which.
	if err := indexEntries(index, 20, func([]byte) error { return nil }); err == nil {
		return indexEntries(index, 20, visit)
	}
	if err := indexEntries(index, 32, func([]byte) error { return nil }); err != nil {
		return err
	}
	return indexEntries(index, 32, visit)
}

func indexEntries(index []byte, hashSize int, visit func(path []byte) error) error {
	if len(index) < 12 || string(index[:4]) != "DIRC" {
		return errGitIndex
	}
	version, count := binary.BigEndian.Uint32(index[4:]), binary.BigEndian.Uint32(index[8:])
	if version < 2 || version > 4 {
		return errGitIndex
	}
	e := indexEntry{version: version, hashSize: hashSize, rest: index[12:]}
	for range count {
		if err := e.next(); err != nil {
			return err
		}
		// What is neither a file nor a link is a submodule, or a directory of a sparse checkout.
		if kind := e.mode >> 12; kind == 0o10 || kind == 0o12 {
			if err := visit(e.path); err != nil {
				return err
			}
		}
	}
	return nil
}

// indexEntry reads the entries of an index, one after the other.
type indexEntry struct {
	version  uint32
	hashSize int
	rest     []byte
	mode     uint32
	path     []byte
}

func (e *indexEntry) next() error {
	size := 40 + e.hashSize + 2
	if len(e.rest) < size {
		return errGitIndex
	}
	e.mode = binary.BigEndian.Uint32(e.rest[24:])
	const extended = 0x4000
	if flags := binary.BigEndian.Uint16(e.rest[size-2:]); e.version >= 3 && flags&extended != 0 {
		size += 2
	}
	if len(e.rest) < size {
		return errGitIndex
	}
	if e.version == 4 {
		return e.nextShort(e.rest[size:])
	}
	end := bytes.IndexByte(e.rest[size:], 0)
	if end < 0 {
		return errGitIndex
	}
	e.path = append(e.path[:0], e.rest[size:size+end]...)
	size = (size + end + 8) &^ 7 // at least one zero, and a multiple of eight
	if len(e.rest) < size {
		return errGitIndex
	}
	e.rest = e.rest[size:]
	return nil
}

// nextShort reads a path that says how much of the end of the one before it is to be replaced.
func (e *indexEntry) nextShort(b []byte) error {
	cut, n := uint64(0), 0
	for {
		if n == len(b) || n > 4 {
			return errGitIndex
		}
		c := b[n]
		n++
		cut = cut<<7 | uint64(c&0x7f)
		if c&0x80 == 0 {
			break
		}
		cut++
	}
	end := bytes.IndexByte(b[n:], 0)
	if end < 0 || cut > uint64(len(e.path)) {
		return errGitIndex
	}
	e.path = append(e.path[:len(e.path)-int(cut)], b[n:n+end]...)
	e.rest = b[n+end+1:]
	return nil
}

// tracked adds to the scan the files that git tracks and ignore files exclude.
func (sc *scan) tracked() error {
	index, prefix := gitIndex(sc.store.workspace)
	err := trackedFiles(index, func(p []byte) error {
		rel, ok := bytes.CutPrefix(p, []byte(prefix))
		if !ok || sc.snap.hasFile(rel) {
			return nil
		}
		return sc.force(string(rel))
	})
	if errors.Is(err, errGitIndex) {
		return nil
	}
	return err
}

// hasFile reports whether there is a node of a path. It allocates nothing, since it is asked for every
// file of a repository.
func (s *snapshot) hasFile(p []byte) bool {
	i := bytes.LastIndexByte(p, '/')
	f, name := s.byPath[string(p[:max(i, 0)])], p[i+1:]
	if f == nil {
		return false
	}
	at := sort.Search(len(f.nodes), func(i int) bool { return f.nodes[i].name >= string(name) })
	return at < len(f.nodes) && f.nodes[at].name == string(name)
}

// force adds a file that is ignored, with the directories on the way to it.
func (sc *scan) force(p string) error {
	if under(sc.store.excluded, p) && len(sc.store.excluded) > 0 || strings.HasPrefix(path.Base(p), tempName) {
		return nil
	}
	at := ""
	for name := range strings.SplitSeq(p, "/") {
		if !validName(name) {
			return nil
		}
		dir := at
		at = join(at, name)
		sc.enter(dir)
		if sc.at == nil {
			return nil // the directory is something else by now
		}
		if sc.at.find(name) != nil {
			continue
		}
		info, err := sc.root.Lstat(filepath.FromSlash(at))
		if err != nil || info.IsDir() != (at != p) {
			return nil
		}
		st := search.TreeStatOf(info)
		n, ok := sc.node(name, st)
		if !ok {
			return nil
		}
		n.ignored = true
		sc.at.insert(n)
		if err := sc.count(st); err != nil {
			return err
		}
	}
	return nil
}
