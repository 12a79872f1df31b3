package cli

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/session"
)

type costCommand struct {
	sessionFilter
	all    bool
	since  string
	asJSON bool
}

func newCost(h Host) *cobra.Command {
	var o costCommand
	cmd := &cobra.Command{
		Use:               "cost [SESSION...]",
		Short:             "Show the cost of sessions",
		ValidArgsFunction: completeSessions(h, anyNumber),
		Long: `Show the model calls, tokens and cost of a session, by model and by agent. For
several sessions, show the total by model. Calls that a fork shares with its
original are counted once.

CACHED is the part of INPUT that the provider read from its cache, HIT is that
part in percent, and WRITTEN is the number of tokens added to the cache. Unknown
prices are shown as unknown, not as $0.

Without SESSION, use the last session of this directory, or else of the nearest
parent directory.`,
		Example: `  reins cost
  reins cost --all --since 7d
  reins cost 4TKZ K3ZQ --json`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), h, args) },
	}
	o.sessionFilter.flags(cmd)
	cmd.Flags().BoolVar(&o.all, "all", false, "include all sessions")
	cmd.Flags().StringVar(&o.since, "since", "", "only calls within the last `AGE`, such as 7d, 2w or 12h")
	jsonFlag(cmd, &o.asJSON)
	return cmd
}

// filters reports whether flags select the sessions.
func (o costCommand) filters() bool { return o.all || o.here || o.dir != "" || o.tag != "" }

func (o costCommand) run(ctx context.Context, h Host, args []string) error {
	after, err := parseSince(o.since)
	if err != nil {
		return err
	}
	if len(args) > 0 && o.filters() {
		return usagef("SESSION cannot be combined with --all, --here, --dir or --tag")
	}
	sessions, err := openSessions(h)
	if err != nil {
		return err
	}
	c, err := o.sum(ctx, h, sessions, args, after)
	if err != nil {
		return err
	}
	for _, d := range c.Damaged {
		notef(h, "skipping session %s: %s", d.ID, d.Error)
	}
	for _, u := range c.Unread {
		notef(h, "session %s: skipped %s, so the cost may be incomplete", u.Session, show.Plural(u.Records, "unreadable record"))
	}
	if o.asJSON {
		err = printJSON(h.Stdout, c)
	} else {
		err = printCost(ctx, h, sessions, c)
	}
	return cmp.Or(err, failIf(len(c.Unread) > 0))
}

// sum returns the cost of the selected sessions.
func (o costCommand) sum(ctx context.Context, h Host, sessions *session.Manager, args []string, after time.Time) (session.Cost, error) {
	q := session.CostOptions{Sessions: args, Since: after}
	if len(args) == 0 && !o.filters() && o.since == "" {
		m, err := sessionToShow(ctx, h, sessions, nil)
		if err != nil {
			return session.Cost{}, err
		}
		q.Sessions = []string{m.ID}
	}
	var err error
	if q.Filter, err = o.selected(); err != nil {
		return session.Cost{}, err
	}
	c, err := sessions.Cost(ctx, q)
	if len(args) == 0 {
		return c, explainFilter(err)
	}
	return c, explain(err)
}

func printCost(ctx context.Context, h Host, sessions *session.Manager, c session.Cost) error {
	if c.Calls == 0 {
		notef(h, "no model calls in %s", show.Plural(len(c.Sessions), "session"))
		return nil
	}
	spent := event.Spending{Models: c.Models, Agents: c.Agents, Total: event.Spent{Calls: c.Calls, Usage: c.Usage, Unpriced: c.Unpriced}}
	for _, m := range c.Models {
		spent.Total.Dollars += m.Dollars
	}
	if err := printTable(h, show.ModelTable(spent)); err != nil {
		return err
	}
	if len(c.Agents) > 1 {
		m, err := sessions.Store.Meta(ctx, c.Sessions[0])
		if err != nil {
			return err
		}
		fmt.Fprintln(h.Stdout)
		task := func(a event.AgentSpent) string {
			if a.Agent == "" {
				return title(h, m)
			}
			return brief(h, a.Task)
		}
		if err := printTable(h, show.AgentTable(spent, task)); err != nil {
			return err
		}
	}
	if c.Unpriced > 0 {
		notef(h, "no price for %d of %s; add prices with \"reins run --catalogue\"", c.Unpriced, show.Plural(c.Calls, "call"))
	}
	return nil
}
