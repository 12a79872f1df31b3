package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/session"
)

func newSessionsRename(h Host) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "rename ID TITLE",
		Short:             "Set or clear the title of a session",
		Long:              `Set the title of a session, or clear it with "".`,
		ValidArgsFunction: completeSessions(h, 1),
		Args:              wantArgs(2, anyNumber, "an ID and a title"),
		RunE: func(cmd *cobra.Command, args []string) error {
			sessions, err := openSessions(h)
			if err != nil {
				return err
			}
			m, err := sessions.Rename(cmd.Context(), args[0], show.OneLine(strings.Join(args[1:], " ")))
			if err != nil || !asJSON {
				return explainOpen(m.ID, err)
			}
			return printJSON(h.Stdout, m)
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func newSessionsTag(h Host) *cobra.Command {
	var asJSON, remove bool
	cmd := &cobra.Command{
		Use:               "tag ID TAG...",
		Short:             "Add or remove tags of a session",
		ValidArgsFunction: completeSessions(h, 1),
		Args:              wantArgs(2, anyNumber, "an ID and tags"),
		RunE: func(cmd *cobra.Command, args []string) error {
			sessions, err := openSessions(h)
			if err != nil {
				return err
			}
			change := sessions.Tag
			if remove {
				change = sessions.Untag
			}
			m, err := change(cmd.Context(), args[0], args[1:]...)
			switch {
			case err != nil:
				return explainOpen(m.ID, err)
			case asJSON:
				return printJSON(h.Stdout, m)
			}
			_, err = fmt.Fprintln(h.Stdout, tagText(m))
			return err
		},
	}
	cmd.Flags().BoolVar(&remove, "remove", false, "remove the tags")
	jsonFlag(cmd, &asJSON)
	return cmd
}

type sessionsFork struct {
	id, title string
	damaged   bool
	asJSON    bool
}

func newSessionsFork(h Host) *cobra.Command {
	var o sessionsFork
	cmd := &cobra.Command{
		Use:               "fork ID[@SEQ]",
		Short:             "Copy all or part of a session",
		ValidArgsFunction: completeSessions(h, 1),
		Long: `Copy a session, up to record SEQ if given, and print the ID of the copy.
"reins sessions show ID --events" lists the record numbers.`,
		Example: `  reins sessions fork K3ZQ@17 --id second-try
  reins run --resume $(reins sessions fork K3ZQ@17) "Do it without the cache"`,
		Args: wantArgs(1, 1, "one ID or ID@SEQ"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := emptyFlag(cmd, "id"); err != nil {
				return err
			}
			return o.run(cmd.Context(), h, args[0])
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.id, "id", "", "use `ID` for the copy (default: a random ID)")
	f.StringVar(&o.title, "title", "", "title of the copy (default: the same title)")
	f.BoolVar(&o.damaged, "damaged", false, "copy the readable part of a damaged session")
	jsonFlag(cmd, &o.asJSON)
	return cmd
}

func (o sessionsFork) run(ctx context.Context, h Host, ref string) error {
	sessions, err := openSessions(h)
	if err != nil {
		return err
	}
	m, err := sessions.Fork(ctx, session.ForkOptions{From: ref, ID: o.id, Title: show.OneLine(o.title), Damaged: o.damaged})
	var corrupt *event.CorruptError
	switch {
	case errors.As(err, &corrupt):
		return fmt.Errorf("%w; use --damaged to copy what is readable", err)
	case err != nil:
		return explainExists(o.id, "--id", explain(err))
	case o.asJSON:
		return printJSON(h.Stdout, m)
	}
	_, err = fmt.Fprintln(h.Stdout, m.ID)
	return err
}

type sessionsRemove struct {
	olderThan string
	yes       bool
	asJSON    bool
}

// removed reports the removal of a session as JSON.
type removed struct {
	ID      string `json:"id"`
	Removed bool   `json:"removed"`
	Error   string `json:"error,omitempty"`
}

func newSessionsRemove(h Host) *cobra.Command {
	var o sessionsRemove
	cmd := &cobra.Command{
		Use:               "rm [flags] [ID...]",
		Aliases:           []string{"delete", "remove"},
		Short:             "Remove sessions",
		ValidArgsFunction: completeSessions(h, anyNumber),
		Long: `Remove sessions permanently, by ID or by age. Reins lists them and asks first.
Without a terminal, --yes is required.`,
		Example: `  reins sessions rm K3ZQ
  reins sessions rm --older-than 30d`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), h, args) },
	}
	cmd.Flags().StringVar(&o.olderThan, "older-than", "", "remove all sessions not used for `AGE`, such as 30d, 2w or 12h")
	cmd.Flags().BoolVar(&o.yes, "yes", false, "do not ask for confirmation")
	jsonFlag(cmd, &o.asJSON)
	return cmd
}

func (o sessionsRemove) run(ctx context.Context, h Host, names []string) error {
	if (o.olderThan == "") == (len(names) == 0) {
		return usagef("\"reins sessions rm\" takes either IDs or --older-than; see \"reins sessions rm --help\"")
	}
	sessions, err := openSessions(h)
	if err != nil {
		return err
	}
	chosen, err := o.choose(ctx, sessions, names)
	if err != nil {
		return err
	}
	if len(chosen) == 0 {
		notef(h, "no sessions older than %s", o.olderThan)
		return nil
	}
	if err := o.confirm(ctx, h, chosen); err != nil {
		return err
	}
	failed := false
	for _, m := range chosen {
		err := sessions.Delete(ctx, m.ID)
		if errors.Is(err, event.ErrNotFound) {
			err = nil // another process removed it
		}
		failed = failed || err != nil
		if err := o.print(h, m.ID, err); err != nil {
			return err
		}
	}
	return failIf(failed)
}

// choose finds all the sessions before the first is removed.
func (o sessionsRemove) choose(ctx context.Context, sessions *session.Manager, names []string) ([]event.Meta, error) {
	if o.olderThan == "" {
		found, err := sessions.FindAll(ctx, names...)
		return found, explain(err)
	}
	oldest, err := parseSince(o.olderThan)
	if err != nil {
		return nil, err
	}
	list, err := sessions.List(ctx, session.Filter{Before: oldest})
	return list.Sessions, err
}

// confirm lists the sessions and asks whether to remove them.
func (o sessionsRemove) confirm(ctx context.Context, h Host, chosen []event.Meta) error {
	if o.yes {
		return nil
	}
	side := h
	side.Stdout = h.Stderr
	if err := printTable(side, sessionTable(side, chosen)); err != nil {
		return err
	}
	return confirm(ctx, h, "remove "+show.Plural(len(chosen), "session")+" permanently", "nothing was removed")
}

func (o sessionsRemove) print(h Host, id string, err error) error {
	r := removed{ID: id, Removed: err == nil}
	if err != nil {
		r.Error = explainOpen(id, err).Error()
	}
	switch {
	case o.asJSON:
		return printJSON(h.Stdout, r)
	case err != nil:
		notef(h, "%s", r.Error)
		return nil
	}
	_, err = fmt.Fprintf(h.Stdout, "removed %s\n", id)
	return err
}
