package worktree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reins-agent/reins/internal/gitdir"
)

// state returns the worktree's current state.
func (t *Tree) state(ctx context.Context) (s State, err error) {
	if s.Tree, err = t.scan(ctx); err != nil {
		return s, err
	}
	g := git{env: t.admin, dir: t.place, repo: t.gitDir()}
	if s.Head, err = g.line(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}"); err != nil && exitCode(err) != 1 {
		return s, err
	}
	refs, err := g.run(ctx, "for-each-ref", "--format=%(objectname) %(refname)")
	if err != nil {
		return s, err
	}
	hash := sha256.New()
	for line := range strings.Lines(refs) {
		commit, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "refs/heads/"+t.Branch() && (commit == t.Base || commit == s.Head) {
			continue // covered by Head
		}
		fmt.Fprintln(hash, commit, name)
	}
	s.Refs = hex.EncodeToString(hash.Sum(nil))
	return s, nil
}

// scan returns the git tree of all files that are not ignored. It does not use the agent's configuration and index for
// that, because they could name programs or hide files. It includes ignored files that the agent added to its index.
func (t *Tree) scan(ctx context.Context) (string, error) {
	if at, err := t.nested(); err != nil || at != "" {
		return "", errors.Join(err, nestedError(at))
	}
	g, err := t.own()
	if err != nil {
		return "", err
	}
	if _, err := g.run(ctx, "add", "--all"); err != nil {
		return "", err
	}
	agents := g
	agents.index = filepath.Join(t.gitDir(), "index")
	added, err := agents.run(ctx, "ls-files", "-z", "--cached")
	if err != nil {
		return "", fmt.Errorf("cannot read the index of the worktree: %w", err)
	}
	names := list(added)
	g.stdin = strings.Join(slices.Compact(names), "\x00")
	if _, err := g.run(ctx, "update-index", "--add", "--remove", "-z", "--stdin"); err != nil {
		return "", err
	}
	return g.line(ctx, "write-tree")
}

func nestedError(at string) error {
	if at == "" {
		return nil
	}
	return fmt.Errorf("the worktree contains another repository, %s, whose files would not be included; move them or remove its .git", at)
}

// nested returns a directory in the worktree that is itself a repository, or may be one, or "". Git adds the files in a
// directory whose .git it ignores, but none in .git. So an ignored .git counts unless it is empty.
func (t *Tree) nested() (at string, err error) {
	err = filepath.WalkDir(t.root(), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == t.gitDir():
			return fs.SkipDir
		case d.Name() == ".git" && empty(path) && !gitdir.Stops(gitdir.Host, filepath.Dir(path)):
			return fs.SkipDir
		case strings.EqualFold(d.Name(), ".git"):
			at, _ = filepath.Rel(t.root(), filepath.Dir(path))
			return fs.SkipAll
		}
		return nil
	})
	return at, err
}

// empty reports whether a path is a directory without files.
func empty(dir string) bool {
	return filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			err = fs.ErrExist
		}
		return err
	}) == nil
}

// Clean returns ErrDirty, with the reason, if removing the worktree would lose changes.
func (t *Tree) Clean(ctx context.Context) error {
	now, err := t.state(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDirty, err)
	}
	known := []State{t.Start, t.Saved}
	has := func(f func(State) bool) bool { return slices.ContainsFunc(known, f) }
	switch {
	case !has(func(s State) bool { return s.Tree == now.Tree }):
		n, err := t.changed(ctx, t.Start.Tree, now.Tree)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrDirty, err)
		}
		return fmt.Errorf("%w: %d changed files, such as %s", ErrDirty, len(n), n[0])
	case now.Refs != t.Start.Refs:
		return fmt.Errorf("%w: branches, tags or a stash", ErrDirty)
	case !has(func(s State) bool { return s.Head == now.Head }):
		return fmt.Errorf("%w: commits", ErrDirty)
	}
	return nil
}

// changed lists the files that differ between two trees.
func (t *Tree) changed(ctx context.Context, from, to string) ([]string, error) {
	g, err := t.own()
	if err != nil {
		return nil, err
	}
	out, err := g.run(ctx, "diff-tree", "-r", "-z", "--name-only", "--no-renames", from, to)
	return list(out), err
}

// Changed lists the files that were changed in the worktree, relative to the repository's top.
func (t *Tree) Changed(ctx context.Context) ([]string, error) {
	now, err := t.scan(ctx)
	if err != nil {
		return nil, err
	}
	return t.changed(ctx, t.Start.Tree, now)
}

// Diff returns the changes as a diff for users.
func (t *Tree) Diff(ctx context.Context) (string, error) {
	now, err := t.scan(ctx)
	if err != nil {
		return "", err
	}
	g, err := t.own()
	if err != nil {
		return "", err
	}
	return g.run(ctx, "diff", "--no-ext-diff", "--no-textconv", "--find-renames", "--ignore-submodules=none", t.Start.Tree, now)
}
