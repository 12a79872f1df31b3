package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/reins-agent/reins/ask"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/internal/tui/dialog"
	"github.com/reins-agent/reins/internal/tui/edit"
	"github.com/reins-agent/reins/internal/tui/keys"
	"github.com/reins-agent/reins/internal/tui/panel"
	"github.com/reins-agent/reins/session"
)

// open opens the view for an action, and reports whether the action opens a view.
func (a *app) open(action keys.Action) bool {
	if action == keys.Help {
		a.push(panel.NewHelp(a.panelOptions()))
		return true
	}
	if a.live == nil {
		return false
	}
	switch action {
	case keys.Model:
		a.pickArgument("/model")
	case keys.Effort:
		a.pickArgument("/effort")
	case keys.Sessions:
		a.sessions()
	case keys.Agents:
		a.push(panel.NewAgents(a.panelOptions()))
	case keys.Tasks:
		a.push(panel.NewTasks(a.panelOptions()))
	case keys.Diff:
		a.command("/diff")
	case keys.Cost:
		a.push(panel.NewCost(a.panelOptions()))
	case keys.Checkpoints:
		a.push(panel.NewCheckpoints(a.panelOptions()))
	case keys.Background:
		a.push(panel.NewBackground(a.panelOptions()))
	case keys.Queue:
		a.cover(&queueView{at: len(a.queued()) - 1})
	default:
		return false
	}
	return true
}

// panels are the views of commands without arguments.
var panels = map[string]func(panel.Options) panel.Panel{
	"help":        func(o panel.Options) panel.Panel { return panel.NewHelp(o) },
	"agents":      panel.NewAgents,
	"jobs":        panel.NewBackground,
	"tasks":       panel.NewTasks,
	"cost":        panel.NewCost,
	"mcp":         panel.NewServers,
	"permissions": panel.NewPermissions,
	"memory":      panel.NewMemory,
}

// builtin runs the commands for which the application has more to show than their result.
func (a *app) builtin(name, args string) bool {
	switch name {
	case "undo":
		words := strings.Fields(args)
		o := session.UndoOptions{}
		for _, w := range words {
			switch w {
			case "chat":
				o.Chat = true
			case "files":
				o.Files = true
			default:
				return false
			}
		}
		a.undo(o)
		return true
	case "model", "effort":
		if args == "" {
			a.pickArgument("/" + name)
			return true
		}
	}
	if show := panels[name]; show != nil && args == "" {
		a.push(show(a.panelOptions()))
		return true
	}
	return false
}

// pickArgument lets the user choose a command's argument.
func (a *app) pickArgument(name string) {
	l := a.live
	a.do(func(ctx context.Context) func() {
		list, err := l.Complete(ctx, session.Completion{Text: name + " ", Command: true, Limit: 500})
		if _, lacks := errors.AsType[*session.PartialError](err); lacks {
			err = nil
		}
		return func() {
			switch {
			case a.live != l:
			case err != nil:
				a.sayError(err)
			case len(list) == 0:
				a.edit.SetText(name + " ")
				a.say("Nothing to choose from. Type the name.")
			default:
				rows := make([]dialog.Row, len(list))
				for i, s := range list {
					rows[i].Label = s
				}
				a.choose(strings.TrimPrefix(name, "/"), rows, func(i int) { a.command(name + " " + list[i]) })
			}
		}
	})
}

// undo shows the changes that an undo would make, and asks.
func (a *app) undo(o session.UndoOptions) {
	l, working := a.live, a.working()
	a.do(func(ctx context.Context) func() {
		if !working {
			finish(ctx, l)
		}
		dry := o
		dry.DryRun = true
		u, err := l.Undo(ctx, dry)
		return func() {
			switch {
			case a.live != l:
			case err != nil:
				a.sayError(err)
			default:
				a.askUndo(o, u)
			}
		}
	})
}

func (a *app) askUndo(o session.UndoOptions, u session.Undone) {
	rows := []ask.Row{{Kind: ask.RowText, Text: "since: " + show.Summary(u.Prompt)}}
	for _, c := range u.Changed {
		rows = append(rows, ask.Row{Kind: ask.RowText, Text: string(c.Kind) + " " + c.Path})
	}
	for _, c := range u.Conflicts {
		rows = append(rows, ask.Row{Kind: ask.RowNote, Text: "changed by others too: " + c.Path})
	}
	if len(u.Changed)+len(u.Conflicts) == 0 {
		rows = append(rows, ask.Row{Kind: ask.RowNote, Text: "no file changes"})
	}
	choices := []ask.Choice{{Key: "y", Text: "undo", Allow: true}}
	if !o.Chat && !o.Files && len(u.Changed)+len(u.Conflicts) > 0 {
		choices = append(choices,
			ask.Choice{Key: "f", Text: "undo only the files", Allow: true},
			ask.Choice{Key: "c", Text: "undo only the conversation", Allow: true})
	}
	choices = append(choices, ask.Choice{Key: "n", Text: "no"})
	q := ask.Question{
		Kind:    "undo",
		Who:     "Reins",
		Title:   "Undo the last prompt?",
		Rows:    rows,
		Choices: choices,
	}
	a.ask(q, func(answer ask.Answer) {
		switch answer.Choice {
		case "f":
			o.Files = true
		case "c":
			o.Chat = true
		case "y":
		default:
			return
		}
		a.undoNow(o)
	})
}

func (a *app) undoNow(o session.UndoOptions) {
	l := a.live
	o.Others = session.Ask
	a.do(func(ctx context.Context) func() {
		u, err := l.Undo(ctx, o)
		return func() {
			if err != nil {
				a.sayError(err)
				return
			}
			a.say(fmt.Sprintf("Undone: %s. /redo reverts it.", undoneText(u)))
			if a.edit.Empty() && u.Chat {
				a.edit.SetText(u.Prompt)
			}
		}
	})
}

func undoneText(u session.Undone) string {
	var parts []string
	if u.Chat {
		parts = append(parts, "the conversation since "+fmt.Sprintf("%q", show.Summary(u.Prompt)))
	}
	if u.Files {
		parts = append(parts, show.Plural(len(u.Changed), "file"))
	}
	return strings.Join(parts, " and ")
}

// sessions shows the saved sessions.
func (a *app) sessions() {
	if a.o.Manager == nil || a.o.Open == nil {
		a.command("/status")
		return
	}
	a.push(panel.NewSessions(a.panelOptions()))
}

// external opens the user's editor for a draft.
func (a *app) external(e *edit.Editor) {
	x, err := e.External(a.o.Getenv)
	if err != nil {
		a.sayError(err)
		return
	}
	if a.o.Inline {
		_, _ = a.term.Write(a.screen.Leave())
	}
	a.term.Release()
	x.Cmd.Stdin, x.Cmd.Stdout, x.Cmd.Stderr = a.o.In, a.o.Out, a.o.Out
	err = x.Finish(x.Cmd.Run())
	if back := a.term.Reclaim(); back != nil {
		a.over, a.err = true, back
		return
	}
	a.sayError(err)
}

// pasteImage inserts the image in the clipboard.
func (a *app) pasteImage() {
	a.do(func(ctx context.Context) func() {
		image, err := edit.Clipboard{Getenv: a.o.Getenv}.Image(ctx)
		return func() {
			if err != nil {
				a.sayError(err)
				return
			}
			a.edit.PasteImage(image)
		}
	})
}
