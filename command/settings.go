package command

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/reins-agent/reins/internal/suggest"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/session"
)

// settings returns the commands that change the settings of the session.
func settings() []Command {
	return []Command{
		{
			Name:      "model",
			Arguments: "[[PROVIDER/]MODEL [EFFORT]]",
			Summary:   "Change the model, or list the models",
			Complete:  completeModel,
			Run:       runModel,
		},
		{
			Name:      "effort",
			Arguments: "[LEVEL|default]",
			Summary:   "Change the reasoning effort, or list the levels",
			Complete:  completeEffort,
			Run:       runEffort,
		},
		{
			Name:      "mode",
			Arguments: "[MODE]",
			Summary:   "Change the permission mode, or list the modes",
			Complete:  fixed(modeNames()...),
			Run:       runMode,
		},
		{
			Name:      "plan",
			Arguments: "[PROMPT|off]",
			Summary:   "Switch to plan mode, in which the agent changes nothing, and submit a prompt",
			Complete:  fixed("off"),
			Run:       runPlan,
		},
		{
			Name:      "rename",
			Arguments: "[TITLE]",
			Summary:   "Change the title of the session, or remove it",
			Saved:     true,
			Run:       runRename,
		},
	}
}

// known returns the usable models of a provider, newest last.
func known(t Target, provider string) []llm.Model {
	if t.Models == nil {
		return nil
	}
	return slices.DeleteFunc(t.Models.ModelsOf(provider), func(m llm.Model) bool { return m.Retired || !m.Tools })
}

func completeModel(ctx context.Context, t Target, args []string) ([]string, error) {
	i, err := t.Info(ctx)
	if err != nil || len(args) > 1 {
		return nil, err
	}
	if len(args) == 1 {
		i.Model = args[0]
		return efforts(t, i), nil
	}
	var names []string
	for _, m := range known(t, i.Provider) {
		names = append(names, m.ID)
	}
	return names, nil
}

func runModel(ctx context.Context, t Target, args string) (session.Result, error) {
	i, err := t.Info(ctx)
	if err != nil {
		return session.Result{}, err
	}
	words := strings.Fields(args)
	switch len(words) {
	case 0:
		return listModels(t, i), nil
	case 1, 2:
	default:
		return session.Result{}, fmt.Errorf("/model takes a model and an effort, not %q", args)
	}
	c, err := modelChange(t, i, words[0])
	if err != nil {
		return session.Result{}, err
	}
	if len(words) == 2 {
		c.Effort = &words[1]
	}
	return change(ctx, t, i, c)
}

// modelChange returns the change to a model. A name with a provider is taken as it is.
func modelChange(t Target, i session.Info, name string) (session.Settings, error) {
	if provider, model, ok := strings.Cut(name, "/"); ok && t.Models != nil && hasProvider(t.Models, provider) {
		return session.Settings{Provider: provider, Model: model}, nil
	}
	c := session.Settings{Model: name}
	if t.Models == nil {
		return c, nil
	}
	if m, ok := t.Models.Resolve(i.Provider, name); ok {
		c.Model = m.ID
		return c, nil
	}
	if m, ok := t.Models.Lookup(i.Provider, name); ok {
		if slices.Contains(m.Aliases, name) {
			c.Model = m.ID
		}
		return c, nil
	}
	var names []string
	for _, m := range known(t, i.Provider) {
		names = append(names, m.ID)
	}
	if near := suggest.Words(name, names); len(near) > 0 {
		return c, fmt.Errorf(
			"unknown model %q; did you mean %s? To use it all the same, type %s/%s",
			name, suggest.Or(near), i.Provider, name,
		)
	}
	return c, nil
}

func hasProvider(c *llm.Catalogue, name string) bool {
	return len(c.ModelsOf(name)) > 0
}

// change changes the model or its effort, and describes the change.
func change(ctx context.Context, t Target, i session.Info, c session.Settings) (session.Result, error) {
	if err := t.Reconfigure(ctx, c); err != nil {
		return session.Result{}, err
	}
	i.Provider, i.Model = cmp.Or(c.Provider, i.Provider), cmp.Or(c.Model, i.Model)
	if c.Effort != nil {
		i.Effort = *c.Effort
	}
	return session.Result{Text: "The model of the next call is " + modelText(i) + "."}, nil
}

// modelText names a model and its effort.
func modelText(i session.Info) string {
	text := i.Provider + " " + i.Model
	if i.Effort != "" {
		text += ", effort " + i.Effort
	}
	return text
}

func listModels(t Target, i session.Info) session.Result {
	r := session.Result{Text: "The model is " + modelText(i) + "."}
	table := session.Table{Columns: []string{"MODEL", "NAME", "EFFORTS"}}
	for _, m := range known(t, i.Provider) {
		table.Rows = append(table.Rows, []string{m.ID, m.Name, strings.Join(m.Efforts, ", ")})
	}
	if len(table.Rows) > 0 {
		r.Tables = append(r.Tables, table)
	}
	return r
}

// efforts returns the efforts of a session's model.
func efforts(t Target, i session.Info) []string {
	if t.Models == nil {
		return nil
	}
	m, _ := t.Models.Lookup(i.Provider, i.Model)
	return m.Efforts
}

func completeEffort(ctx context.Context, t Target, args []string) ([]string, error) {
	i, err := t.Info(ctx)
	if err != nil || len(args) > 0 {
		return nil, err
	}
	return append(slices.Clone(efforts(t, i)), "default"), nil
}

func runEffort(ctx context.Context, t Target, args string) (session.Result, error) {
	i, err := t.Info(ctx)
	if err != nil {
		return session.Result{}, err
	}
	if args == "" {
		text := "The model is " + modelText(i) + "."
		if list := efforts(t, i); len(list) > 0 {
			text += " It supports the efforts " + strings.Join(list, ", ") + "."
		}
		return session.Result{Text: text}, nil
	}
	level := args
	if level == "default" {
		level = ""
	}
	if t.Models != nil {
		if err := t.Models.CheckEffort(i.Provider, i.Model, level); err != nil {
			return session.Result{}, err
		}
	}
	return change(ctx, t, i, session.Settings{Effort: &level})
}

// modes describes the permission modes.
var modes = map[policy.Mode]string{
	policy.ModeDefault:     "asks before it changes anything",
	policy.ModeAcceptEdits: "changes files in the working directory without asking",
	policy.ModePlan:        "changes nothing, and presents a plan",
	policy.ModeAuto:        "also runs commands that the sandbox confines without asking",
	policy.ModeDontAsk:     "refuses what it would ask about",
	policy.ModeBypass:      "never asks; deny rules and protected paths still apply",
}

func modeNames() []string {
	var names []string
	for _, m := range policy.Modes {
		names = append(names, string(m))
	}
	return names
}

func runMode(ctx context.Context, t Target, args string) (session.Result, error) {
	if args == "" {
		i, err := t.Info(ctx)
		if err != nil {
			return session.Result{}, err
		}
		table := session.Table{Columns: []string{"MODE", "THE AGENT"}}
		for _, m := range policy.Modes {
			table.Rows = append(table.Rows, []string{string(m), modes[m]})
		}
		return session.Result{Text: "The permission mode is " + string(i.Mode) + ".", Tables: []session.Table{table}}, nil
	}
	m, err := policy.ParseMode(args)
	if err != nil {
		return session.Result{}, err
	}
	return setMode(ctx, t, m)
}

func setMode(ctx context.Context, t Target, m policy.Mode) (session.Result, error) {
	if err := t.Reconfigure(ctx, session.Settings{Mode: m}); err != nil {
		return session.Result{}, err
	}
	return session.Result{Text: fmt.Sprintf("The permission mode is now %s: the agent %s.", m, modes[m])}, nil
}

func runPlan(ctx context.Context, t Target, args string) (session.Result, error) {
	if args == "off" {
		return setMode(ctx, t, policy.ModeDefault)
	}
	r, err := setMode(ctx, t, policy.ModePlan)
	if err == nil && args != "" {
		r.Action, r.Submit = session.ActionSubmit, &session.Input{Text: args, Plain: true}
	}
	return r, err
}

func runRename(ctx context.Context, t Target, args string) (session.Result, error) {
	if err := t.Reconfigure(ctx, session.Settings{Title: &args}); err != nil {
		return session.Result{}, err
	}
	if args == "" {
		return session.Result{Text: "The session has no title now."}, nil
	}
	return session.Result{Text: fmt.Sprintf("The session is now called %q.", oneLine(args))}, nil
}
