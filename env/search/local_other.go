//go:build !linux

package search

import (
	"context"
	"os"
)

// pathDir is a directory identified by its path.
type pathDir struct {
	layer localLayer
	path  string
	file  *os.File
}

func (l localLayer) openDir(_ context.Context, p string) (directory, error) {
	f, err := l.openFile(p)
	if err != nil {
		return nil, err
	}
	return &pathDir{layer: l, path: p, file: f}, nil
}

func (d *pathDir) close() { d.file.Close() }

func (d *pathDir) open(ctx context.Context, name string) (directory, error) {
	return d.layer.openDir(ctx, d.path+"/"+name)
}

func (d *pathDir) read(ctx context.Context, name string, buf []byte, limit int64) ([]byte, error) {
	return d.layer.readFile(ctx, d.path+"/"+name, buf, limit)
}

func (d *pathDir) stat(_ context.Context, name string) (entry, error) {
	info, err := os.Lstat(native(d.path + "/" + name))
	if err != nil {
		return entry{}, err
	}
	return statEntry(info), nil
}

func (d *pathDir) list(context.Context, []byte) ([]entry, error) {
	found, err := d.file.ReadDir(-1)
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
