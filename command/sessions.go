package command

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/session"
)

// sessions returns the commands that work with other sessions.
func sessions() []Command {
	return []Command{
		{
			Name:    "sessions",
			Summary: "List the last sessions of this directory",
			Needs:   needSessions,
			Run:     func(ctx context.Context, t Target, _ string) (session.Result, error) { return listSessions(ctx, t) },
		},
		{
			Name:      "resume",
			Arguments: "[ID]",
			Summary:   "Open another session, or choose one",
			Needs:     needSessions,
			Complete:  completeSessions,
			Run:       runResume,
		},
		{
			Name:      "fork",
			Arguments: "[@RECORD] [TITLE]",
			Summary:   "Continue in a copy of the session, up to a record if one is given",
			Saved:     true,
			Needs:     needSessions,
			Run:       runFork,
		},
		{
			Name:    "new",
			Aliases: []string{"clear"},
			Summary: "Open a new session",
			Run:     does(session.ActionNew),
		},
		{
			Name:    "exit",
			Aliases: []string{"quit"},
			Summary: "Close the session",
			Run:     does(session.ActionClose),
		},
	}
}

// does returns a command that leaves an action to the caller.
func does(a session.Action) func(context.Context, Target, string) (session.Result, error) {
	return func(context.Context, Target, string) (session.Result, error) { return session.Result{Action: a}, nil }
}

// listed is the maximum number of sessions in a list.
const listed = 20

// here lists the last sessions of the session's directory.
func here(ctx context.Context, t Target) ([]event.Meta, error) {
	i, err := t.Info(ctx)
	if err != nil {
		return nil, err
	}
	list, err := t.Sessions.List(ctx, session.Filter{Dir: i.Dir, Limit: listed})
	return list.Sessions, err
}

func completeSessions(ctx context.Context, t Target, args []string) (ids []string, err error) {
	if t.Sessions == nil || len(args) > 0 {
		return nil, nil
	}
	list, err := here(ctx, t)
	for _, s := range list {
		ids = append(ids, s.ID)
	}
	return ids, err
}

func listSessions(ctx context.Context, t Target) (session.Result, error) {
	list, err := here(ctx, t)
	if err != nil {
		return session.Result{}, err
	}
	table := session.Table{Columns: []string{"ID", "USED", "TITLE"}}
	for _, s := range list {
		table.Rows = append(table.Rows, []string{s.ID, s.Updated.Format(time.RFC3339), show.Summary(cmp.Or(s.Title, s.Prompt))})
	}
	if len(table.Rows) == 0 {
		return session.Result{Text: "No session of this directory was saved."}, nil
	}
	return session.Result{Tables: []session.Table{table}, Action: session.ActionSessions}, nil
}

func runResume(ctx context.Context, t Target, args string) (session.Result, error) {
	if args == "" {
		return listSessions(ctx, t)
	}
	s, err := t.Sessions.Find(ctx, args)
	switch {
	case err != nil:
		return session.Result{}, err
	case s.ID == t.ID():
		return session.Result{}, fmt.Errorf("session %s is the current one", s.ID)
	}
	return session.Result{Action: session.ActionOpen, Session: s.ID}, nil
}

func runFork(ctx context.Context, t Target, args string) (session.Result, error) {
	o := session.ForkOptions{From: t.ID(), Title: args}
	if at, title, _ := strings.Cut(args, " "); strings.HasPrefix(at, "@") {
		o.From, o.Title = o.From+at, title
	}
	s, err := t.Sessions.Fork(ctx, o)
	if err != nil {
		return session.Result{}, err
	}
	return session.Result{Text: "Copied to session " + s.ID + ".", Action: session.ActionOpen, Session: s.ID}, nil
}
