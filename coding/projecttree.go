package coding

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/reins-agent/reins/env"
)

// tree is the project that a session works in. The paths of an environment are its own: it may be
// of another platform than this program. They are kept with slashes here, which Windows takes too.
type tree struct {
	root string   // the top of the repository, or the working directory where there is none
	dirs []string // from the root down to the working directory
	git  bool     // it is a repository
	// fenced says that what lies above the working directory could not be looked at.
	fenced  bool
	windows bool
}

// findTree walks up from the working directory to the top of its repository.
func findTree(ctx context.Context, e env.Environment) tree {
	t := tree{windows: e.Info().Platform == "windows"}
	dir := t.workingDir(ctx, e)
	up := []string{dir}
	for d := dir; ; {
		_, err := e.Lstat(ctx, inDir(d, ".git"))
		above := parentDir(d)
		switch {
		case err == nil:
			slices.Reverse(up)
			t.root, t.dirs, t.git = up[0], up, true
			return t
		case !errors.Is(err, fs.ErrNotExist), above == d:
			t.root, t.dirs, t.fenced = dir, []string{dir}, above != d
			return t
		}
		up, d = append(up, above), above
	}
}

// workingDir is the real working directory, as git sees it, where the environment lets it be used.
func (t tree) workingDir(ctx context.Context, e env.Environment) string {
	dir := e.Info().Dir
	if real, err := e.RealPath(ctx, dir); err == nil {
		if _, err := e.Stat(ctx, real); err == nil {
			dir = real
		}
	}
	return path.Clean(t.slashed(dir))
}

func (t tree) slashed(p string) string {
	if t.windows {
		return strings.ReplaceAll(p, `\`, "/")
	}
	return p
}

// holds reports whether a real path lies in the tree.
func (t tree) holds(ctx context.Context, e env.Environment, real string) bool {
	root, err := e.RealPath(ctx, t.root)
	return err == nil && strings.HasPrefix(t.slashed(real), inDir(t.slashed(root), ""))
}

// relative is a path of the tree from its root.
func (t tree) relative(p string) string { return strings.TrimPrefix(p, inDir(t.root, "")) }

// parentDir is the directory above; that of a root is the root.
func parentDir(dir string) string {
	above := path.Dir(dir)
	switch {
	case above == ".":
		return dir
	case len(above) == 2 && above[1] == ':':
		return above + "/"
	}
	return above
}

func inDir(dir, name string) string { return strings.TrimSuffix(dir, "/") + "/" + name }
