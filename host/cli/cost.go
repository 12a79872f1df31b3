package cli

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/host/show"
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
		Use:               "cost [SESSION…]",
		Short:             "Show what sessions have cost, by model and by agent",
		ValidArgsFunction: completeSessions(h, -1),
		Long: `Show the calls, tokens and cost of a session by model, and by agent if there were subagents.
Without SESSION it is the last one of this directory. Of several, the sum by model is shown;
calls that a session has from the one that it was forked from are counted once.

CACHED is what the provider had in its cache of the tokens that the model read, HIT the
share, and WRITTEN what it put there. Unknown prices are shown as unknown, not as $0.`,
		Example: `  reins cost
  reins cost --all --since 7d
  reins cost 4TKZ K3ZQ --json`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), h, args) },
	}
	o.sessionFilter.flags(cmd)
	cmd.Flags().BoolVar(&o.all, "all", false, "all sessions")
	cmd.Flags().StringVar(&o.since, "since", "", "only the calls of the last so many days or hours: 7d, 2w, 12h")
	jsonFlag(cmd, &o.asJSON)
	return cmd
}

// filters reports whether sessions are chosen by flags.
func (o costCommand) filters() bool { return o.all || o.here || o.dir != "" || o.tag != "" }

func (o costCommand) run(ctx context.Context, h Host, args []string) error {
	after, err := o.after()
	if err != nil {
		return err
	}
	if len(args) > 0 && o.filters() {
		return usagef("name sessions, or choose them with --all, --here, --dir or --tag, but not both")
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
			aside(h, "session %s has %s that cannot be read, whose cost is missing here", m.ID, show.Plural(lost, "record"))
		}
	}
	if err := b.print(h, o.asJSON); err != nil {
		return err
	}
	if damaged {
		return quietError{exitFailed}
	}
	return nil
}

// after is the time from which on calls count.
func (o costCommand) after() (time.Time, error) {
	if o.since == "" {
		return time.Time{}, nil
	}
	age, err := parseAge(o.since)
	if err != nil {
		return time.Time{}, err
	}
	return time.Now().Add(-age), nil
}

// choose finds the sessions that are meant.
func (o costCommand) choose(ctx context.Context, h Host, store event.Store, args []string, after time.Time) ([]event.Meta, error) {
	var chosen []event.Meta
	for _, name := range args {
		m, err := findSession(ctx, store, name)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(chosen, func(c event.Meta) bool { return c.ID == m.ID }) {
			chosen = append(chosen, m)
		}
	}
	if len(args) > 0 {
		return chosen, nil
	}
	if !o.filters() && o.since == "" {
		m, err := sessionToShow(ctx, h, store, nil)
		return []event.Meta{m}, err
	}
	matches, err := o.matcher()
	if err != nil {
		return nil, err
	}
	for m, err := range store.List(ctx) {
		switch {
		case err != nil && m.ID == "":
			return nil, err
		case err != nil:
			aside(h, "session %s is left out: %v", m.ID, err)
		case matches(m) && !m.Updated.Before(after):
			chosen = append(chosen, m)
		}
	}
	return chosen, nil
}

// callKey tells one call from all others, also in a copy of its session.
type callKey struct {
	seq   event.Seq
	agent string
	time  int64
}

// bill is what sessions have cost.
type bill struct {
	sessions []string
	last     event.Meta // of them
	spent    event.Spending
	after    time.Time
	seen     map[callKey]bool
}

// add counts a session in. It counts the records that cannot be read.
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
