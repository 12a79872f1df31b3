//go:build !linux

package search

import (
	"context"
	"io"
	"io/fs"
	"os"

	"github.com/reins-agent/reins/env"
)

// rootDir is a directory identified by its handle. os.Root follows links inside its directory, so an opened file is
// compared with the entry.
type rootDir struct{ root *os.Root }

func (l localLayer) openDir(_ context.Context, p string) (directory, error) {
	f, err := l.openFile(p)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	root, err := same(info, statRoot, func() (*os.Root, error) { return os.OpenRoot(native(p)) })
	if err != nil {
		return nil, err
	}
	return rootDir{root}, nil
}

func statRoot(r *os.Root) (fs.FileInfo, error) { return r.Stat(".") }

// same opens a file or directory and refuses it if it is not the expected one.
func same[T io.Closer](want fs.FileInfo, stat func(T) (fs.FileInfo, error), open func() (T, error)) (none T, err error) {
	f, err := open()
	if err != nil {
		return none, err
	}
	got, err := stat(f)
	if err == nil && !os.SameFile(want, got) {
		err = &fs.PathError{Op: "open", Path: want.Name(), Err: env.ErrLink}
	}
	if err != nil {
		f.Close()
		return none, err
	}
	return f, nil
}

func (d rootDir) close() { d.root.Close() }

func (d rootDir) open(_ context.Context, name string) (directory, error) {
	info, err := d.root.Lstat(name)
	if err != nil {
		return nil, err
	}
	root, err := same(info, statRoot, func() (*os.Root, error) { return d.root.OpenRoot(name) })
	if err != nil {
		return nil, err
	}
	return rootDir{root}, nil
}

func (d rootDir) read(_ context.Context, name string, buf []byte, limit int64) ([]byte, error) {
	info, err := d.root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: env.ErrSpecial}
	}
	f, err := same(info, (*os.File).Stat, func() (*os.File, error) { return d.root.Open(name) })
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, buf, limit)
}

func (d rootDir) stat(_ context.Context, name string) (entry, error) {
	info, err := d.root.Lstat(name)
	if err != nil {
		return entry{}, err
	}
	return statEntry(info), nil
}

func (d rootDir) list(context.Context, []byte) ([]entry, error) {
	f, err := d.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	found, err := f.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	entries := make([]entry, len(found))
	for i, f := range found {
		entries[i] = entry{name: f.Name(), kind: otherKind}
		switch {
		case f.Type().IsRegular():
			entries[i].kind = fileKind
		case f.IsDir():
			entries[i].kind = dirKind
		case f.Type()&os.ModeSymlink != 0:
			entries[i].kind = linkKind
		}
	}
	return entries, nil
}
