package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/env/sandbox"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/internal/worktree"
)

func newWorktrees(h Host) *cobra.Command {
	return group(&cobra.Command{
		Use:   "worktrees",
		Short: "Manage the worktrees of agents",
		Long: `Manage the worktrees of sessions and subagents. A worktree is a separate copy of
the files of a git repository.`,
	}, newWorktreesList(h), newWorktreesDiff(h), newWorktreesApply(h), newWorktreesPrune(h))
}

// trees returns the store of worktrees. Git runs in a sandbox where the system has one.
func (h Host) trees() (worktree.Store, error) {
	state, err := stateDir(h)
	if err != nil {
		return worktree.Store{}, err
	}
	var box sandbox.Config
	if ok, _ := sandbox.Available(); ok {
		box = sandbox.Config{Mode: sandbox.WorkspaceWrite, Protected: h.machine().Workspace().Protected}
	}
	return worktree.Store{Dir: state.Worktrees(), Env: func(dir string) (env.Environment, error) {
		return local.New(local.Config{Dir: dir, Sandbox: box})
	}}, nil
}

// treeState is what "reins worktrees list" says about a worktree.
type treeState struct {
	Name    string    `json:"name"`
	ID      string    `json:"id"`
	State   string    `json:"state"` // clean, changed, in use or unknown
	Details string    `json:"details,omitempty"`
	From    string    `json:"from"`
	Session string    `json:"session,omitempty"`
	Created time.Time `json:"created"`
}

func describeTree(f worktree.Finding) treeState {
	s := treeState{
		Name:    f.Name(),
		ID:      f.ID,
		State:   "clean",
		From:    f.From,
		Session: f.Session,
		Created: f.Created,
	}
	switch {
	case errors.Is(f.Why, worktree.ErrLocked):
		s.State = "in use"
	case errors.Is(f.Why, worktree.ErrDirty):
		s.State = "changed"
		_, s.Details, _ = strings.Cut(f.Why.Error(), worktree.ErrDirty.Error()+": ")
	case f.Why != nil:
		s.State, s.Details = "unknown", f.Why.Error()
	}
	return s
}

func newWorktreesList(h Host) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the worktrees",
		Args:  wantArgs(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			store, err := h.trees()
			if err != nil {
				return err
			}
			all, err := store.Check(cmd.Context())
			if err != nil {
				return err
			}
			t := &show.Table{
				Columns: []show.Column{
					{Title: "NAME", Colour: show.Cyan},
					{Title: "STATE"},
					{Title: "CREATED"},
					{Title: "DIRECTORY"},
					{Title: "DETAILS"},
				},
			}
			for _, f := range all {
				s := describeTree(f)
				if asJSON {
					if err := printJSON(h.Stdout, s); err != nil {
						return err
					}
				}
				t.Add(s.Name, s.State, s.Created.Local().Format("2006-01-02 15:04"), shortDir(h, s.From), show.OneLine(s.Details))
			}
			if asJSON {
				return nil
			}
			return printList(h, t, "no worktrees")
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, one object per line")
	return cmd
}

func newWorktreesPrune(h Host) *cobra.Command {
	var dry bool
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Remove worktrees without changes",
		Long: `Remove the worktrees that no session uses and that have no changes. A worktree
with changes or commits is removed only if they were applied or saved as a
branch. Ignored files do not count as changes.`,
		Args: wantArgs(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			store, err := h.trees()
			if err != nil {
				return err
			}
			find := store.Prune
			if dry {
				find = store.Check
			}
			all, err := find(cmd.Context())
			if err == nil && len(all) == 0 {
				notef(h, "no worktrees")
			}
			for _, f := range all {
				if s := describeTree(f); s.State == "clean" {
					fmt.Fprintf(h.Stdout, "removed %s of %s\n", s.Name, show.OneLine(s.From))
				} else {
					notef(h, "kept %s of %s: %s", s.Name, s.From, strings.TrimSuffix(s.State+": "+s.Details, ": "))
				}
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only show what would be removed")
	return cmd
}

// openTree opens a worktree by its name or ID.
func (h Host) openTree(ctx context.Context, name string) (*worktree.Tree, error) {
	store, err := h.trees()
	if err != nil {
		return nil, err
	}
	all, err := store.List()
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, i := range all {
		if i.Name() == name || i.ID == name {
			ids = append(ids, i.ID)
		}
	}
	switch len(ids) {
	case 0:
		return nil, usagef("unknown worktree %q; see \"reins worktrees list\"", name)
	case 1:
		return store.Open(ctx, ids[0])
	}
	return nil, usagef("several worktrees have the name %q: use %s", name, strings.Join(ids, " or "))
}

func newWorktreesDiff(h Host) *cobra.Command {
	return &cobra.Command{
		Use:               "diff NAME",
		Short:             "Show the changes in a worktree",
		Args:              wantArgs(1, 1, "the name of a worktree"),
		ValidArgsFunction: completeTrees(h),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := h.openTree(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			diff, err := t.Diff(cmd.Context())
			if err == nil {
				_, err = fmt.Fprint(h.Stdout, show.Visible(diff))
			}
			return errors.Join(err, t.Close())
		},
	}
}

func newWorktreesApply(h Host) *cobra.Command {
	return &cobra.Command{
		Use:   "apply NAME",
		Short: "Apply the changes of a worktree to the repository",
		Long: `Apply the changes of a worktree to the files of the repository that it was
created from. Files that were changed on both sides are merged. If that is not
possible, nothing is changed. The index and the branches are not touched.`,
		Args:              wantArgs(1, 1, "the name of a worktree"),
		ValidArgsFunction: completeTrees(h),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := h.openTree(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			defer t.Close()
			e, err := local.New(local.Config{Dir: t.From})
			if err != nil {
				return err
			}
			defer e.Close()
			files, err := t.Apply(cmd.Context(), e, nil)
			for _, f := range files {
				fmt.Fprintln(h.Stdout, show.OneLine(f))
			}
			return err
		},
	}
}
