package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/internal/worktree"
)

// leftTree is what a run left of its worktree.
type leftTree struct {
	Name   string `json:"name"`
	Branch string `json:"branch,omitempty"` // "" if nothing was changed
	Files  int    `json:"files"`            // that were changed
}

func (l *leftTree) String() string {
	switch {
	case l == nil:
		return ""
	case l.Branch == "":
		return "nothing was changed in the worktree, so there is no branch"
	}
	return fmt.Sprintf("branch %s has %s · use: git merge %s", l.Branch, show.Plural(l.Files, "changed file"), l.Branch)
}

// newTreeName returns a name for a worktree.
func newTreeName() string { return strings.ToLower(rand.Text()[:8]) }

// saveTree saves what a run did in its worktree as a branch. A worktree that was created, but not changed, is removed.
func (r *runner) saveTree(ctx context.Context) error {
	t, err := r.host.openTree(ctx, r.flags.tree)
	var usage usageError
	if errors.As(err, &usage) { // the run failed before it was created
		return nil
	}
	if err != nil {
		return err
	}
	left, err := saveBranch(ctx, t, show.FirstLine(r.given))
	r.mu.Lock()
	r.left = left
	r.mu.Unlock()
	return err
}

// saveBranch saves a worktree as a branch, or removes it if it has no changes, and closes it.
func saveBranch(ctx context.Context, t *worktree.Tree, message string) (*leftTree, error) {
	left := &leftTree{Name: t.Name()}
	switch err := t.Clean(ctx); {
	case err == nil:
		return left, t.Remove(ctx)
	case !errors.Is(err, worktree.ErrDirty):
		return nil, errors.Join(err, t.Close())
	}
	changed, err := t.Changed(ctx)
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	to, err := local.New(local.Config{Dir: t.From})
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	defer to.Close()
	left.Files = len(changed)
	left.Branch, err = t.SaveBranch(ctx, to, message)
	if err = errors.Join(err, t.Close()); err != nil {
		return nil, fmt.Errorf("the changes are in worktree %s; see \"reins worktrees\": %w", t.Name(), err)
	}
	return left, nil
}
