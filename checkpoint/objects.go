package checkpoint

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxObject limits the object size, so that a damaged table cannot exhaust memory. Only the list for an enormous
// directory comes near it.
const maxObject = 1 << 30

// objects reads the packs that a store has when it is opened. It is not safe for concurrent use.
type objects struct {
	where   map[hash]location
	packs   []*pack
	damaged []error // about unusable packs
	inflate io.ReadCloser
}

type pack struct {
	path string
	size int64
	file *os.File // opened when needed
}

type location struct {
	pack *pack
	span
}

// openObjects reads all pack tables and removes incomplete files that crashed writers left. It requires the lock.
func openObjects(dir string) (*objects, error) {
	o := &objects{where: map[hash]location{}}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if strings.HasPrefix(e.Name(), tempPrefix) {
			os.Remove(path)
		} else if strings.HasSuffix(e.Name(), packSuffix) {
			if err := o.load(path); err != nil {
				return nil, err
			}
		}
	}
	return o, nil
}

// load adds a pack. Objects in a damaged pack count as missing.
func (o *objects) load(path string) error {
	f, err := openRegular(path)
	if errors.Is(err, errNotRegular) {
		o.damaged = append(o.damaged, &DamagedError{filepath.Base(path), err.Error()})
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	rows, err := readTable(f, info.Size())
	if isDamage(err) {
		o.damaged = append(o.damaged, err)
		return nil
	}
	if err != nil {
		return err
	}
	p := &pack{path: path, size: info.Size()}
	o.packs = append(o.packs, p)
	if len(o.where) == 0 {
		o.where = make(map[hash]location, 2*len(rows))
	}
	for _, r := range rows {
		o.where[r.hash] = location{p, r.span}
	}
	return nil
}

func (o *objects) has(h hash) bool {
	_, ok := o.where[h]
	return ok
}

// read returns an object, checked against its hash.
func (o *objects) read(h hash) ([]byte, error) {
	at, ok := o.where[h]
	if !ok {
		return nil, errors.Join(missing(h), errors.Join(o.damaged...))
	}
	data, err := o.extract(at)
	if err != nil {
		return nil, fmt.Errorf("read pack: %w", err)
	}
	if sha256.Sum256(data) != h {
		return nil, &DamagedError{filepath.Base(at.pack.path), "wrong checksum of object " + h.String()}
	}
	return data, nil
}

func missing(h hash) error { return &DamagedError{"packs", "missing object " + h.String()} }

// extract reads and decompresses an object. The caller checks the hash, so data that does not decompress is not an
// error here.
func (o *objects) extract(at location) ([]byte, error) {
	if at.pack.file == nil {
		f, err := os.Open(at.pack.path)
		if err != nil {
			return nil, err
		}
		at.pack.file = f
	}
	stored := make([]byte, at.stored)
	if _, err := at.pack.file.ReadAt(stored, at.offset); err != nil {
		return nil, damage(at.pack.file, err, "truncated file")
	}
	if at.stored == at.size {
		return stored, nil
	}
	if o.inflate == nil {
		o.inflate = flate.NewReader(nil)
	}
	o.inflate.(flate.Resetter).Reset(bytes.NewReader(stored), nil)
	data := make([]byte, at.size)
	n, _ := io.ReadFull(o.inflate, data)
	return data[:n], nil
}

// close closes the pack files. Reading an object opens them again.
func (o *objects) close() {
	for _, p := range o.packs {
		if p.file != nil {
			p.file.Close()
			p.file = nil
		}
	}
}

// pieces returns the hashes of the objects that contain a file.
func (o *objects) pieces(e *entry) ([]hash, error) {
	if e.kind == fileKind {
		return []hash{e.hash}, nil
	}
	list, err := o.read(e.hash)
	if err != nil {
		return nil, err
	}
	if len(list)%len(hash{}) != 0 {
		return nil, &DamagedError{"packs", "object " + e.hash.String() + " is not a list of pieces"}
	}
	var hs []hash
	for b := range slices.Chunk(list, len(hash{})) {
		hs = append(hs, hash(b))
	}
	return hs, nil
}

// holds reports whether all a file's objects exist.
func (o *objects) holds(e *entry) bool {
	if e.kind == fileKind || !o.has(e.hash) {
		return o.has(e.hash)
	}
	hs, err := o.pieces(e)
	return err == nil && !slices.ContainsFunc(hs, func(h hash) bool { return !o.has(h) })
}

// copyTo writes a file's content.
func (o *objects) copyTo(w io.Writer, e *entry) error {
	hs, err := o.pieces(e)
	if err != nil {
		return err
	}
	for _, h := range hs {
		data, err := o.read(h)
		if err != nil {
			return err
		}
		if _, err := w.Write(data); err != nil {
			return err
		}
	}
	return nil
}

// tree returns a directory's entries.
func (o *objects) tree(h hash) ([]entry, error) {
	data, err := o.read(h)
	if err != nil {
		return nil, err
	}
	entries, err := decodeTree(data)
	if err != nil {
		return nil, &DamagedError{"packs", fmt.Sprintf("directory %s: %v", h, err)}
	}
	return entries, nil
}

// find returns the entry for a path below a tree, or nil.
func (o *objects) find(tree hash, path string) (*entry, error) {
	at := &entry{kind: dirKind, hash: tree}
	for name := range strings.SplitSeq(path, "/") {
		if !at.isDir() {
			return nil, nil
		}
		entries, err := o.tree(at.hash)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(entries, func(e entry) bool { return e.name == name })
		if i < 0 {
			return nil, nil
		}
		at = &entries[i]
	}
	return at, nil
}
