package panel

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/internal/tui/dialog"
	"github.com/reins-agent/reins/internal/tui/keys"
	"github.com/reins-agent/reins/internal/tui/screen"
	"github.com/reins-agent/reins/internal/tui/text"
	"github.com/reins-agent/reins/llm/connect"
	"github.com/reins-agent/reins/session"
)

// Start describes the first start, as long as no model can be used.
type Start struct {
	// Problem is why, such as "no provider has a key".
	Problem string
	// Providers are offered in this order, but usable providers first: see [connect.Config.List].
	Providers []connect.Status
	// Local finds model servers on this machine: see [connect.Search.Local]. Nil finds none.
	Local func(ctx context.Context) ([]connect.Server, error)
	// Use begins with a provider and a model; "" is the provider's default model.
	Use func(provider, model string) Outcome
}

// start lists the ways to a model.
type start struct {
	base
	start Start
	local []connect.Server
	list  *dialog.List
	ways  []way
}

// way is a way to a model: a usable provider, or a text that says what to do.
type way struct {
	provider, model string
	text            string
}

// NewStart returns a panel that says how to get a model. It needs no session.
func NewStart(s Start, o Options) Panel {
	p := &start{base: newBase("Welcome to Reins", o), start: s}
	p.list = dialog.NewList(nil, p.dialog())
	p.rows()
	if s.Local != nil {
		load(&p.base, func(ctx context.Context) ([]connect.Server, error) {
			found, err := s.Local(ctx)
			if len(found) > 0 || ctx.Err() == nil { // not to find any is not a failure
				err = nil
			}
			return found, err
		}, func(found []connect.Server) Outcome {
			p.local = found
			p.rows()
			return handled
		})
	}
	return p
}

func (p *start) rows() {
	var rows []dialog.Row
	p.ways = nil
	add := func(label, detail string, w way) {
		rows, p.ways = append(rows, dialog.Row{Label: label, Detail: detail}), append(p.ways, w)
	}
	for _, s := range p.local {
		for _, model := range s.Models {
			add(model, "on this machine: "+s.String(), way{provider: "local", model: model})
		}
		if s.Loading && len(s.Models) == 0 {
			add(s.String(), "loads its model", way{text: s.String() + " loads its model. Try again in a moment."})
		}
	}
	for _, s := range p.start.Providers {
		if s.Ready {
			add(s.Name, "ready: "+s.From, way{provider: s.Name})
		}
	}
	for _, s := range p.start.Providers {
		if !s.Ready && len(s.Keys) > 0 {
			add(s.Name, "set "+s.Keys[0], way{text: missing(s)})
		}
	}
	add("ChatGPT plan", "reins login chatgpt", way{text: "Sign in with ChatGPT to use the models of your plan:\n\n    reins login chatgpt"})
	add("Demo", "reins demo", way{text: "See an agent fix a failing test, without a model and without the network:\n\n    reins demo"})
	first := p.list.Selected() <= 0 && p.list.Query() == ""
	p.list.SetRows(rows)
	if first { // what was found meanwhile
		p.list.Select(0)
	}
}

// missing returns what to set for a provider.
func missing(s connect.Status) string {
	text := fmt.Sprintf("To use %s, set a key and start Reins again:\n\n    export %s=…\n    reins", s.Name, s.Keys[0])
	if len(s.Keys) > 1 {
		text += "\n\nThese variables work as well: " + strings.Join(s.Keys[1:], ", ")
	}
	if s.BaseURL != "" {
		text += "\n\nIts address is " + s.BaseURL
	}
	return text + "\n\nreins providers test " + s.Name + " checks the key."
}

// Draw implements [Panel].
func (p *start) Draw(width, height int) screen.Frame {
	hints := []hint{{keys.ListAccept, "choose"}, {keys.ListCancel, "close"}, {keys.Quit, "quit"}}
	return p.frame(width, height, "", hints, func(width, rows int) ([]text.Line, int, int) {
		var above []text.Line
		if rows > 6 {
			problem := text.Line{{Text: text.Clean(show.OneLine(p.start.Problem)), Style: text.Style{Role: text.Warning}}}
			what := text.Line{{Text: "Choose a model on this machine or a provider. Type to filter."}}
			above = append(p.o.Rule.Wrap(problem, width), p.o.Rule.Wrap(what, width)...)
			above = append(above[:min(len(above), rows/2)], nil)
		}
		lines, x, y := p.list.View(width, rows-len(above))
		return append(above, lines...), x, y + len(above)
	})
}

// Key implements [Panel].
func (p *start) Key(k keys.Key) Outcome {
	p.notice = ""
	c := p.list.Handle(k)
	switch {
	case c.Canceled:
		return Outcome{Handled: true, Close: true}
	case c.Row < 0:
		return Outcome{Handled: c.Handled}
	}
	w := p.ways[c.Row]
	switch {
	case w.text != "":
		return Outcome{Handled: true, Open: NewResult(p.title, session.Result{Text: w.text}, p.o)}
	case p.start.Use == nil:
		p.fail(errors.New("start Reins again to use " + w.provider))
		return handled
	}
	return p.start.Use(w.provider, w.model)
}

// Paste implements [Panel].
func (p *start) Paste(s string) Outcome {
	p.list.Paste(s)
	return handled
}
