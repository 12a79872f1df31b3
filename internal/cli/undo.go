package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/checkpoint"
	"github.com/reins-agent/reins/internal/show"
)

type undo struct {
	files, chat bool
	to          string
	later       laterFlags
	asJSON      bool
}

func newUndo(h Host) *cobra.Command {
	var o undo
	cmd := &cobra.Command{
		Use:               "undo [flags] [SESSION] [-- PATH...]",
		Short:             "Undo the last prompt of a session",
		ValidArgsFunction: completeSessions(h, 1),
		Long: `Undo the last prompt of a session: its part of the conversation, and all changes
to files by tools and shell commands. Run it again to undo the previous prompt.
"reins redo" reverses it. Ignored files and the .git directory are not touched.

Files that only you or another session changed are kept, whether that was after
the agent finished or while it worked. If a file was changed by both, or while a
command ran that does not name it, Reins shows the difference and asks. Without
a terminal, --yes or --keep is required then.

With paths after --, restore only these files, to their state before the last
prompt that changed files. --to restores files to any saved state: a checkpoint,
or the state before a prompt. "reins diff --list" lists them.

Without SESSION, use the last session of this directory.`,
		Example: `  reins undo
  reins undo --files              # keep the conversation
  reins undo -- parser.go docs    # restore only these paths
  reins undo --to @57 -- parser.go
  reins undo 4TKZ --chat --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			args, paths := splitAtDash(cmd, args)
			return o.run(cmd.Context(), h, args, paths)
		},
	}
	cmd.Flags().BoolVar(&o.files, "files", false, "undo only the file changes")
	cmd.Flags().BoolVar(&o.chat, "chat", false, "undo only the conversation")
	cmd.Flags().StringVar(&o.to, "to", "", "restore files to `STATE`: a checkpoint, or @N for the state before prompt N")
	o.later.add(cmd)
	jsonFlag(cmd, &o.asJSON)
	return cmd
}

func (o undo) run(ctx context.Context, h Host, args, paths []string) error {
	if err := o.check(args, paths); err != nil {
		return err
	}
	return rewind(ctx, h, "reins undo", args, o.later, o.asJSON, func(p *pastSession) (agent.Undone, error) {
		if len(paths) > 0 || o.to != "" {
			return o.restore(ctx, p, paths)
		}
		both := o.files == o.chat
		return p.session.Undo(ctx, agent.Parts{Chat: both || o.chat, Files: both || o.files})
	})
}

// restore restores files and leaves the conversation as it is.
func (o undo) restore(ctx context.Context, p *pastSession, paths []string) (agent.Undone, error) {
	paths, err := resolvePaths(paths)
	if err != nil {
		return agent.Undone{}, err
	}
	var to checkpoint.ID
	if o.to != "" {
		prompts, err := readPrompts(ctx, p.store, p.meta)
		if err != nil {
			return agent.Undone{}, err
		}
		if to, err = prompts.find(o.to); err != nil {
			return agent.Undone{}, err
		}
	}
	switch {
	case promptNumber().MatchString(o.to):
		p.title = "restored the state before @" + strings.TrimPrefix(o.to, "@")
	case o.to != "":
		p.title = "restored checkpoint " + o.to
	}
	done, err := p.session.RestoreFiles(ctx, string(to), paths...)
	return done, explainCheckpoint(err)
}

func (o undo) check(args, paths []string) error {
	switch {
	case o.chat && (o.to != "" || len(paths) > 0):
		return usagef("--chat leaves files unchanged, so it cannot be combined with --to or paths")
	case o.to != "" && !isState(o.to):
		return invalidState(o.to)
	case len(args) == 0:
		return nil
	case len(args) > 1:
		return usagef("\"reins undo\" takes one session; put paths after --: reins undo -- PATH...")
	}
	if _, err := os.Lstat(args[0]); err == nil {
		return usagef("%q is a file; put paths after --: reins undo -- %s", args[0], args[0])
	}
	return nil
}

func newRedo(h Host) *cobra.Command {
	var asJSON bool
	var later laterFlags
	cmd := &cobra.Command{
		Use:               "redo [SESSION]",
		Short:             "Reverse the last undo",
		ValidArgsFunction: completeSessions(h, 1),
		Long: `Reverse the last "reins undo" of a session, unless there has been a prompt
since. Like undo, redo keeps what others changed, and asks about files that you
changed too.

Without SESSION, use the last session of this directory.`,
		Args: wantArgs(0, 1, "at most one SESSION"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return rewind(ctx, h, "reins redo", args, later, asJSON, func(p *pastSession) (agent.Undone, error) { return p.session.Redo(ctx) })
		},
	}
	later.add(cmd)
	jsonFlag(cmd, &asJSON)
	return cmd
}

// rewind undoes or redoes something and shows the result, even if it failed halfway.
func rewind(ctx context.Context, h Host, command string, args []string, later laterFlags, asJSON bool, do func(*pastSession) (agent.Undone, error)) error {
	if err := later.check(); err != nil {
		return err
	}
	store, err := openStore(h)
	if err != nil {
		return err
	}
	m, err := chooseSession(ctx, h, store, args, command)
	if err != nil {
		return err
	}
	p, err := openPast(ctx, h, store, m, later)
	if err != nil {
		return err
	}
	done, err := do(p)
	err = errors.Join(err, p.session.Close())
	if done.Input == 0 {
		return explainUndo(m.ID, err)
	}
	return errors.Join(p.show(h, done, asJSON), err)
}

// explainUndo names the session in an error, and adds advice.
func explainUndo(id string, err error) error {
	switch {
	case errors.Is(err, agent.ErrElsewhere), errors.Is(err, agent.ErrFilesStay):
		return fmt.Errorf("session %s: %w; run \"reins undo %s --chat\" to undo only the conversation", id, err, id)
	case errors.Is(err, agent.ErrNothingToUndo), errors.Is(err, agent.ErrNothingToRedo):
		return fmt.Errorf("session %s: %w", id, err)
	}
	return err
}

// laterFlags decide about files that others changed too, or may have changed.
type laterFlags struct{ yes, keep bool }

func (f *laterFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.yes, "yes", false, "restore files that you have changed too")
	cmd.Flags().BoolVar(&f.keep, "keep", false, "keep files that you have changed too")
}

func (f laterFlags) check() error {
	if f.yes && f.keep {
		return usagef("--yes and --keep cannot be combined")
	}
	return nil
}

// decide lists the files and asks what to do with them.
func (f laterFlags) decide(ctx context.Context, h Host, checkpoints *checkpoint.Store, e *checkpoint.LaterError) (checkpoint.Later, error) {
	switch {
	case f.yes:
		return checkpoint.Overwrite, nil
	case f.keep && e.Unknown:
		return checkpoint.Refuse, usagef("--keep cannot tell your changes from the agent's, because its run was interrupted; use --yes to restore all files")
	case f.keep:
		return checkpoint.Keep, nil
	}
	choice, flags := "Restore them? [y]es, [k]eep them, [n]o: ", "--yes to restore these files or --keep to keep them"
	if e.Unknown {
		choice, flags = "Restore them? [y]es, [n]o: ", "--yes to restore them"
	}
	listLater(h, e)
	a := newAsker(h)
	if a.unattended() {
		notef(h, "nothing was changed; use %s", flags)
		return checkpoint.Refuse, quietError{exitNeedsInput}
	}
	if err := showLater(ctx, h, checkpoints, e.Changes); err != nil {
		return checkpoint.Refuse, err
	}
	answer, err := a.ask(ctx, choice)
	if err != nil && !errors.Is(err, errNoAnswer) {
		return checkpoint.Refuse, err
	}
	switch answer = strings.ToLower(answer); {
	case answer == "y" || answer == "yes":
		return checkpoint.Overwrite, nil
	case (answer == "k" || answer == "keep") && !e.Unknown:
		return checkpoint.Keep, nil
	}
	notef(h, "nothing was changed")
	return checkpoint.Refuse, quietError{exitFailed}
}

// listLater lists files that others changed too, and those that they may have changed.
func listLater(h Host, e *checkpoint.LaterError) {
	unsure := func(c checkpoint.Change) bool { return slices.Contains(e.Unsure, c.Path) }
	list := func(title string, which func(checkpoint.Change) bool) {
		if !slices.ContainsFunc(e.Changes, which) {
			return
		}
		notef(h, "%s", title)
		for _, c := range e.Changes {
			if which(c) {
				mark, _ := changeMark(c.Kind)
				fmt.Fprintf(h.Stderr, "  %s %s\n", mark, show.OneLine(c.Path))
			}
		}
	}
	if e.Unknown {
		list("the run was interrupted, so these files may have your changes too:", func(checkpoint.Change) bool { return true })
		return
	}
	list("changed by others too:", func(c checkpoint.Change) bool { return !unsure(c) })
	list("perhaps changed by others, not by the agent:", unsure)
}

// maxLaterLines is the maximum number of lines of the diffs before a question.
const maxLaterLines = 60

// showLater shows what restoring files would change.
func showLater(ctx context.Context, h Host, checkpoints *checkpoint.Store, changes []checkpoint.Change) error {
	var text strings.Builder
	for _, c := range changes {
		diff, err := checkpoints.Unified(ctx, c)
		if err != nil {
			return err
		}
		text.WriteString(diff)
		if strings.Count(text.String(), "\n") > maxLaterLines {
			break
		}
	}
	notef(h, "restoring them would change:")
	_, err := fmt.Fprintln(h.Stderr, strings.TrimRight(show.Diff(text.String(), "  ", maxLaterLines, h.colours(h.Stderr)), "\n"))
	return err
}
