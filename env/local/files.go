package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/reins-agent/reins/env"
)

// file runs an operation on the file that a path leads to.
func (e *Env) file(ctx context.Context, op, path string, f func(h handle, name string) error) error {
	return e.operate(ctx, op, path, func() error { return e.tree.follow(path, true, f) })
}

// link is like file, but does not follow a link in the last element.
func (e *Env) link(ctx context.Context, op, path string, f func(h handle, name string) error) error {
	return e.operate(ctx, op, path, func() error { return e.tree.follow(path, false, f) })
}

// operate runs an operation with the checks and errors common to all.
func (e *Env) operate(ctx context.Context, op, path string, f func() error) error {
	err := e.usable(ctx)
	if err == nil {
		err = f()
	}
	if err != nil {
		return &fs.PathError{Op: op, Path: path, Err: e.tree.explain(err)}
	}
	return nil
}

// usable returns an error if the environment cannot be used. It takes no lock, because a sandbox that starts may look for
// hidden files with this environment while e.mu waits for the sandbox.
func (e *Env) usable(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if e.closed.Load() {
		return env.ErrClosed
	}
	return nil
}

// fileInfo converts a FileInfo and names it after the requested path.
func fileInfo(fi fs.FileInfo, path string) env.FileInfo {
	return env.FileInfo{Name: filepath.Base(path), Size: fi.Size(), Mode: fi.Mode(), ModTime: fi.ModTime()}
}

// Stat implements [env.Environment].
func (e *Env) Stat(ctx context.Context, path string) (env.FileInfo, error) {
	var info env.FileInfo
	err := e.file(ctx, "stat", path, func(h handle, name string) error {
		fi, err := h.Stat(name)
		if err == nil {
			info = fileInfo(fi, path)
		}
		return err
	})
	return info, err
}

// Lstat implements [env.Environment].
func (e *Env) Lstat(ctx context.Context, path string) (env.FileInfo, error) {
	var info env.FileInfo
	err := e.link(ctx, "lstat", path, func(h handle, name string) error {
		fi, err := h.Lstat(name)
		if err == nil {
			info = fileInfo(fi, path)
		}
		return err
	})
	return info, err
}

// Open implements [env.Environment].
func (e *Env) Open(ctx context.Context, path string) (io.ReadCloser, error) {
	var file *os.File
	err := e.file(ctx, "open", path, func(h handle, name string) (err error) {
		file, err = openRegular(h, name)
		return err
	})
	if err != nil {
		return nil, err
	}
	return file, nil
}

// openRegular opens a regular file for reading. It checks before opening, because opening a device can have effects,
// and again afterwards, because the file may have been replaced.
func openRegular(h handle, name string) (*os.File, error) {
	fi, err := h.Stat(name)
	if err != nil {
		return nil, err
	}
	if err := mustBeRegular(fi); err != nil {
		return nil, err
	}
	f, err := h.OpenFile(name, os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return nil, err
	}
	if fi, err = f.Stat(); err == nil {
		err = mustBeRegular(fi)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// mustBeRegular refuses directories, devices, FIFOs and sockets.
func mustBeRegular(fi fs.FileInfo) error {
	switch {
	case fi.Mode().IsRegular():
		return nil
	case fi.IsDir():
		return env.ErrIsDir
	default:
		return fmt.Errorf("%w (%s)", env.ErrSpecial, kind(fi.Mode()))
	}
}

func kind(m fs.FileMode) string {
	switch {
	case m&fs.ModeNamedPipe != 0:
		return "named pipe"
	case m&fs.ModeSocket != 0:
		return "socket"
	case m&fs.ModeDevice != 0:
		return "device"
	default:
		return "special file"
	}
}

// ReadDir implements [env.Environment].
func (e *Env) ReadDir(ctx context.Context, path string) ([]env.FileInfo, error) {
	var list []env.FileInfo
	err := e.file(ctx, "read directory", path, func(h handle, name string) error {
		d, err := openDir(h, name)
		if err != nil {
			return err
		}
		defer d.Close()
		list, err = readDir(d)
		return err
	})
	return list, err
}

// openDir opens a directory. It returns ErrNotDir for a file, for which systems return different
// errors.
func openDir(h handle, name string) (*os.Root, error) {
	d, err := h.OpenRoot(name)
	if err == nil {
		return d, nil
	}
	if fi, statErr := h.Stat(name); statErr == nil && !fi.IsDir() {
		return nil, env.ErrNotDir
	}
	return nil, err
}

// readDir lists a directory. Files that disappear during the listing are skipped.
func readDir(d *os.Root) ([]env.FileInfo, error) {
	f, err := d.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	list := make([]env.FileInfo, 0, len(names))
	for _, name := range names {
		fi, err := d.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, fileInfo(fi, name))
	}
	return list, nil
}

// Mkdir implements [env.Environment].
func (e *Env) Mkdir(ctx context.Context, path string, perm fs.FileMode) error {
	return e.change(ctx, "make directory", path, false, func(h handle, name string) error {
		return h.Mkdir(name, perm.Perm())
	})
}

// Remove implements [env.Environment].
func (e *Env) Remove(ctx context.Context, path string) error {
	return e.change(ctx, "remove", path, false, func(h handle, name string) error { return h.Remove(name) })
}

// Rename implements [env.Environment]. Between roots or file systems, a regular file is copied and the old file
// removed.
func (e *Env) Rename(ctx context.Context, from, to string) error {
	err := e.usable(ctx)
	if err == nil {
		err = e.rename(ctx, from, to)
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: e.tree.explain(err)}
	}
	return nil
}

func (e *Env) rename(ctx context.Context, from, to string) error {
	source, from, err := e.changeable(from, false)
	if err != nil {
		return err
	}
	target, to, err := e.changeable(to, false)
	if err != nil {
		return err
	}
	return source.follow(from, false, func(hf handle, nameFrom string) error {
		return target.follow(to, false, func(ht handle, nameTo string) error {
			if hf == ht {
				err := hf.Rename(nameFrom, nameTo)
				if !errors.Is(err, errCrossDevice) {
					return err
				}
			}
			return e.move(ctx, hf, nameFrom, ht, nameTo)
		})
	})
}

// move copies a regular file and removes the original.
func (e *Env) move(ctx context.Context, hf handle, from string, ht handle, to string) error {
	f, err := openRegular(hf, from)
	if err != nil {
		return err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	d, err := openDir(ht, filepath.Dir(to))
	if err != nil {
		return err
	}
	defer d.Close()
	if old, err := d.Lstat(filepath.Base(to)); err == nil && old.IsDir() {
		return env.ErrIsDir
	}
	r := replacement{dir: d, name: filepath.Base(to), perm: fi.Mode().Perm(), flush: e.tree.flush}
	if err := r.write(ctx, f); err != nil {
		return err
	}
	return hf.Remove(from)
}

// WriteFile implements [env.Environment].
func (e *Env) WriteFile(ctx context.Context, path string, data []byte, perm fs.FileMode) error {
	return e.operate(ctx, "write", path, func() error {
		t, real, err := e.changeable(path, true)
		if err != nil {
			return err
		}
		return t.write(ctx, real, data, perm.Perm())
	})
}

// RealPath implements [env.Environment].
func (e *Env) RealPath(ctx context.Context, path string) (real string, err error) {
	err = e.operate(ctx, "resolve", path, func() error {
		real, err = e.tree.abs(path)
		if err == nil && !e.tree.plain(real) {
			real, err = e.tree.canonical(real, true)
		}
		return err
	})
	return real, err
}
