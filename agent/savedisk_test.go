package agent

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/reins-agent/reins/event/filestore"
)

// fault describes a disk failure.
type fault struct {
	op   string // "write", "sync", "name" for file creation, or "index" for any operation on the index
	at   int    // the first operation that fails, from 1; later ones fail too
	once bool   // only that one fails
	part func(size int) int
	err  error
}

// disk is a disk that fails. It is told which data is durable, and believes it.
type disk struct {
	filestore.OS
	fault

	mu     sync.Mutex
	count  map[string]int
	failed bool
}

// does counts an operation on a session file, and returns its failure.
func (d *disk) does(op, name string) error {
	if strings.HasPrefix(filepath.Base(name), "meta.json") {
		op = "index"
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.count == nil {
		d.count = make(map[string]int)
	}
	d.count[op]++
	n := d.count[op]
	if op != d.op || n < d.at || d.once && n > d.at {
		return nil
	}
	d.failed = true
	return &fs.PathError{Op: op, Path: name, Err: d.err}
}

func (d *disk) hasFailed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failed
}

func (d *disk) OpenFile(name string, flag int, perm fs.FileMode) (filestore.File, error) {
	if flag&os.O_CREATE != 0 {
		if err := d.does("name", name); err != nil {
			return nil, err
		}
	}
	f, err := d.OS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &diskFile{f, d, name}, nil
}

func (d *disk) MkdirAll(name string, perm fs.FileMode) error {
	if err := d.does("name", name); err != nil {
		return err
	}
	return d.OS.MkdirAll(name, perm)
}

func (d *disk) Lock(name string) (io.Closer, error) {
	if err := d.does("name", name); err != nil {
		return nil, err
	}
	return d.OS.Lock(name)
}

func (d *disk) Rename(from, to string) error {
	if err := d.does("name", to); err != nil {
		return err
	}
	return d.OS.Rename(from, to)
}

func (d *disk) SyncDir(name string) error { return d.does("sync", name) }

type diskFile struct {
	filestore.File
	disk *disk
	name string
}

func (f *diskFile) WriteAt(b []byte, off int64) (int, error) {
	fail := f.disk.does("write", f.name)
	if fail == nil {
		return f.File.WriteAt(b, off)
	}
	n, err := f.File.WriteAt(b[:f.disk.through(len(b))], off)
	return n, errors.Join(fail, err)
}

func (f *diskFile) Write(b []byte) (int, error) {
	fail := f.disk.does("write", f.name)
	if fail == nil {
		return f.File.Write(b)
	}
	n, err := f.File.Write(b[:f.disk.through(len(b))])
	return n, errors.Join(fail, err)
}

// through returns how much of a failing write is done.
func (d *disk) through(size int) int {
	if d.part == nil {
		return 0
	}
	return d.part(size)
}

func (f *diskFile) Sync() error { return f.disk.does("sync", f.name) }
