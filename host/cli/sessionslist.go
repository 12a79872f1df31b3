package cli

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/host/show"
)

// sessionFilter is the flags that choose sessions.
type sessionFilter struct {
	dir, tag string
	here     bool
}

func (f *sessionFilter) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.dir, "dir", "", "only the sessions of this directory")
	cmd.Flags().BoolVar(&f.here, "here", false, "only the sessions of the current directory")
	cmd.Flags().StringVar(&f.tag, "tag", "", "only the sessions with this tag")
}

// matcher tells which sessions are chosen.
func (f sessionFilter) matcher() (func(event.Meta) bool, error) {
	if f.here && f.dir != "" {
		return nil, usagef("--here and --dir exclude each other")
	}
	q := event.Query{Tag: f.tag}
	if !f.here && f.dir == "" {
		return q.Matches, nil
	}
	want, err := realDir(f.dir)
	if err != nil {
		return nil, usagef("--dir: %w", err)
	}
	return func(m event.Meta) bool { return q.Matches(m) && m.Dir != "" && sameDir(m.Dir, want) }, nil
}

// shownAtOnce is how many sessions a terminal shows that was not asked for more.
const shownAtOnce = 40

type sessionsList struct {
	sessionFilter
	limit  int
	asJSON bool
}

func newSessionsList(h Host) *cobra.Command {
	var o sessionsList
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the sessions, the one that was used last first",
		Example: `  reins sessions list --here
  reins sessions list --json | jq -r 'select(.cost > 1) | .id'`,
		Args: exactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("limit") && isTerminal(h.Stdout) {
				o.limit = shownAtOnce
			}
			return o.run(cmd.Context(), h)
		},
	}
	o.sessionFilter.flags(cmd)
	cmd.Flags().IntVar(&o.limit, "limit", 0, "the most sessions to list; 0 is all of them (default on a terminal: 40)")
	jsonFlag(cmd, &o.asJSON)
	return cmd
}

func (o sessionsList) run(ctx context.Context, h Host) error {
	if o.limit < 0 {
		return usagef("--limit must not be negative")
	}
	matches, err := o.matcher()
	if err != nil {
		return err
	}
	store, err := openStore(h)
	if err != nil {
		return err
	}
	var listed []event.Meta
	more, damaged := 0, false
	for m, err := range store.List(ctx) {
		if err != nil {
			if m.ID == "" {
				return err
			}
			damaged = true
			aside(h, "session %s cannot be listed: %v", m.ID, err)
			continue
		}
		switch {
		case !matches(m):
		case o.limit > 0 && len(listed) == o.limit:
			more++
		default:
			listed = append(listed, m)
		}
	}
	if err := o.print(h, listed, more); err != nil {
		return err
	}
	if damaged {
		return quietError{exitFailed}
	}
	return nil
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
		aside(h, "there are no sessions%s", o.where())
		return nil
	}
	if err := printTable(h, sessionTable(h, listed)); err != nil {
		return err
	}
	if more > 0 {
		aside(h, "%s more; --limit 0 lists all of them", thereAre(more))
	}
	return nil
}

// where says what the list was limited to.
func (o sessionsList) where() string {
	text := ""
	if o.here || o.dir != "" {
		text += " of this directory"
	}
	if o.tag != "" {
		text += " with the tag " + o.tag
	}
	return text
}

func sessionTable(h Host, listed []event.Meta) *show.Table {
	t := &show.Table{Columns: []show.Column{
		{Title: "ID", Colour: cyan}, {Title: "WHEN"}, {Title: "DIRECTORY", Max: 32, Tail: true},
		{Title: "TURNS", Right: true}, {Title: "COST", Right: true}, {Title: "TITLE"},
	}}
	for _, m := range listed {
		t.Add(m.ID, when(h, m.Updated), show.OneLine(shortDir(h, m.Dir)), strconv.Itoa(m.Turns), show.Price(m.Cost), called(h, m))
	}
	return t
}
