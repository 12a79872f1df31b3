package checkpoint

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/reins-agent/reins/internal/gitdir"
	"github.com/reins-agent/reins/internal/search"
)

// maxGitIndex limits the git index size; an index has about 100 bytes per file.
const maxGitIndex = 256 << 20

// tracked adds files that git tracks although ignore files exclude them, such as after git add --force.
func (sc *scan) tracked() error {
	index, prefix := gitIndex(sc.store.workspace)
	err := trackedFiles(index, func(path string) error {
		rel, ok := strings.CutPrefix(path, prefix)
		if !ok || sc.snap.find(rel) != nil {
			return nil
		}
		return sc.force(rel)
	})
	if errors.Is(err, errGitIndex) {
		return nil
	}
	return err
}

// force adds an ignored file and its parent directories.
func (sc *scan) force(p string) error {
	if under(sc.store.excluded, p) || strings.HasPrefix(path.Base(p), tempName) {
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
			return nil // the directory has been replaced
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

// gitIndex returns the index of the repository that contains a directory, and the directory's path in the repository,
// with a slash at the end, or "". Without a repository that git can use the index is empty.
func gitIndex(dir string) (index []byte, prefix string) {
	top, r, err := gitdir.Find(gitdir.Host, dir)
	if err != nil || top == "" {
		return nil, ""
	}
	if rel, err := filepath.Rel(top, dir); err == nil && rel != "." {
		prefix = filepath.ToSlash(rel) + "/"
	}
	return readGitIndex(filepath.Join(r.Dir, "index")), prefix
}

func readGitIndex(file string) []byte {
	if info, err := os.Stat(file); err != nil || info.Size() > maxGitIndex {
		return nil
	}
	data, _ := readRegular(file)
	return data
}

var errGitIndex = errors.New("unsupported git index")

// trackedFiles calls visit with the path of each file and link in a git index.
func trackedFiles(index []byte, visit func(path string) error) error {
	// Object hashes have 20 bytes (SHA-1) or 32 (SHA-256). The index does not tell which.
	for _, size := range []int{20, 32} {
		if indexEntries(index, size, nil) == nil {
			return indexEntries(index, size, visit)
		}
	}
	return errGitIndex
}

// indexEntries reads an index whose hashes have hashSize bytes. A nil visit only checks it.
func indexEntries(index []byte, hashSize int, visit func(path string) error) error {
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
		// Any other kind is a submodule, or a directory in a sparse checkout.
		if kind := e.mode >> 12; visit != nil && (kind == 0o10 || kind == 0o12) {
			if err := visit(string(e.path)); err != nil {
				return err
			}
		}
	}
	return nil
}

// indexEntry is the current entry while reading an index.
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
	size = (size + end + 8) &^ 7 // at least one zero byte, and a multiple of eight
	if len(e.rest) < size {
		return errGitIndex
	}
	e.rest = e.rest[size:]
	return nil
}

// nextShort reads a path in version 4 format: how many bytes to remove from the end of the previous path, and what to
// append to it.
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
