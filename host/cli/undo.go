package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/checkpoint"
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
		Use:               "undo [SESSION] [-- PATH…]",
		Short:             "Take back what the last prompt did",
		ValidArgsFunction: completeSessions(h, 1),
		Long: `Take the last prompt of a session back: what was said since, and what was done to the files
by tools and by shell commands. Each call goes one prompt further back, and "reins redo" undoes
it. Files that are ignored stay as they are, and so does all that belongs to git.

What you changed yourself after the prompt had been worked on is listed, and undo asks whether to
take that back too. Without a terminal it needs --yes or --keep.

Without SESSION it is the last session of this directory. With paths behind --, only these are
set back to what they were before the last prompt that changed something, and nothing else.

--to sets the files, or only the paths, to any state that was kept: a checkpoint, or the state
before a prompt, by the number of its record. "reins diff --list" shows them.`,
		Example: `  reins undo
  reins undo --files              # the conversation goes on as if it had happened
  reins undo -- parser.go docs    # only these
  reins undo --to @57 -- parser.go
  reins undo 4TKZ --chat --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			args, paths := cutAtDash(cmd, args)
			return o.run(cmd.Context(), h, args, paths)
		},
	}
	cmd.Flags().BoolVar(&o.files, "files", false, "only the files; the conversation stays")
	cmd.Flags().BoolVar(&o.chat, "chat", false, "only the conversation; the files stay")
	cmd.Flags().StringVar(&o.to, "to", "", "set the files to this state: a checkpoint, or @N for the one before prompt N")
	o.later.add(cmd)
	jsonFlag(cmd, &o.asJSON)
	return cmd
}

// cutAtDash divides arguments at the --.
func cutAtDash(cmd *cobra.Command, args []string) (before, after []string) {
	if n := cmd.ArgsLenAtDash(); n >= 0 {
		return args[:n], args[n:]
	}
	return args, nil
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

// restore sets files back, and leaves the conversation.
func (o undo) restore(ctx context.Context, p *pastSession, paths []string) (agent.Undone, error) {
	paths, err := resolvePaths(paths)
	if err != nil {
		return agent.Undone{}, err
	}
	var to checkpoint.ID
	if o.to != "" {
		states, err := readPrompts(ctx, p.store, p.meta)
		if err != nil {
			return agent.Undone{}, err
		}
		if to, err = states.find(o.to); err != nil {
			return agent.Undone{}, err
		}
	}
	switch {
	case inputNumber.MatchString(o.to):
		p.title = "as before @" + strings.TrimPrefix(o.to, "@")
	case o.to != "":
		p.title = "as in " + o.to
	}
	done, err := p.session.RestoreFiles(ctx, string(to), paths...)
	return done, explainCheckpoint(err)
}

func (o undo) check(args, paths []string) error {
	switch {
	case o.chat && o.to != "":
		return usagef("--chat takes the conversation back and leaves all files; --to sets files back: give one or the other")
	case o.to != "" && !isPoint(o.to):
		return usagef("%q is neither a checkpoint nor the number of a prompt; \"reins diff --list\" shows them", o.to)
	case o.chat && len(paths) > 0:
		return usagef("--chat takes the conversation back and leaves all files; paths set files back: give one or the other")
	case len(args) == 0:
		return nil
	case len(args) > 1:
		return usagef("\"reins undo\" takes one session; paths stand behind --: reins undo -- PATH…")
	}
	if _, err := os.Lstat(args[0]); err == nil {
		return usagef("%q is a file; paths stand behind --: reins undo -- %s", args[0], args[0])
	}
	return nil
}

func newRedo(h Host) *cobra.Command {
	var asJSON bool
	var later laterFlags
	cmd := &cobra.Command{
		Use:               "redo [SESSION]",
		Short:             "Take the last undo back",
		ValidArgsFunction: completeSessions(h, 1),
		Long: `Take the last "reins undo" of a session back, as long as there was no prompt since. Without
SESSION it is the last session of this directory. Like undo, it asks about files that you changed
yourself since.`,
		Args: mostArgs(1, "one SESSION at most"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return rewind(ctx, h, "reins redo", args, later, asJSON, func(p *pastSession) (agent.Undone, error) { return p.session.Redo(ctx) })
		},
	}
	later.add(cmd)
	jsonFlag(cmd, &asJSON)
	return cmd
}

// rewind does something to the past of a session, and shows what. What was done before an error is
// shown as well.
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
	err = errors.Join(err, p.close())
	if done.Input == 0 {
		return about(m.ID, err)
	}
	return errors.Join(p.show(h, done, asJSON), err)
}

// about says of which session there is nothing to undo.
func about(id string, err error) error {
	if errors.Is(err, agent.ErrElsewhere) {
		return fmt.Errorf("session %s: %w; \"reins undo %s --chat\" takes only the conversation back", id, err, id)
	}
	if errors.Is(err, agent.ErrFilesStay) {
		return fmt.Errorf("session %s: %w; \"reins undo %s --chat\" takes only the conversation back", id, err, id)
	}
	if errors.Is(err, agent.ErrNothingToUndo) || errors.Is(err, agent.ErrNothingToRedo) {
		return fmt.Errorf("session %s: %w", id, err)
	}
	return err
}
