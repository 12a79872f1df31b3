package panel

import (
	"context"
	"strings"

	"github.com/reins-agent/reins/internal/tui/keys"
	"github.com/reins-agent/reins/internal/tui/pager"
	"github.com/reins-agent/reins/internal/tui/render"
	"github.com/reins-agent/reins/internal/tui/text"
	"github.com/reins-agent/reins/session"
)

// contexts has a title for each table of keys.
var contexts = map[keys.Context]string{
	keys.Global:     "Everywhere",
	keys.Editor:     "In the draft",
	keys.List:       "In lists and completions",
	keys.Question:   "In questions",
	keys.Transcript: "In the conversation",
	keys.Panel:      "In views",
}

// NewHelp returns the help: the keys as they are bound, and the session's commands.
func NewHelp(o Options) *Pages {
	p := NewPages("Help", o)
	p.set(p.keyTables())
	load(&p.base, o.Handle.Commands, func(list []session.Command) Outcome {
		p.set(append(p.keyTables(), commandTables(list)...))
		return handled
	})
	return p
}

// keyTables returns a section per context.
func (p *Pages) keyTables() []pager.Section {
	var out []pager.Section
	for _, c := range keys.Contexts() {
		t := &table{lead: text.Accent}
		for _, r := range p.o.Keys.Table(c) {
			if len(r.Keys) > 0 {
				t.rows = append(t.rows, []string{strings.Join(r.Keys, ", "), r.Summary})
			}
		}
		out = append(out, section("Keys: "+lower(contexts[c]), t))
	}
	if notes := p.o.Keys.Notes; len(notes) > 0 {
		out = append(out, pager.Section{Title: "Keymap", Blocks: append([]render.Block{{Part: render.Title("Your keymap")}},
			render.Plain(strings.Join(notes, "\n"))...)})
	}
	return out
}

// commandTables returns a section for built-in commands, and another for prompts.
func commandTables(list []session.Command) []pager.Section {
	own, prompts := &table{lead: text.Accent}, &table{lead: text.Accent}
	for _, c := range list {
		t := own
		if c.Source != session.SourceBuiltin {
			t = prompts
		}
		does := c.Summary
		if c.Unavailable != "" {
			does += " (not available: " + c.Unavailable + ")"
		}
		t.rows = append(t.rows, []string{strings.TrimSpace("/" + c.Name + " " + c.Arguments), does})
	}
	var out []pager.Section
	for _, part := range []struct {
		title string
		table *table
	}{{"Commands", own}, {"Skills and prompts", prompts}} {
		if len(part.table.rows) > 0 {
			out = append(out, section(part.title, part.table))
		}
	}
	return out
}

// section returns a section with a title and a part.
func section(title string, part render.Part) pager.Section {
	return pager.Section{Title: title, Blocks: []render.Block{{Part: render.Title(title)}, {Part: part}}}
}

func lower(s string) string { return strings.ToLower(s[:1]) + s[1:] }

// NewResult returns a panel with a command's result.
func NewResult(title string, r session.Result, o Options) *Pages {
	return NewPages(title, o, resultSections(r)...)
}

// NewCommand runs a command, such as "/status", and returns a panel that will show its result.
func NewCommand(title, line string, o Options) *Pages {
	p := NewPages(title, o)
	load(&p.base, func(ctx context.Context) (session.Result, error) { return o.Handle.Run(ctx, line) }, func(r session.Result) Outcome {
		p.set(resultSections(r))
		return handled
	})
	return p
}

// resultSections returns a result's text, tables and diff.
func resultSections(r session.Result) []pager.Section {
	var out []pager.Section
	if r.Text != "" {
		out = append(out, pager.Text("", r.Text))
	}
	for _, t := range r.Tables {
		part := &table{head: t.Columns, rows: t.Rows, lead: text.Accent}
		if t.Title == "" {
			out = append(out, pager.Section{Blocks: []render.Block{{Part: part}}})
			continue
		}
		out = append(out, section(t.Title, part))
	}
	if r.Diff != "" {
		out = append(out, pager.Diff(r.Diff)...)
	}
	return out
}
