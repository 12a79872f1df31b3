package panel

import (
	"context"
	"fmt"
	"strings"

	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/internal/tui/dialog"
	"github.com/reins-agent/reins/internal/tui/keys"
	"github.com/reins-agent/reins/internal/tui/screen"
	"github.com/reins-agent/reins/internal/tui/text"
	"github.com/reins-agent/reins/session"
)

// entries lists a command's table. The user can open and remove rows.
type entries struct {
	base
	kind   kind
	list   *dialog.List
	rows   [][]string
	status string
}

// kind describes the rows.
type kind struct {
	line string // the command
	what string // of rows, such as "rule"
	row  func(cells []string) dialog.Row
	// text returns everything about a row, as Markdown-free text.
	text func(cells []string) string
	// remove returns the question whether to remove a row, and the command that removes it. Nil: rows cannot be removed.
	remove func(cells []string) (question, line string)
}

func newEntries(title string, k kind, o Options) Panel {
	p := &entries{base: newBase(title, o), kind: k}
	p.list = dialog.NewList(nil, p.dialog())
	p.run(k.line)
	return p
}

// run runs a command and shows its table. A command without one has done something: its text is the notice.
func (p *entries) run(line string) {
	load(&p.base, func(ctx context.Context) (session.Result, error) {
		return p.o.Handle.Run(context.WithoutCancel(ctx), line)
	}, func(r session.Result) Outcome {
		if line != p.kind.line {
			p.run(p.kind.line)
			p.say(r.Text)
			return handled
		}
		p.status, p.rows = r.Text, nil
		for _, t := range r.Tables {
			p.rows = append(p.rows, t.Rows...)
		}
		rows := make([]dialog.Row, len(p.rows))
		for i, cells := range p.rows {
			rows[i] = p.kind.row(cells)
		}
		p.list.SetRows(rows)
		return handled
	})
}

// Draw implements [Panel].
func (p *entries) Draw(width, height int) screen.Frame {
	hints := []hint{{keys.ListAccept, "open"}, {keys.ListCancel, "close"}}
	if p.kind.remove != nil {
		hints = append(hints, hint{keys.PanelRemove, "remove"})
	}
	return p.frame(width, height, show.Plural(len(p.rows), p.kind.what), hints, func(width, rows int) ([]text.Line, int, int) {
		var above []text.Line
		if p.status != "" && rows > 4 {
			above = p.o.Rule.Wrap(text.Line{{Text: text.Clean(show.OneLine(p.status)), Style: text.Style{Role: text.Dim}}}, width)
			above = append(above[:min(len(above), rows/2)], nil)
		}
		lines, x, y := p.list.View(width, rows-len(above))
		return append(above, lines...), x, y + len(above)
	})
}

// Key implements [Panel].
func (p *entries) Key(k keys.Key) Outcome {
	if out, asked := p.question(k); asked {
		return out
	}
	at := p.list.Selected()
	if a, _ := p.o.Keys.Find(k, keys.Panel); a == keys.PanelRemove && at >= 0 && p.kind.remove != nil {
		question, line := p.kind.remove(p.rows[at])
		p.ask(question, "Remove it", "Keep it", []string{p.kind.text(p.rows[at])}, func() { p.run(line) })
		return handled
	}
	c := p.list.Handle(k)
	switch {
	case c.Canceled:
		return Outcome{Handled: true, Close: true}
	case c.Row >= 0:
		r := session.Result{Text: p.kind.text(p.rows[c.Row])}
		return Outcome{Handled: true, Open: NewResult(p.title, r, p.o)}
	}
	return Outcome{Handled: c.Handled}
}

// Paste implements [Panel].
func (p *entries) Paste(s string) Outcome {
	if p.confirm == nil {
		p.list.Paste(s)
	}
	return handled
}

// cell returns a cell, or "".
func cell(cells []string, i int) string {
	if i < len(cells) {
		return cells[i]
	}
	return ""
}

// NewServers returns the panel for MCP servers.
func NewServers(o Options) Panel {
	return newEntries("MCP servers", kind{
		line: "/mcp",
		what: "server",
		row: func(c []string) dialog.Row {
			return dialog.Row{Label: cell(c, 0) + ": " + cell(c, 1), Detail: cell(c, 2) + " tools", Find: cell(c, 3)}
		},
		text: func(c []string) string {
			return fmt.Sprintf("%s: %s\n\n%s", cell(c, 0), cell(c, 1), strings.ReplaceAll(cell(c, 3), ", ", "\n"))
		},
	}, o)
}

// NewPermissions returns the panel for permission rules.
func NewPermissions(o Options) Panel {
	return newEntries("Permissions", kind{
		line: "/permissions",
		what: "rule",
		row: func(c []string) dialog.Row {
			return dialog.Row{Label: fmt.Sprintf("%-5s  %s", cell(c, 0), cell(c, 1)), Detail: cell(c, 2)}
		},
		text: func(c []string) string { return cell(c, 0) + " " + cell(c, 1) + "\n" + cell(c, 2) },
		remove: func(c []string) (question, line string) {
			return "Remove this rule?", "/permissions remove " + cell(c, 0) + " " + cell(c, 1)
		},
	}, o)
}

// NewMemory returns the panel for notes between sessions.
func NewMemory(o Options) Panel {
	return newEntries("Memory", kind{
		line: "/memory",
		what: "note",
		row: func(c []string) dialog.Row {
			return dialog.Row{Label: cell(c, 1) + ": " + cell(c, 2), Detail: cell(c, 0)}
		},
		text: func(c []string) string { return cell(c, 1) + " (" + cell(c, 0) + ")\n\n" + cell(c, 2) },
		remove: func(c []string) (question, line string) {
			return "Forget this note?", "/memory forget " + cell(c, 0) + " " + cell(c, 1)
		},
	}, o)
}
