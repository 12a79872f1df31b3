package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/llm"
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
	store, err := openStore(h)
	if err != nil {
		return err
	}
	chosen, err := o.choose(ctx, h, store, args, after)
	if err != nil {
		return err
	}
	b := bill{seen: make(map[callKey]bool), after: after}
	damaged := false
	for _, m := range chosen {
		lost, err := b.add(ctx, store, m)
		if err != nil {
			return err
		}
		if lost > 0 {
			damaged = true
			notef(h, "session %s: skipped %s, so the cost may be incomplete", m.ID, show.Plural(lost, "unreadable record"))
		}
	}
	return cmp.Or(b.print(h, o.asJSON), failIf(damaged))
}

// choose finds the selected sessions.
func (o costCommand) choose(ctx context.Context, h Host, store event.Store, args []string, after time.Time) ([]event.Meta, error) {
	if len(args) > 0 {
		return findSessions(ctx, store, args)
	}
	if !o.filters() && o.since == "" {
		m, err := sessionToShow(ctx, h, store, nil)
		return []event.Meta{m}, err
	}
	matches, err := o.matcher()
	if err != nil {
		return nil, err
	}
	var chosen []event.Meta
	for m, err := range store.List(ctx) {
		switch {
		case err != nil && m.ID == "":
			return nil, err
		case err != nil:
			notef(h, "skipping session %s: %v", m.ID, err)
		case matches(m) && !m.Updated.Before(after):
			chosen = append(chosen, m)
		}
	}
	return chosen, nil
}

// callKey identifies a model call. It is the same in a fork of the session.
type callKey struct {
	seq   event.Seq
	agent string
	time  int64
}

// bill sums up the cost of sessions.
type bill struct {
	sessions []string
	last     event.Meta // of the last session
	spent    event.Spending
	after    time.Time
	seen     map[callKey]bool
}

// add adds a session to the bill. It returns how many records cannot be read.
func (b *bill) add(ctx context.Context, store event.Store, m event.Meta) (lost int, err error) {
	b.sessions, b.last = append(b.sessions, m.ID), m
	for r, err := range store.Load(ctx, m.ID, 0) {
		var corrupt *event.CorruptError
		switch {
		case errors.As(err, &corrupt):
			lost++
			continue
		case err != nil:
			return lost, err
		}
		if _, ok := r.Data.(event.ModelCallEnd); ok {
			key := callKey{r.Seq, r.Agent, r.Time.UnixNano()}
			if b.seen[key] || r.Time.Before(b.after) {
				continue
			}
			b.seen[key] = true
		}
		b.spent.Add(r)
	}
	return lost, nil
}

// billJSON is a bill as JSON. It lists agents for a single session only.
type billJSON struct {
	Sessions []string           `json:"sessions"`
	Models   []event.ModelSpent `json:"models"`
	Agents   []event.AgentSpent `json:"agents,omitempty"`
	Calls    int                `json:"calls"`
	Usage    llm.Usage          `json:"usage"`
	Cost     *float64           `json:"cost"`
	CacheHit float64            `json:"cache_hit"` // the cached share of the input
}

func (b *bill) print(h Host, asJSON bool) error {
	slices.SortStableFunc(b.spent.Models, func(a, b event.ModelSpent) int { return cmp.Compare(b.Dollars, a.Dollars) })
	if asJSON {
		return printJSON(h.Stdout, b.json())
	}
	total := b.spent.Total
	if total.Calls == 0 {
		notef(h, "no model calls in %s", show.Plural(len(b.sessions), "session"))
		return nil
	}
	if err := printTable(h, show.ModelTable(b.spent)); err != nil {
		return err
	}
	if len(b.sessions) == 1 && len(b.spent.Agents) > 1 {
		fmt.Fprintln(h.Stdout)
		task := func(a event.AgentSpent) string {
			if a.Agent == "" {
				return title(h, b.last)
			}
			return brief(h, a.Task)
		}
		if err := printTable(h, show.AgentTable(b.spent, task)); err != nil {
			return err
		}
	}
	if total.Unpriced > 0 {
		notef(h, "no price for %d of %s; add prices with \"reins run --catalogue\"", total.Unpriced, show.Plural(total.Calls, "call"))
	}
	return nil
}

func (b *bill) json() billJSON {
	total := b.spent.Total
	j := billJSON{
		Sessions: orEmpty(b.sessions), Models: orEmpty(b.spent.Models),
		Calls: total.Calls, Usage: total.Usage, Cost: total.Cost().Pointer(),
	}
	if len(b.sessions) == 1 {
		j.Agents = b.spent.Agents
	}
	if total.Usage.Input > 0 {
		j.CacheHit = float64(total.Usage.CacheRead) / float64(total.Usage.Input)
	}
	return j
}
