package prompt

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/reins-agent/reins/env"
)

// tree is the project of a session. Its paths follow the rules of the environment, which may run on another platform
// than this program.
type tree struct {
	paths  env.Paths
	root   string   // the top of the repository, or the working directory if there is none
	dirs   []string // from the root to the working directory
	git    bool     // it is a repository
	fenced bool     // directories above the working directory are inaccessible
}

// findTree walks up from the working directory to the top of its repository.
func findTree(ctx context.Context, e env.Environment) tree {
	t := tree{paths: e.Info().Paths()}
	dir := t.workingDir(ctx, e)
	up := []string{dir}
	for d := dir; ; {
		_, err := e.Lstat(ctx, t.paths.Join(d, ".git"))
		above := t.paths.Dir(d)
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

// workingDir returns the real working directory, as git sees it, if the environment allows its use.
func (t tree) workingDir(ctx context.Context, e env.Environment) string {
	dir := e.Info().Dir
	if real, err := e.RealPath(ctx, dir); err == nil {
		if _, err := e.Stat(ctx, real); err == nil {
			dir = real
		}
	}
	return t.paths.Clean(dir)
}

// holds reports whether a real path is in the tree.
func (t tree) holds(ctx context.Context, e env.Environment, real string) bool {
	root, err := e.RealPath(ctx, t.root)
	return err == nil && t.paths.Within(root, real)
}

// relative returns a path relative to the root, with slashes.
func (t tree) relative(p string) string {
	rel, ok := t.paths.Rel(t.root, p)
	if !ok {
		return p
	}
	return rel
}
