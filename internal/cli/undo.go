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
	"github.com/reins-agent/reins/internal/keyboard"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/session"
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
	w := rewind{command: "reins undo", later: o.later, asJSON: o.asJSON}
	w.options = session.UndoOptions{Chat: o.chat, Files: o.files, To: o.to, Paths: paths}
	if len(paths) == 0 && o.to == "" {
		return w.run(ctx, h, args, (*session.Manager).Undo)
	}
	switch {
	case o.to == "":
	case strings.Contains(o.to, "-"):
		w.title = "restored checkpoint " + o.to
	default:
		w.title = "restored the state before @" + strings.TrimPrefix(o.to, "@")
	}
	return w.run(ctx, h, args, (*session.Manager).Restore)
}

func (o undo) check(args, paths []string) error {
	switch {
	case o.chat && (o.to != "" || len(paths) > 0):
		return usagef("--chat leaves files unchanged, so it cannot be combined with --to or paths")
	case o.to != "" && !session.ValidState(o.to):
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
			w := rewind{command: "reins redo", later: later, asJSON: asJSON}
			return w.run(cmd.Context(), h, args, (*session.Manager).Redo)
		},
	}
	later.add(cmd)
	jsonFlag(cmd, &asJSON)
	return cmd
}

// rewind undoes or redoes something.
type rewind struct {
	command string // its name
	title   string // of the output; "" is the prompt
	options session.UndoOptions
	later   laterFlags
	asJSON  bool
}

// undoing is a method of session.Manager.
type undoing func(*session.Manager, context.Context, session.UndoOptions) (session.Undone, error)

// run shows the result, even if the work failed halfway. If there are conflicts, it asks until there is a decision about
// all of them.
func (w rewind) run(ctx context.Context, h Host, args []string, do undoing) error {
	if err := w.later.check(); err != nil {
		return err
	}
	sessions, err := openSessions(h)
	if err != nil {
		return err
	}
	m, err := chooseSession(ctx, h, sessions, args, w.command)
	if err != nil {
		return err
	}
	w.options.Session, w.options.Others = m.ID, w.later.decision()
	done, err := do(sessions, ctx, w.options)
	var conflict *session.ConflictError
	for errors.As(err, &conflict) {
		if err := w.later.decide(ctx, h, conflict, &w.options); err != nil {
			return err
		}
		done, err = do(sessions, ctx, w.options)
	}
	switch {
	case done.Input == 0:
		return explainUndo(m.ID, err)
	case w.asJSON:
		return errors.Join(printJSON(h.Stdout, done), err)
	}
	return errors.Join(printUndone(h, done, w.title), err)
}

// explainUndo names the session in an error, and adds advice.
func explainUndo(id string, err error) error {
	switch {
	case errors.Is(err, agent.ErrElsewhere), errors.Is(err, agent.ErrFilesStay):
		return fmt.Errorf("session %s: %w; run \"reins undo %s --chat\" to undo only the conversation", id, err, id)
	case errors.Is(err, agent.ErrNothingToUndo), errors.Is(err, agent.ErrNothingToRedo):
		return fmt.Errorf("session %s: %w", id, err)
	}
	return explainOpen(id, err)
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

// decision returns the decision of the flags, if there is one.
func (f laterFlags) decision() session.Decision {
	switch {
	case f.yes:
		return session.Overwrite
	case f.keep:
		return session.Keep
	}
	return session.Refuse
}

// decide lists the files, asks what to do with them, and sets the options accordingly.
func (f laterFlags) decide(ctx context.Context, h Host, e *session.ConflictError, o *session.UndoOptions) error {
	if f.keep {
		return usagef("--keep cannot tell your changes from the agent's, because its run was interrupted; use --yes to restore all files")
	}
	choice, flags := "Restore them? [y]es, [k]eep them, [n]o: ", "--yes to restore these files or --keep to keep them"
	if e.Unknown {
		choice, flags = "Restore them? [y]es, [n]o: ", "--yes to restore them"
	}
	listConflicts(h, e)
	a := newAsker(h)
	if a.unattended() {
		notef(h, "nothing was changed; use %s", flags)
		return quietError{exitNeedsInput}
	}
	if err := showConflicts(h, e.Conflicts); err != nil {
		return err
	}
	answer, err := a.ask(ctx, choice)
	if err != nil && !errors.Is(err, keyboard.ErrNoAnswer) {
		return err
	}
	switch answer = strings.ToLower(answer); {
	case answer == "y" || answer == "yes":
		o.Overwrite = nil // files that others change meanwhile need another answer
		for _, c := range e.Conflicts {
			o.Overwrite = append(o.Overwrite, c.Path)
		}
		return nil
	case (answer == "k" || answer == "keep") && !e.Unknown:
		o.Others = session.Keep
		return nil
	}
	notef(h, "nothing was changed")
	return quietError{exitFailed}
}

// listConflicts lists files that others changed too, and those that they may have changed.
func listConflicts(h Host, e *session.ConflictError) {
	list := func(title string, which func(session.Conflict) bool) {
		if !slices.ContainsFunc(e.Conflicts, which) {
			return
		}
		notef(h, "%s", title)
		for _, c := range e.Conflicts {
			if which(c) {
				mark, _ := changeMark(c.Kind)
				fmt.Fprintf(h.Stderr, "  %s %s\n", mark, show.OneLine(c.Path))
			}
		}
	}
	if e.Unknown {
		list("the run was interrupted, so these files may have your changes too:", func(session.Conflict) bool { return true })
		return
	}
	list("changed by others too:", func(c session.Conflict) bool { return !c.Unsure })
	list("perhaps changed by others, not by the agent:", func(c session.Conflict) bool { return c.Unsure })
}

// maxConflictLines is the maximum number of lines of the diffs before a question.
const maxConflictLines = 60

// showConflicts shows what restoring files would change.
func showConflicts(h Host, conflicts []session.Conflict) error {
	var text strings.Builder
	for _, c := range conflicts {
		text.WriteString(c.Diff)
		if strings.Count(text.String(), "\n") > maxConflictLines {
			break
		}
	}
	notef(h, "restoring them would change:")
	_, err := fmt.Fprintln(h.Stderr, strings.TrimRight(show.Diff(text.String(), "  ", maxConflictLines, h.colours(h.Stderr)), "\n"))
	return err
}
