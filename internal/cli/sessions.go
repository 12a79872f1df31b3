package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/session"
)

func newSessions(h Host) *cobra.Command {
	return group(&cobra.Command{
		Use:   "sessions",
		Short: "Inspect and manage saved sessions",
		Long: `Inspect and manage saved sessions. They are stored in $REINS_HOME, or else in
the system's directory for application state, such as ~/.local/state/reins.

An ID can be shortened to a unique prefix. "latest" is the most recently used
session; a fork counts once it was continued.`,
	},
		newSessionsList(h), newSessionsLatest(h), newSessionsShow(h), newSessionsSearch(h), newSessionsRename(h), newSessionsTag(h),
		newSessionsFork(h), newSessionsExport(h), newSessionsImport(h), newSessionsRemove(h), newSessionsVerify(h),
	)
}

// sessionFilter holds the flags that select sessions.
type sessionFilter struct {
	dir, tag string
	here     bool
}

func (f *sessionFilter) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.dir, "dir", "", "only sessions of directory `DIR`")
	cmd.Flags().BoolVar(&f.here, "here", false, "only sessions of the current directory")
	cmd.Flags().StringVar(&f.tag, "tag", "", "only sessions with tag `TAG`")
}

// selected returns the filter of the flags.
func (f sessionFilter) selected() (session.Filter, error) {
	if f.here && f.dir != "" {
		return session.Filter{}, usagef("--here and --dir cannot be combined")
	}
	dir := f.dir
	if f.here {
		dir = "."
	}
	return session.Filter{Dir: dir, Tag: f.tag}, nil
}

// explainFilter turns an error about a directory that a flag selects into a usage error.
func explainFilter(err error) error {
	if dir, ok := errors.AsType[*session.DirError](err); ok {
		return usagef("--dir: %w", dir)
	}
	return err
}

// listOnTerminal is how many sessions are listed on a terminal by default.
const listOnTerminal = 40

type sessionsList struct {
	sessionFilter
	limit  int
	asJSON bool
}

func newSessionsList(h Host) *cobra.Command {
	var o sessionsList
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List sessions, most recently used first",
		Example: `  reins sessions list --here
  reins sessions list --json | jq -r 'select(.cost > 1) | .id'`,
		Args: wantArgs(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("limit") && isTerminal(h.Stdout) {
				o.limit = listOnTerminal
			}
			return o.run(cmd.Context(), h)
		},
	}
	o.sessionFilter.flags(cmd)
	cmd.Flags().IntVar(&o.limit, "limit", 0, "maximum number of sessions to list, 0 for all (default 40 on a terminal)")
	jsonFlag(cmd, &o.asJSON)
	return cmd
}

func (o sessionsList) run(ctx context.Context, h Host) error {
	if o.limit < 0 {
		return usagef("--limit must not be negative")
	}
	filter, err := o.selected()
	if err != nil {
		return err
	}
	sessions, err := openSessions(h)
	if err != nil {
		return err
	}
	filter.Limit = o.limit
	list, err := sessions.List(ctx, filter)
	if err != nil {
		return explainFilter(err)
	}
	for _, d := range list.Damaged {
		notef(h, "cannot read session %s: %s", d.ID, d.Error)
	}
	return cmp.Or(o.print(h, list.Sessions, list.More), failIf(len(list.Damaged) > 0))
}

func (o sessionsList) print(h Host, listed []event.Meta, more int) error {
	if o.asJSON {
		for _, m := range listed {
			if err := printJSON(h.Stdout, m); err != nil {
				return err
			}
		}
		return nil
	}
	if len(listed) == 0 {
		notef(h, "no sessions%s", o.scope())
		return nil
	}
	if err := printTable(h, sessionTable(h, listed)); err != nil {
		return err
	}
	if more > 0 {
		notef(h, "%d more; use --limit 0 to list all", more)
	}
	return nil
}

func newSessionsLatest(h Host) *cobra.Command {
	var here, asJSON bool
	cmd := &cobra.Command{
		Use:   "latest",
		Short: "Print the ID of the session used last",
		Long: `Print the ID of the session that was used last. A fork or an imported session
counts once it was continued.`,
		Example: `  reins sessions export $(reins sessions latest --here) session.tar`,
		Args:    wantArgs(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			sessions, err := openSessions(h)
			if err != nil {
				return err
			}
			var m event.Meta
			if here {
				m, err = sessionToShow(cmd.Context(), h, sessions, nil)
			} else {
				m, err = sessions.Find(cmd.Context(), session.Latest)
			}
			switch {
			case err != nil:
				return explain(err)
			case asJSON:
				return printJSON(h.Stdout, m)
			}
			_, err = fmt.Fprintln(h.Stdout, m.ID)
			return err
		},
	}
	cmd.Flags().BoolVar(&here, "here", false, "the last session of this directory, or else of the nearest parent directory")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// scope describes the filter, as the end of a sentence.
func (f sessionFilter) scope() string {
	text := ""
	if f.here || f.dir != "" {
		text += " for this directory"
	}
	if f.tag != "" {
		text += " with tag " + f.tag
	}
	return text
}

func sessionTable(h Host, listed []event.Meta) *show.Table {
	t := &show.Table{Columns: []show.Column{
		{Title: "ID", Colour: show.Cyan}, {Title: "LAST USED"}, {Title: "DIRECTORY", Max: 32, Tail: true},
		{Title: "TURNS", Right: true}, {Title: "COST", Right: true}, {Title: "TITLE"},
	}}
	for _, m := range listed {
		t.Add(m.ID, shortTime(h, m.Updated), show.OneLine(shortDir(h, m.Dir)), strconv.Itoa(m.Turns), show.Price(m.Cost), title(h, m))
	}
	return t
}

// tagText returns the tags of a session for printing.
func tagText(m event.Meta) string { return show.OneLine(strings.Join(m.Tags, ", ")) }

type sessionsSearch struct {
	sessionFilter
	limit, perSession int
	asJSON            bool
}

func newSessionsSearch(h Host) *cobra.Command {
	var o sessionsSearch
	cmd := &cobra.Command{
		Use:   "search TEXT",
		Short: "Search sessions for text",
		Long: `Search titles, prompts, summaries, tags and conversations, including the
arguments and output of tool calls. Case is ignored. The exit code is 1 if
nothing matches.`,
		Example: `  reins sessions search "connection reset"
  reins sessions search --here --per-session 0 TODO`,
		Args: wantArgs(1, anyNumber, "the text to search for"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), h, strings.Join(args, " "))
		},
	}
	o.sessionFilter.flags(cmd)
	cmd.Flags().IntVar(&o.limit, "limit", 100, "maximum number of matches, 0 for all")
	cmd.Flags().IntVar(&o.perSession, "per-session", 3, "maximum number of matches per session, 0 for all")
	jsonFlag(cmd, &o.asJSON)
	return cmd
}

func (o sessionsSearch) run(ctx context.Context, h Host, text string) error {
	switch {
	case o.limit < 0 || o.perSession < 0:
		return usagef("--limit and --per-session must not be negative")
	case strings.TrimSpace(text) == "":
		return usagef("the search text is empty")
	}
	filter, err := o.selected()
	if err != nil {
		return err
	}
	sessions, err := openSessions(h)
	if err != nil {
		return err
	}
	q := session.SearchOptions{Text: text, Filter: filter, Hits: o.limit, PerSession: o.perSession}
	found, unread, last := 0, 0, ""
	for hit, err := range sessions.Search(ctx, q) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if _, wrong := errors.AsType[*session.DirError](err); wrong {
			return explainFilter(err)
		}
		if err != nil {
			unread++
			continue
		}
		found++
		if o.asJSON {
			err = printJSON(h.Stdout, hit)
		} else {
			err = printHit(h, hit, hit.Session.ID != last)
		}
		if err != nil {
			return err
		}
		last = hit.Session.ID
	}
	if unread > 0 {
		notef(h, "skipped %s; run \"reins sessions verify\" for details", show.Plural(unread, "unreadable record"))
	}
	switch {
	case found == 0:
		return fmt.Errorf("no session contains %q", text)
	case found == o.limit && !o.asJSON:
		notef(h, "stopped after %d; use --limit 0 to show all matches", found)
	}
	return nil
}

// printHit prints a match. The first one of a session follows a line about the session.
func printHit(h Host, hit event.Hit, first bool) error {
	colour := h.colours(h.Stdout)
	var b strings.Builder
	if first {
		m := hit.Session
		fmt.Fprintf(&b, "%s  %s  %s\n", paint(colour, show.Cyan, m.ID), paint(colour, show.Grey, shortTime(h, m.Updated)), title(h, m))
	}
	place := hit.Where
	if hit.Seq > 0 {
		place = fmt.Sprintf("@%d %s", hit.Seq, hit.Where)
	}
	s := hit.Snippet
	fmt.Fprintf(&b, "  %s  %s%s%s\n", paint(colour, show.Grey, fmt.Sprintf("%-14s", place)),
		show.Visible(s.Text[:s.Start]), paint(colour, show.Red, show.Visible(s.Text[s.Start:s.End])), show.Visible(s.Text[s.End:]))
	_, err := h.Stdout.Write([]byte(b.String()))
	return err
}
