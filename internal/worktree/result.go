package worktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reins-agent/reins/env"
)

// ConflictError means that a worktree's changes conflict with changes in the repository.
type ConflictError struct{ Files []string }

func (e *ConflictError) Error() string {
	const shown = 10
	files := e.Files
	if len(files) > shown {
		files = append(slices.Clone(files[:shown]), fmt.Sprintf("%d more", len(e.Files)-shown))
	}
	return "both sides changed " + strings.Join(files, ", ")
}

// Apply applies the worktree's changes to the repository's files, in an environment that can write them. Files that
// were changed on both sides are merged. If they conflict, it returns a *ConflictError and changes nothing. It does not
// change the repository's index or branches. permitted, if not nil, reports whether a path may be changed. Apply
// returns the changed files, relative to the repository's top.
func (t *Tree) Apply(ctx context.Context, to env.Environment, permitted func(path string) bool) ([]string, error) {
	now, err := t.state(ctx)
	if err != nil {
		return nil, err
	}
	m, err := t.merge(ctx, now.Tree)
	if err != nil {
		return nil, err
	}
	for _, f := range m.files {
		if path := filepath.Join(t.Top, filepath.FromSlash(f)); permitted != nil && !permitted(path) {
			return nil, fmt.Errorf("the files have changed: %s would now be changed too; try again", path)
		}
	}
	if len(m.files) > 0 {
		if err := t.write(ctx, to, m); err != nil {
			return nil, err
		}
	}
	t.Saved, t.Commit = now, ""
	return m.files, t.save()
}

// merged is the result of a merge.
type merged struct {
	files    []string
	ours     string // the tree with the repository's current files
	result   string // the tree with the merged files
	index    string // index file with the repository's current files
	patch    string // file with the diff from ours to result
	touched  []string
	original git
}

// merge merges the worktree's changes with the current content of the same files in the repository.
func (t *Tree) merge(ctx context.Context, theirs string) (m merged, err error) {
	g, err := t.own()
	if err != nil {
		return m, err
	}
	if m.touched, err = t.changed(ctx, t.Start.Tree, theirs); err != nil || len(m.touched) == 0 {
		return m, err
	}
	for _, f := range m.touched {
		if p := t.prefix(); p != "." && !strings.HasPrefix(f, filepath.ToSlash(p)+"/") {
			return m, fmt.Errorf("%s is outside of the working directory %s; save the changes as a branch instead", f, t.From)
		}
	}
	m.index, m.patch = filepath.Join(t.private(), "merge.index"), filepath.Join(t.private(), "merge.patch")
	m.original = g
	m.original.dir = t.Top
	m.original.tree = t.Top
	m.original.index = m.index
	if _, err := m.original.run(ctx, "read-tree", t.Start.Tree); err != nil {
		return m, err
	}
	update := m.original
	update.stdin = strings.Join(m.touched, "\x00")
	if _, err := update.run(ctx, "update-index", "--add", "--remove", "-z", "--stdin"); err != nil {
		return m, err
	}
	if m.ours, err = m.original.line(ctx, "write-tree"); err != nil {
		return m, err
	}
	if m.result, err = t.mergeTrees(ctx, g, m.ours, theirs); err != nil {
		return m, err
	}
	if m.files, err = t.changed(ctx, m.ours, m.result); err != nil {
		return m, err
	}
	_, err = g.run(
		ctx,
		"diff",
		"--binary",
		"--full-index",
		"--no-renames",
		"--no-ext-diff",
		"--no-textconv",
		"--ignore-submodules=none",
		"--output="+m.patch,
		m.ours,
		m.result,
	)
	return m, err
}

// mergeTrees merges two trees. Their common ancestor is the worktree's initial tree.
func (t *Tree) mergeTrees(ctx context.Context, g git, ours, theirs string) (string, error) {
	commit := func(tree string, parents ...string) (string, error) {
		args := []string{"commit-tree", "-m", "merge", tree}
		for _, p := range parents {
			args = append(args, "-p", p)
		}
		return g.line(ctx, args...)
	}
	base, err := commit(t.Start.Tree)
	if err != nil {
		return "", err
	}
	a, errA := commit(ours, base)
	b, errB := commit(theirs, base)
	if err := cmp.Or(errA, errB); err != nil {
		return "", err
	}
	out, err := g.run(ctx, "merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", a, b)
	parts := list(out)
	switch {
	case exitCode(err) == 1 && len(parts) > 1:
		return "", &ConflictError{slices.Compact(parts[1:])}
	case err != nil:
		return "", err
	case len(parts) == 0:
		return "", errors.New("git merge-tree did not print a tree")
	}
	return parts[0], nil
}

// write applies the patch, which must apply exactly. If a file cannot be written, all files are restored.
func (t *Tree) write(ctx context.Context, to env.Environment, m merged) error {
	for _, f := range m.files {
		path := filepath.Join(t.Top, filepath.FromSlash(f))
		if box, ok := to.(env.Confined); ok && !box.Allows(path) {
			return fmt.Errorf("the sandbox does not allow writing %s; save the changes as a branch instead", path)
		}
	}
	g := git{env: to, dir: t.Top, repo: t.private(), tree: t.Top}
	apply := []string{"apply", "--whitespace=nowarn", m.patch}
	if _, err := g.run(ctx, slices.Insert(slices.Clone(apply), 1, "--check")...); err != nil {
		return fmt.Errorf("the changes cannot be applied: %w", err)
	}
	_, err := g.run(context.WithoutCancel(ctx), apply...)
	if err == nil {
		return nil
	}
	return errors.Join(fmt.Errorf("the changes could not be written: %w", err), t.restore(context.WithoutCancel(ctx), g, m))
}

// restore restores the repository's files.
func (t *Tree) restore(ctx context.Context, g git, m merged) error {
	had, err := g.run(ctx, "ls-tree", "-r", "-z", "--name-only", m.ours)
	if err != nil {
		return err
	}
	before := list(had)
	slices.Sort(before)
	var back []string
	for _, f := range m.files {
		if _, found := slices.BinarySearch(before, f); found {
			back = append(back, f)
		} else if err := os.Remove(filepath.Join(t.Top, filepath.FromSlash(f))); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%s was created but could not be removed: %w", f, err)
		}
	}
	g.index, g.stdin = m.index, strings.Join(back, "\x00")
	if _, err := g.run(ctx, "checkout-index", "--force", "-z", "--stdin"); err != nil {
		return fmt.Errorf("the files could not be restored; use undo: %w", err)
	}
	return nil
}

// SaveBranch saves the worktree's content as its branch in the repository, in an environment that can write it. It
// includes the agent's commits, and commits uncommitted changes with the message. It does not change the repository's
// files, index or other branches. It returns the branch name.
func (t *Tree) SaveBranch(ctx context.Context, to env.Environment, message string) (string, error) {
	now, err := t.state(ctx)
	if err != nil {
		return "", err
	}
	g, err := t.own()
	if err != nil {
		return "", err
	}
	tip, err := t.tip(ctx, g, now, cmp.Or(message, "Work in worktree "+t.Name()))
	if err != nil {
		return "", err
	}
	ref := "refs/heads/" + t.Branch()
	if _, err := g.run(ctx, "update-ref", ref, tip); err != nil {
		return "", err
	}
	into := git{env: to, dir: t.Top}
	_, err = into.run(
		ctx,
		"fetch",
		"--quiet",
		"--no-tags",
		"--no-write-fetch-head",
		"--no-recurse-submodules",
		"--no-auto-maintenance",
		t.private(),
		ref+":"+ref,
	)
	if err != nil {
		return "", fmt.Errorf("branch %s could not be created in %s: %w", t.Branch(), t.Top, err)
	}
	t.Saved, t.Commit = now, tip
	return t.Branch(), t.save()
}

// tip returns a commit with the worktree's files, on top of the agent's commits and the content saved before.
func (t *Tree) tip(ctx context.Context, g git, now State, message string) (string, error) {
	parent := cmp.Or(now.Head, t.Base)
	if t.Commit != "" {
		switch _, err := g.run(ctx, "merge-base", "--is-ancestor", parent, t.Commit); {
		case err == nil:
			parent = t.Commit
		case exitCode(err) != 1:
			return "", err
		}
	}
	tree, err := g.line(ctx, "rev-parse", "--verify", parent+"^{tree}")
	if err != nil || tree == now.Tree {
		return parent, err
	}
	return g.line(ctx, "commit-tree", "-m", message, now.Tree, "-p", parent)
}

// Change is a repository file before and after Apply.
type Change struct {
	Path            string // absolute
	Before, After   []byte // nil if it is not a regular file
	Existed, Exists bool
}

// Plan returns the changes that Apply would make. If content is set, it includes file contents.
func (t *Tree) Plan(ctx context.Context, content bool) (changes []Change, err error) {
	now, err := t.scan(ctx)
	if err != nil {
		return nil, err
	}
	m, err := t.merge(ctx, now)
	if err != nil || len(m.files) == 0 {
		return nil, err
	}
	g, err := t.own()
	if err != nil {
		return nil, err
	}
	out, err := g.run(ctx, "ls-tree", "-r", "-z", m.result)
	if err != nil {
		return nil, err
	}
	after := map[string]string{} // the objects of regular files, by name
	for _, entry := range list(out) {
		about, name, _ := strings.Cut(entry, "\t")
		mode, rest, _ := strings.Cut(about, " ")
		after[name] = ""
		if strings.HasPrefix(mode, "100") {
			after[name] = rest[strings.LastIndexByte(rest, ' ')+1:]
		}
	}
	for _, f := range m.files {
		c := Change{Path: filepath.Join(t.Top, filepath.FromSlash(f))}
		fi, err := os.Lstat(c.Path)
		c.Existed = err == nil
		var object string
		object, c.Exists = after[f]
		if content && c.Existed && fi.Mode().IsRegular() {
			if c.Before, err = os.ReadFile(c.Path); err != nil {
				return nil, err
			}
		}
		if content && object != "" {
			text, err := g.run(ctx, "cat-file", "blob", object)
			if err != nil {
				return nil, err
			}
			c.After = []byte(text)
		}
		changes = append(changes, c)
	}
	return changes, nil
}
