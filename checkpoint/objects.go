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
	"strings"
)

// maxObject bounds what an object can be, so that a damaged table cannot ask for all memory. Pieces
// of files are far smaller; only the list of an enormous directory comes near.
const maxObject = 1 << 30

// objects reads the packs of a store as they are at one time. It is used by one goroutine.
type objects struct {
	dir     string
	where   map[hash]location
	packs   []*pack
	damaged []error // packs that cannot be used
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

// openObjects reads the tables of all packs and removes what crashed writers left. The caller has
// the lock.
func openObjects(dir string) (*objects, error) {
	o := &objects{dir: dir, where: map[hash]location{}}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if strings.HasPrefix(e.Name(), tempPrefix) {
			os.Remove(path)
			continue
		}
		if !strings.HasSuffix(e.Name(), packSuffix) {
			continue
		}
		if err := o.load(path); err != nil {
			o.close()
			return nil, err
		}
	}
	return o, nil
}

// load adds a pack. One that is damaged is noted: its objects are as good as missing.
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
	rows, err := readTable(f)
	if damaged := (*DamagedError)(nil); errors.As(err, &damaged) {
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

// read gives an object, checked against its hash.
func (o *objects) read(h hash) ([]byte, error) {
	at, ok := o.where[h]
	if !ok {
		return nil, errors.Join(&DamagedError{"packs", "object " + h.String() + " is missing"}, errors.Join(o.damaged...))
	}
	data, err := o.extract(at)
	if err != nil {
		return nil, fmt.Errorf("read a pack of the checkpoint store: %w", err)
	}
	if sha256.Sum256(data) != h {
		return nil, &DamagedError{filepath.Base(at.pack.path), "object " + h.String() + " is not what was written"}
	}
	return data, nil
}

// extract reads and inflates an object. Data that does not inflate comes out wrong, not as an
// error: its hash tells.
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
		return nil, damage(at.pack.file, err, "the file is cut off")
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

// close closes the packs' files. The objects can still be asked for.
func (o *objects) close() {
	for _, p := range o.packs {
		if p.file != nil {
			p.file.Close()
			p.file = nil
		}
	}
}
