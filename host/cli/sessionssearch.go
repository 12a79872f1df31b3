package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/host/show"
)

type sessionsSearch struct {
	sessionFilter
	limit, perSession int
	asJSON            bool
}

func newSessionsSearch(h Host) *cobra.Command {
	var o sessionsSearch
	cmd := &cobra.Command{
		Use:   "search TEXT",
		Short: "Search what was said in the sessions, by you, the agent and its tools",
		Long: `Search titles, prompts, summaries and tags, and what was said in the sessions: your input,
the agent's text, the arguments of tool calls and their output as the model saw it.
Upper and lower case are the same. Exit code 1 if nothing is found.`,
		Example: `  reins sessions search "connection reset"
  reins sessions search --here --per-session 0 TODO`,
		Args: minArgs(1, "the text to search for"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), h, strings.Join(args, " "))
		},
	}
	o.sessionFilter.flags(cmd)
	cmd.Flags().IntVar(&o.limit, "limit", 100, "the most places to show; 0 is no limit")
	cmd.Flags().IntVar(&o.perSession, "per-session", 3, "the most places to show of one session; 0 is no limit")
	jsonFlag(cmd, &o.asJSON)
	return cmd
}

func (o sessionsSearch) run(ctx context.Context, h Host, text string) error {
	switch {
	case o.limit < 0 || o.perSession < 0:
		return usagef("--limit and --per-session must not be negative")
	case strings.TrimSpace(text) == "":
		return usagef("there is no text to search for")
	}
	only, err := o.matcher()
	if err != nil {
		return err
	}
	store, err := openStore(h)
	if err != nil {
		return err
	}
	q := event.Query{Text: text, Only: only, Limit: o.limit, PerSession: o.perSession}
	found, unread, last := 0, 0, ""
	for hit, err := range event.Search(ctx, store, q) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
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
		aside(h, "%s could not be read; \"reins sessions verify\" tells more", show.Plural(unread, "place"))
	}
	switch {
	case found == 0:
		return fmt.Errorf("%q was not found in any session", text)
	case found == o.limit && !o.asJSON:
		aside(h, "there may be more: these are the first %d", found)
	}
	return nil
}

// printHit prints a place, below its session.
func printHit(h Host, hit event.Hit, first bool) error {
	colour := func(colour, text string) string {
		if !h.colours(h.Stdout) {
			return text
		}
		return show.Paint(colour, text)
	}
	var b strings.Builder
	if first {
		m := hit.Session
		fmt.Fprintf(&b, "%s  %s  %s\n", colour(cyan, m.ID), colour(grey, when(h, m.Updated)), called(h, m))
	}
	place := hit.Where
	if hit.Seq > 0 {
		place = fmt.Sprintf("@%d %s", hit.Seq, hit.Where)
	}
	s := hit.Snippet
	fmt.Fprintf(&b, "  %s  %s%s%s\n", colour(grey, fmt.Sprintf("%-14s", place)),
		show.Visible(s.Text[:s.Start]), colour(red, show.Visible(s.Text[s.Start:s.End])), show.Visible(s.Text[s.End:]))
	_, err := h.Stdout.Write([]byte(b.String()))
	return err
}
