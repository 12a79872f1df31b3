package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/session"
)

type diffCommand struct {
	stat, list, all bool
	asJSON          bool
}

func newDiff(h Host) *cobra.Command {
	var o diffCommand
	cmd := &cobra.Command{
		Use:               "diff [flags] [SESSION] [FROM [TO]] [-- PATH...]",
		Short:             "Show file changes made in a session",
		ValidArgsFunction: completeSessions(h, 1),
		Long: `Show what the agent changed since the last prompt of a session that changed
files, by tools and by shell commands, as a unified diff. That is what "reins
undo" would restore. Files that only others changed are left out, unless --all
is given. A file that both changed is shown with all its changes.

FROM and TO are checkpoints, or prompts (@N) for the state before them, to show
all differences between two states. Without TO, compare with the current files.
"reins diff --list" lists both.

Without SESSION, use the last session of this directory, or else of the nearest
parent directory. The session may be running.`,
		Example: `  reins diff --stat
  reins diff @57 @120 -- parser.go
  reins diff 4TKZ --list`,
		RunE: func(cmd *cobra.Command, args []string) error {
			args, paths := splitAtDash(cmd, args)
			return o.run(cmd.Context(), h, args, paths)
		},
	}
	cmd.Flags().BoolVar(&o.stat, "stat", false, "show only file names and line counts")
	cmd.Flags().BoolVar(&o.list, "list", false, "list the prompts of the session and their checkpoints")
	cmd.Flags().BoolVar(&o.all, "all", false, "show changes by others too")
	jsonFlag(cmd, &o.asJSON)
	return cmd
}

func (o diffCommand) run(ctx context.Context, h Host, args, paths []string) error {
	name, states, err := splitStates(args)
	if err != nil {
		return err
	}
	if o.list && (o.stat || states[0] != "" || len(paths) > 0) {
		return usagef("--list cannot be combined with --stat, FROM, TO or paths")
	}
	sessions, err := openSessions(h)
	if err != nil {
		return err
	}
	m, err := sessionToShow(ctx, h, sessions, name)
	if err != nil {
		return err
	}
	if o.list {
		return o.printStates(ctx, h, sessions, m.ID)
	}
	from, to := states[0], states[1]
	q := session.DiffOptions{
		Session: m.ID,
		From:    from,
		To:      to,
		Paths:   paths,
		All:     o.all,
		Stat:    o.stat,
	}
	err = o.show(h, sessions.Diff(ctx, q))
	if errors.Is(err, session.ErrUnchanged) {
		notef(h, "session %s changed no files", m.ID)
		return nil
	}
	return explain(err)
}

// show prints the changes one by one, because there may be many large ones.
func (o diffCommand) show(h Host, diffs iter.Seq2[session.FileDiff, error]) error {
	out := bufio.NewWriter(h.Stdout)
	var all []session.FileDiff
	var others []string
	for d, err := range diffs {
		switch {
		case err != nil:
			return err
		case d.Others && !o.all:
			others = append(others, d.Path)
		case o.asJSON:
			err = printJSON(out, d)
		case o.stat:
			all = append(all, d)
		case isTerminal(h.Stdout):
			_, err = out.WriteString(show.Diff(d.Diff, "", -1, h.colours(h.Stdout)))
		default: // a patch must be exact
			_, err = out.WriteString(d.Diff)
		}
		if err != nil {
			return err
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if len(others) > 0 {
		notef(h, "not shown, because only others changed them: %s; --all shows them", show.OneLine(show.Names(others)))
	}
	if len(all) == 0 {
		return nil
	}
	return printStat(h, all)
}

// printStat prints one line per file, and the total.
func printStat(h Host, all []session.FileDiff) error {
	t := &show.Table{Columns: []show.Column{
		{Title: ""}, {Title: "ADDED", Right: true, Colour: show.Green}, {Title: "REMOVED", Right: true, Colour: show.Red}, {Title: "FILE"},
	}}
	added, removed := 0, 0
	for _, d := range all {
		mark, _ := changeMark(d.Kind)
		plus, minus := strconv.Itoa(d.Added), strconv.Itoa(d.Removed)
		if d.Binary {
			plus, minus = "binary", ""
		}
		t.Add(mark, plus, minus, show.OneLine(d.Path))
		added, removed = added+d.Added, removed+d.Removed
	}
	if err := printTable(h, t); err != nil {
		return err
	}
	_, err := fmt.Fprintf(h.Stdout, "%s, %s added, %d removed\n", show.Plural(len(all), "file"), show.Plural(added, "line"), removed)
	return err
}

func invalidState(s string) error {
	return usagef("invalid state %q: use a checkpoint or a prompt number from \"reins diff --list\"; put paths after --", s)
}

// splitStates separates a session in front from up to two states after it.
func splitStates(args []string) (name []string, states [2]string, err error) {
	n := 0
	for i, a := range args {
		switch {
		case session.ValidState(a):
			if n < len(states) {
				states[n] = a
			}
			n++
		case i == 0:
			name = args[:1]
		default:
			return nil, states, invalidState(a)
		}
	}
	if n > len(states) {
		return nil, states, usagef("\"reins diff\" compares two states, not %d; put paths after --", n)
	}
	return name, states, nil
}

// printStates lists the prompts of a session and its undos and redos.
func (o diffCommand) printStates(ctx context.Context, h Host, sessions *session.Manager, id string) error {
	list, err := sessions.States(ctx, id)
	if err != nil {
		return err
	}
	if o.asJSON {
		for _, s := range list {
			if err := printJSON(h.Stdout, s); err != nil {
				return err
			}
		}
		return nil
	}
	t := &show.Table{Columns: []show.Column{
		{Title: "PROMPT", Colour: show.Cyan}, {Title: "WHEN"}, {Title: "CHECKPOINT"}, {Title: "UNDONE"}, {Title: "TEXT"},
	}}
	for _, s := range list {
		number, text := fmt.Sprintf("@%d", s.Input), brief(h, s.Prompt)
		if s.Before != "" {
			number, text = "", fmt.Sprintf("(before the %s of @%d)", s.Before, s.Input)
		}
		t.Add(number, shortTime(h, s.Time), s.Checkpoint, undoneText(s), text)
	}
	return printList(h, t, fmt.Sprintf("session %s has no prompts", id))
}

// undoneText names the undone parts of a prompt.
func undoneText(s session.State) string {
	switch {
	case s.ChatUndone && (s.FilesUndone || s.Checkpoint == ""):
		return "all"
	case s.ChatUndone:
		return "chat"
	case s.FilesUndone:
		return "files"
	}
	return ""
}
