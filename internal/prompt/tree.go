package prompt

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/internal/gitdir"
)

// tree is a session's project. Its paths follow the environment's rules; it may run on another platform than this
// program.
type tree struct {
	paths  env.Paths
	root   string   // the repository's top, or the working directory outside a repository
	dirs   []string // from the root to the working directory
	git    bool     // it is a repository
	repo   gitdir.Repo
	fenced bool // files that decide whether it is a repository are inaccessible
}

// findTree walks up from the working directory to its repository's top. A .git that git does not accept, or that cannot
// be read, ends the project as well, so that it gets no instructions from directories above.
func findTree(ctx context.Context, e env.Environment) tree {
	return findTreeAt(ctx, e, workingDir(ctx, e))
}

// findTreeAt does the same for another working directory, given by its real path.
func findTreeAt(ctx context.Context, e env.Environment, dir string) tree {
	t := tree{paths: e.Info().Paths()}
	top, repo, err := gitdir.Find(gitdir.In(ctx, e), dir)
	t.repo, t.git = repo, repo != gitdir.Repo{}
	t.fenced = err != nil && !errors.Is(err, gitdir.ErrInvalid)
	if t.fenced {
		if _, err := e.Lstat(ctx, t.paths.Join(top, ".git")); err != nil { // the directory is inaccessible too
			top = dir
		}
	}
	t.root = cmp.Or(top, dir)
	t.dirs = t.below(dir)
	return t
}

// below lists the directories from the root to one in the tree.
func (t tree) below(dir string) (dirs []string) {
	for d := dir; d != t.root && d != t.paths.Dir(d); d = t.paths.Dir(d) {
		dirs = append(dirs, d)
	}
	dirs = append(dirs, t.root)
	slices.Reverse(dirs)
	return dirs
}

// workingDir returns the real working directory, as git sees it, if the environment allows its use.
func workingDir(ctx context.Context, e env.Environment) string {
	dir := e.Info().Dir
	if real, err := e.RealPath(ctx, dir); err == nil {
		if _, err := e.Stat(ctx, real); err == nil {
			dir = real
		}
	}
	return e.Info().Paths().Clean(dir)
}

// relative returns a path relative to the root, with slashes.
func (t tree) relative(p string) string {
	rel, ok := t.paths.Rel(t.root, p)
	if !ok {
		return p
	}
	return rel
}
