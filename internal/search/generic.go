package search

import (
	"context"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/internal/gitdir"
)

// generic is the layer for any environment.
type generic struct {
	env env.Environment
}

func (g *generic) paths() env.Paths { return g.env.Info().Paths() }

func (g *generic) abs(p string) string {
	info := g.env.Info()
	paths := info.Paths()
	return strings.TrimSuffix(paths.ToSlash(paths.Abs(info.Dir, p)), "/")
}

func (g *generic) real(p string) string { return p }

func (g *generic) git(ctx context.Context) gitdir.Files { return gitdir.In(ctx, g.env) }

// globals returns nil: the user's configuration is unknown.
func (g *generic) globals() rules { return nil }

// rooted restores a root directory's trailing slash.
func rooted(p string) string {
	if p == "" || len(p) == 2 && p[1] == ':' {
		return p + "/"
	}
	return p
}

func (g *generic) stat(ctx context.Context, p string) (entry, error) {
	info, err := g.env.Stat(ctx, rooted(p))
	if err != nil {
		return entry{}, err
	}
	return infoEntry(info), nil
}

func infoEntry(info env.FileInfo) entry {
	e := entry{name: info.Name, details: &details{size: info.Size, modTime: info.ModTime, mode: info.Mode}}
	switch {
	case info.Mode.IsRegular():
		e.kind = fileKind
	case info.Mode.IsDir():
		e.kind = dirKind
	case info.Mode&fs.ModeSymlink != 0:
		e.kind = linkKind
	}
	return e
}

func (g *generic) openDir(_ context.Context, p string) (directory, error) {
	return &genericDir{layer: g, path: p}, nil
}

func (g *generic) readFile(ctx context.Context, p string, buf []byte, limit int64) ([]byte, error) {
	f, err := g.env.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, buf, limit)
}

// readAll reads to the end, in buf if it fits.
func readAll(r io.Reader, buf []byte, limit int64) ([]byte, error) {
	buf = buf[:0]
	for headSeen := false; ; {
		if len(buf) >= headSize && !headSeen {
			if headSeen = true; binaryHead(buf[:headSize]) {
				return buf, errBinary
			}
		}
		if len(buf) == cap(buf) {
			buf = append(buf, make([]byte, max(4096, cap(buf)))...)[:len(buf)]
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if limit >= 0 && int64(len(buf)) > limit {
			return buf, errTooBig
		}
		if err == io.EOF {
			return buf, nil
		}
		if err != nil {
			return buf, err
		}
	}
}

// genericDir is a directory identified by its path.
type genericDir struct {
	layer *generic
	path  string
}

func (d *genericDir) list(ctx context.Context, _ []byte) ([]entry, error) {
	infos, err := d.layer.env.ReadDir(ctx, rooted(d.path))
	if err != nil {
		return nil, err
	}
	entries := make([]entry, len(infos))
	for i, info := range infos {
		entries[i] = infoEntry(info)
	}
	return entries, nil
}

func (d *genericDir) open(_ context.Context, name string) (directory, error) {
	return &genericDir{layer: d.layer, path: d.path + "/" + name}, nil
}

func (d *genericDir) read(ctx context.Context, name string, buf []byte, limit int64) ([]byte, error) {
	return d.layer.readFile(ctx, d.path+"/"+name, buf, limit)
}

func (d *genericDir) stat(ctx context.Context, name string) (entry, error) {
	return d.layer.stat(ctx, path.Join(rooted(d.path), name))
}

func (d *genericDir) close() {}
