package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/reins-agent/reins/internal/gitdir"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/internal/watch"
)

// halfway are the files in a git directory while git writes the versions of others into the work tree.
var halfway = []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "sequencer"}

// lockTimeout is how long git may take to write a checkout.
const lockTimeout = 10 * time.Second

// brought returns why a comment in a file may have come with git instead of an editor, or "". What git
// writes is in the last commit or in the index when git is done, and an editor's change is in neither. So the order matters:
// the file was read before, git's lock is awaited, and then commit and index are read. If anything is unclear, that is the
// reason.
func (w *watcher) brought(ctx context.Context, path, text string) (why string) {
	abs := filepath.Join(w.tree.Dir, filepath.FromSlash(path))
	if top, _, err := gitdir.Find(gitdir.Host, filepath.Dir(abs)); top == "" && err == nil {
		return ""
	}
	r, err := openRepo(ctx, filepath.Dir(abs)) // it may be a nested repository
	if err == nil {
		err = r.awaitLock(ctx, func() { w.tell("waiting for another git command to end") })
	}
	if err != nil {
		return "git cannot tell where it comes from (" + show.OneLine(err.Error()) + ")"
	}
	for _, name := range halfway {
		if _, err := os.Lstat(filepath.Join(r.git, name)); err == nil {
			return "git has not finished a merge, rebase or the like"
		}
	}
	rel, err := filepath.Rel(r.top, abs)
	if err == nil {
		why, err = r.has(ctx, filepath.ToSlash(rel), text)
	}
	if err != nil {
		return "git cannot tell where it comes from (" + show.OneLine(err.Error()) + ")"
	}
	return why
}

// awaitLock waits until git writes neither files nor the index. It calls slow if that takes longer than usual.
func (r repo) awaitLock(ctx context.Context, slow func()) error {
	end := time.Now().Add(lockTimeout)
	for n := 1; ; n++ {
		if n == 5 {
			slow()
		}
		if _, err := os.Lstat(filepath.Join(r.git, "index.lock")); err != nil {
			if errors.Is(err, os.ErrNotExist) {
				return nil
			}
			return err
		}
		if time.Now().After(end) {
			return errors.New("another git command is running")
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// has returns where git has a comment of a file already, or "".
func (r repo) has(ctx context.Context, path, text string) (why string, err error) {
	attributes, err := r.list(ctx, "check-attr", "-z", "filter", "ident", "working-tree-encoding", "--", path)
	if err != nil {
		return "", err
	}
	for i := 2; i < len(attributes); i += 3 {
		if v := attributes[i]; v != "unspecified" && v != "unset" {
			return "git changes the content of the file at a checkout", nil
		}
	}
	index, err := r.list(ctx, "ls-files", "-z", "--stage", "--", path)
	if err != nil {
		return "", err
	}
	var commit []string
	if _, none := r.run(ctx, "rev-parse", "--verify", "--quiet", "HEAD"); none == nil {
		if commit, err = r.list(ctx, "ls-tree", "-z", "HEAD", "--", path); err != nil {
			return "", err
		}
	}
	for _, line := range append(commit, index...) {
		info, name, _ := strings.Cut(line, "\t")
		fields := strings.Fields(info) // mode, kind, object or mode, object, stage
		if name != path || len(fields) != 3 || strings.HasPrefix(info, "160000") {
			continue
		}
		object := fields[1]
		if object == "blob" {
			object = fields[2]
		}
		content, err := r.run(ctx, "cat-file", "blob", object)
		if err != nil {
			return "", err
		}
		if slices.ContainsFunc(watch.Comments([]byte(content)), func(c watch.Comment) bool { return c.Text == text }) {
			return "it is in the last commit or staged", nil
		}
	}
	return "", nil
}
