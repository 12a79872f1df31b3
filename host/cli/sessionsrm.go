package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/host/show"
)

type sessionsRemove struct {
	olderThan string
	yes       bool
	asJSON    bool
}

// removed is what became of a session that was to be removed, as JSON.
type removed struct {
	ID      string `json:"id"`
	Removed bool   `json:"removed"`
	Error   string `json:"error,omitempty"`
}

func newSessionsRemove(h Host) *cobra.Command {
	var o sessionsRemove
	cmd := &cobra.Command{
		Use:               "rm ID… | rm --older-than AGE",
		Short:             "Remove sessions for good",
		ValidArgsFunction: completeSessions(h, -1),
		Long: `Remove sessions for good, or all that were not used for some time. It shows them and asks;
without a terminal it needs --yes.`,
		Example: `  reins sessions rm K3ZQ
  reins sessions rm --older-than 30d`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), h, args) },
	}
	cmd.Flags().StringVar(&o.olderThan, "older-than", "", "all sessions that were not used for so long: 30d, 2w, 12h")
	cmd.Flags().BoolVar(&o.yes, "yes", false, "do not ask")
	jsonFlag(cmd, &o.asJSON)
	return cmd
}

func (o sessionsRemove) run(ctx context.Context, h Host, names []string) error {
	if (o.olderThan == "") == (len(names) == 0) {
		return usagef("\"reins sessions rm\" takes IDs, or --older-than; see \"reins sessions rm --help\"")
	}
	store, err := openStore(h)
	if err != nil {
		return err
	}
	chosen, err := o.choose(ctx, store, names)
	if err != nil {
		return err
	}
	if len(chosen) == 0 {
		aside(h, "there are no sessions older than %s", o.olderThan)
		return nil
	}
	if err := o.confirm(ctx, h, chosen); err != nil {
		return err
	}
	failed := false
	for _, m := range chosen {
		err := store.Delete(ctx, m.ID)
		if errors.Is(err, event.ErrNotFound) {
			err = nil // somebody was faster
		}
		failed = failed || err != nil
		if err := o.print(h, m.ID, err); err != nil {
			return err
		}
	}
	if failed {
		return quietError{exitFailed}
	}
	return nil
}

// choose finds all the sessions before the first is removed.
func (o sessionsRemove) choose(ctx context.Context, s event.Store, names []string) (chosen []event.Meta, err error) {
	for _, name := range names {
		m, err := findSession(ctx, s, name)
		if err != nil && m.ID == "" {
			return nil, err
		}
		if !slices.ContainsFunc(chosen, func(c event.Meta) bool { return c.ID == m.ID }) {
			chosen = append(chosen, m)
		}
	}
	if o.olderThan == "" {
		return chosen, nil
	}
	age, err := parseAge(o.olderThan)
	if err != nil {
		return nil, err
	}
	oldest := time.Now().Add(-age)
	for m, err := range s.List(ctx) {
		switch {
		case err != nil && m.ID == "":
			return nil, err
		case err == nil && m.Updated.Before(oldest): // how old a damaged one is, nobody knows
			chosen = append(chosen, m)
		}
	}
	return chosen, nil
}

// confirm shows the sessions and asks whether they are to be removed.
func (o sessionsRemove) confirm(ctx context.Context, h Host, chosen []event.Meta) error {
	if o.yes {
		return nil
	}
	side := h
	side.Stdout = h.Stderr
	if err := printTable(side, sessionTable(side, chosen)); err != nil {
		return err
	}
	a := &asker{host: h, view: &jsonView{questions: h.Stderr}}
	if a.nobody() {
		aside(h, "refusing to remove %s without confirmation; use --yes", show.Plural(len(chosen), "session"))
		return quietError{exitNeedsInput}
	}
	answer, err := a.ask(ctx, fmt.Sprintf("Remove %s for good? y yes, n no: ", show.Plural(len(chosen), "session")))
	if err != nil && !errors.Is(err, errNoAnswer) {
		return err
	}
	switch strings.ToLower(answer) {
	case "y", "yes":
		return nil
	}
	aside(h, "nothing was removed")
	return quietError{exitFailed}
}

func (o sessionsRemove) print(h Host, id string, err error) error {
	r := removed{ID: id, Removed: err == nil}
	if err != nil {
		r.Error = explain(id, err).Error()
	}
	switch {
	case o.asJSON:
		return printJSON(h.Stdout, r)
	case err != nil:
		aside(h, "%s", r.Error)
		return nil
	}
	_, err = fmt.Fprintf(h.Stdout, "removed %s\n", id)
	return err
}
