package cli

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// preview is the diff of what a call would change, or "" if that cannot be known before: the tool
// is run on a draft of the environment.
func preview(ctx context.Context, t tool.Tool, r tool.Request) string {
	runs := func(a policy.Access) bool { return a.Kind == policy.Exec || a.Kind == policy.Connect }
	if r.Spec.OpenWorld || slices.ContainsFunc(r.Accesses, runs) {
		return ""
	}
	before := readChanging(ctx, r.Call.Env, r.Accesses)
	if len(before) == 0 {
		return ""
	}
	d := &draft{Environment: r.Call.Env, files: make(map[string]*[]byte)}
	trial := *r.Call
	trial.Env, trial.Output = d, nil
	if res, err := t.Run(ctx, &trial); err != nil || res.Error != nil {
		return ""
	}
	return diffOf(r.Call.Env, before, func(path string) (string, bool) { return readText(ctx, d, path) })
}

// draft is an environment whose changes stay in memory. It knows files only, not the directories
// that they make, and runs nothing: enough for tools that edit.
type draft struct {
	env.Environment

	mu    sync.Mutex
	files map[string]*[]byte // the changed ones by their real paths; nil was removed
}

// find is what became of a file in this draft; false if nothing did.
func (d *draft) find(ctx context.Context, path string) (*[]byte, bool, error) {
	real, err := d.RealPath(ctx, path)
	if err != nil {
		return nil, false, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	content, ok := d.files[real]
	return content, ok, nil
}

func (d *draft) set(ctx context.Context, path string, content *[]byte) error {
	real, err := d.RealPath(ctx, path)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.files[real] = content
	return nil
}

func (d *draft) Stat(ctx context.Context, path string) (env.FileInfo, error) {
	content, ok, err := d.find(ctx, path)
	switch {
	case err != nil || !ok:
		return d.Environment.Stat(ctx, path)
	case content == nil:
		return env.FileInfo{}, &fs.PathError{Op: "stat", Path: path, Err: fs.ErrNotExist}
	}
	return env.FileInfo{Name: filepath.Base(path), Size: int64(len(*content)), Mode: 0o644}, nil
}

func (d *draft) Lstat(ctx context.Context, path string) (env.FileInfo, error) {
	if _, ok, err := d.find(ctx, path); err != nil || !ok {
		return d.Environment.Lstat(ctx, path)
	}
	return d.Stat(ctx, path)
}

func (d *draft) Open(ctx context.Context, path string) (io.ReadCloser, error) {
	content, ok, err := d.find(ctx, path)
	switch {
	case err != nil || !ok:
		return d.Environment.Open(ctx, path)
	case content == nil:
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return io.NopCloser(bytes.NewReader(*content)), nil
}

func (d *draft) WriteFile(ctx context.Context, path string, data []byte, _ fs.FileMode) error {
	data = bytes.Clone(data)
	return d.set(ctx, path, &data)
}

func (d *draft) Remove(ctx context.Context, path string) error { return d.set(ctx, path, nil) }

func (d *draft) Rename(ctx context.Context, from, to string) error {
	data, err := env.ReadFile(ctx, d, from, 0)
	if err != nil {
		return err
	}
	if err := d.set(ctx, to, &data); err != nil {
		return err
	}
	return d.set(ctx, from, nil)
}

func (d *draft) Mkdir(context.Context, string, fs.FileMode) error { return nil }

func (d *draft) Start(context.Context, env.Command) (env.Process, error) {
	return nil, env.ErrReadOnly
}

func (d *draft) Close() error { return nil }
