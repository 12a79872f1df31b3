package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/mcp"
	"github.com/reins-agent/reins/session"
	"github.com/reins-agent/reins/view"
)

// about returns the commands that only show something.
func about() []Command {
	return []Command{
		{
			Name:      "help",
			Aliases:   []string{"commands"},
			Arguments: "[COMMAND]",
			Summary:   "List the commands, or explain one",
			Complete:  completeHelp,
			Run:       runHelp,
		},
		{Name: "status", Summary: "Show the session, its model, mode and directory", Run: runStatus},
		{Name: "cost", Aliases: []string{"usage"}, Summary: "Show the tokens and the cost of the session", Run: runCost},
		{Name: "skills", Summary: "List the skills and command files", Run: runSkills},
		{
			Name:    "mcp",
			Summary: "List the MCP servers and their tools",
			Needs: func(t Target) string {
				if t.Servers == nil {
					return "no MCP servers are configured"
				}
				return ""
			},
			Run: func(_ context.Context, t Target, _ string) (session.Result, error) { return servers(t.Servers()), nil },
		},
		{
			Name:      "permissions",
			Aliases:   []string{"rules"},
			Arguments: "[remove EFFECT RULE]",
			Summary:   "Show the permission mode and the rules, or remove a rule",
			Complete:  fixed("remove"),
			Run:       runPermissions,
		},
		{
			Name:      "memory",
			Arguments: "[forget SCOPE TITLE]",
			Summary:   "Show the notes that are kept between sessions, or remove one",
			Complete:  fixed("forget"),
			Needs: func(t Target) string {
				if t.Notes == nil {
					return "memory is off"
				}
				return ""
			},
			Run: runMemory,
		},
	}
}

func completeHelp(ctx context.Context, t Target, args []string) (names []string, err error) {
	if len(args) > 0 {
		return nil, nil
	}
	list, err := t.Commands(ctx)
	for _, c := range list {
		names = append(names, c.Name)
	}
	return names, err
}

// runHelp lists the commands, or explains one.
func runHelp(ctx context.Context, t Target, args string) (session.Result, error) {
	list, err := t.Commands(ctx)
	if err != nil {
		return session.Result{}, err
	}
	name := strings.TrimPrefix(args, "/")
	if name != "" {
		list = slices.DeleteFunc(list, func(c session.Command) bool { return c.Name != name && !slices.Contains(c.Aliases, name) })
		if len(list) == 0 {
			return session.Result{}, &session.UnknownCommandError{Name: name}
		}
	}
	var r session.Result
	for _, group := range []struct {
		title  string
		source []session.CommandSource
	}{
		{"Commands", []session.CommandSource{session.SourceBuiltin}},
		{"Skills and command files", []session.CommandSource{session.SourceSkill, session.SourceFile}},
		{"Prompts of MCP servers", []session.CommandSource{session.SourceMCP}},
	} {
		table := session.Table{Title: group.title, Columns: []string{"COMMAND", "SUMMARY"}}
		for _, c := range list {
			if slices.Contains(group.source, c.Source) {
				table.Rows = append(table.Rows, []string{usage(c), summary(c)})
			}
		}
		if len(table.Rows) > 0 {
			r.Tables = append(r.Tables, table)
		}
	}
	return r, nil
}

// usage returns how a command is typed.
func usage(c session.Command) string {
	return strings.TrimSpace("/" + c.Name + " " + oneLine(c.Arguments))
}

// summary returns what a command does, its other names, and why it cannot be used.
func summary(c session.Command) string {
	text := c.Summary
	if len(c.Aliases) > 0 {
		text += " (also /" + strings.Join(c.Aliases, ", /") + ")"
	}
	if c.Unavailable != "" {
		text += "; not available: " + c.Unavailable
	}
	return text
}

func runStatus(ctx context.Context, t Target, _ string) (session.Result, error) {
	i, err := t.Info(ctx)
	if err != nil {
		return session.Result{}, err
	}
	s, err := t.Snapshot(ctx)
	if err != nil {
		return session.Result{}, err
	}
	saved := "saved"
	if !i.Saved {
		saved = "not saved"
	}
	table := session.Table{Columns: []string{"", ""}}
	for _, row := range [][]string{
		{"session", i.ID + ", " + saved},
		{"title", i.Title},
		{"directory", i.Dir},
		{"model", modelText(i)},
		{"mode", string(i.Mode)},
		{"state", strings.ReplaceAll(strings.ToLower(string(i.State)), "_", " ")},
		{"usage", show.Usage(s.Totals().Spent())},
		{"waiting", waiting(s)},
	} {
		if row[1] != "" {
			table.Rows = append(table.Rows, row)
		}
	}
	return session.Result{Tables: []session.Table{table}}, nil
}

// waiting tells what waits for the user and for the agent.
func waiting(s *view.State) string {
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{{len(s.Approvals()), "approval"}, {len(s.Questions()) + len(s.Inquiries()), "question"}, {len(s.Queue()), "message"}} {
		if p.n > 0 {
			parts = append(parts, show.Plural(p.n, p.what))
		}
	}
	return strings.Join(parts, ", ")
}

func runCost(ctx context.Context, t Target, _ string) (session.Result, error) {
	s, err := t.Snapshot(ctx)
	if err != nil {
		return session.Result{}, err
	}
	table := session.Table{Columns: []string{"AGENT", "CALLS", "INPUT", "OUTPUT", "COST"}}
	row := func(name string, u view.Totals) {
		table.Rows = append(table.Rows, []string{
			name,
			strconv.Itoa(u.Calls),
			show.Tokens(u.Usage.Input),
			show.Tokens(u.Usage.Output),
			u.Cost().String(),
		})
	}
	agents := s.Agents()
	for _, a := range agents {
		row(cmp.Or(a.Label(), "main"), a.Totals)
	}
	if len(agents) > 1 {
		row("total", s.Totals())
	}
	r := session.Result{Text: show.Usage(s.Totals().Spent())}
	if len(table.Rows) > 1 {
		r.Tables = append(r.Tables, table)
	}
	return r, nil
}

func runSkills(ctx context.Context, t Target, _ string) (session.Result, error) {
	list, err := t.Commands(ctx)
	table := session.Table{Columns: []string{"SKILL", "KIND", "SUMMARY"}}
	for _, c := range list {
		if c.Source == session.SourceSkill || c.Source == session.SourceFile {
			table.Rows = append(table.Rows, []string{usage(c), string(c.Source), summary(c)})
		}
	}
	if len(table.Rows) == 0 {
		return session.Result{Text: "No skills."}, err
	}
	return session.Result{Tables: []session.Table{table}}, err
}

// servers lists MCP servers.
func servers(list []mcp.Status) session.Result {
	table := session.Table{Columns: []string{"SERVER", "STATE", "TOOLS", "DETAILS"}}
	for _, s := range list {
		details := strings.Join(s.Tools, ", ")
		if s.Err != nil {
			details = oneLine(s.Err.Error())
		}
		table.Rows = append(table.Rows, []string{s.Name, string(s.State), strconv.Itoa(len(s.Tools)), details})
	}
	if len(table.Rows) == 0 {
		return session.Result{Text: "No MCP servers."}
	}
	return session.Result{Tables: []session.Table{table}}
}

// third splits arguments into a verb, a word and the rest.
func third(args string) (verb, word, rest string) {
	verb, rest, _ = strings.Cut(args, " ")
	word, rest, _ = strings.Cut(strings.TrimSpace(rest), " ")
	return verb, word, strings.TrimSpace(rest)
}

func runPermissions(ctx context.Context, t Target, args string) (session.Result, error) {
	if args != "" {
		return removeRule(ctx, t, args)
	}
	i, err := t.Info(ctx)
	if err != nil {
		return session.Result{}, err
	}
	r := session.Result{Text: fmt.Sprintf("The permission mode is %s: the agent %s.", i.Mode, modes[i.Mode])}
	if t.Rules == nil {
		return r, nil
	}
	list, err := t.Rules(ctx)
	table := session.Table{Columns: []string{"EFFECT", "RULE", "FROM"}}
	for _, rule := range list {
		table.Rows = append(table.Rows, []string{rule.Effect, rule.Rule, rule.Origin})
	}
	if len(table.Rows) > 0 {
		r.Tables = append(r.Tables, table)
	}
	return r, err
}

// removeRule removes a rule from the configuration.
func removeRule(ctx context.Context, t Target, args string) (session.Result, error) {
	verb, effect, text := third(args)
	switch {
	case verb != "remove" || text == "":
		return session.Result{}, errors.New(
			"use /permissions or /permissions remove EFFECT RULE, such as /permissions remove allow Bash(go test:*)")
	case t.Rules == nil || t.RemoveRule == nil:
		return session.Result{}, errors.New("rules cannot be removed here: use reins policy remove")
	}
	list, err := t.Rules(ctx)
	if err != nil {
		return session.Result{}, err
	}
	for _, r := range list {
		if r.Effect == effect && r.Rule == text {
			if err := t.RemoveRule(ctx, r); err != nil {
				return session.Result{}, err
			}
			return session.Result{
				Text: fmt.Sprintf("Removed the rule %s %s from %s. Sessions that are open keep it.", effect, text, r.Origin),
			}, nil
		}
	}
	return session.Result{}, fmt.Errorf("there is no rule %s %s; /permissions lists the rules", effect, text)
}

func runMemory(ctx context.Context, t Target, args string) (session.Result, error) {
	list, err := t.Notes(ctx)
	if args != "" && err == nil {
		return forget(ctx, t, list, args)
	}
	if len(list) == 0 {
		return session.Result{Text: "No notes."}, err
	}
	table := session.Table{Columns: []string{"SCOPE", "TITLE", "NOTE"}}
	for _, n := range list {
		table.Rows = append(table.Rows, []string{n.Scope, n.Title, oneLine(n.Text)})
	}
	return session.Result{Tables: []session.Table{table}}, err
}

// forget removes a note.
func forget(ctx context.Context, t Target, list []Note, args string) (session.Result, error) {
	verb, scope, title := third(args)
	switch {
	case verb != "forget" || title == "":
		return session.Result{}, errors.New("use /memory or /memory forget SCOPE TITLE, such as /memory forget project Build")
	case t.Forget == nil:
		return session.Result{}, errors.New("notes cannot be removed here: use reins memory edit")
	}
	for _, n := range list {
		if n.Scope == scope && n.Title == title {
			if err := t.Forget(ctx, n); err != nil {
				return session.Result{}, err
			}
			return session.Result{Text: fmt.Sprintf("Removed the %s note %q.", scope, title)}, nil
		}
	}
	return session.Result{}, fmt.Errorf("there is no %s note %q; /memory lists the notes", scope, title)
}
