package panel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/ask"
	"github.com/reins-agent/reins/checkpoint"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/internal/tui/dialog"
	"github.com/reins-agent/reins/internal/tui/keys"
	"github.com/reins-agent/reins/internal/tui/screen"
	"github.com/reins-agent/reins/internal/tui/text"
	"github.com/reins-agent/reins/session"
	"github.com/reins-agent/reins/view"
)

// checkpoints lists the session's prompts. The user can undo everything since one of them.
type checkpoints struct {
	base
	prompts []prompt // newest first
	last    event.Seq
	list    *dialog.List
}

// prompt is an input that was not undone.
type prompt struct {
	seq   event.Seq
	text  string
	edits int // tool calls that changed files
}

// NewCheckpoints returns the panel for undoing prompts.
func NewCheckpoints(o Options) Panel {
	p := &checkpoints{base: newBase("Undo to an earlier prompt", o)}
	p.list = dialog.NewList(nil, p.dialog())
	p.rows()
	return p
}

// prompts returns the prompts that were not undone, newest first, and their items.
func prompts(s *view.State) (list []prompt, items []view.Item) {
	for i := range s.Len() {
		item := s.Item(i)
		switch {
		case item.Agent != "" && (item.Tool == nil || item.Tool.Diff == ""), item.Undone != 0, item.Live():
		case item.Kind == view.KindInput && item.Answers == "" && !item.Steered:
			list, items = append(list, prompt{seq: item.Seq, text: item.Text}), append(items, item)
		case item.Tool != nil && item.Tool.Diff != "" && len(list) > 0:
			list[len(list)-1].edits++
		}
	}
	slices.Reverse(list)
	slices.Reverse(items)
	return list, items
}

func (p *checkpoints) rows() {
	var items []view.Item
	p.last = p.o.State().Last()
	p.prompts, items = prompts(p.o.State())
	rows := make([]dialog.Row, len(items))
	for i, item := range items {
		rows[i] = dialog.Row{
			Label:  cmp.Or(show.Summary(item.Text), "(no text)"),
			Detail: show.Ago(p.o.Now().Sub(item.Time), item.Time),
			Find:   item.Text,
		}
		if n := p.prompts[i].edits; n > 0 {
			rows[i].Detail = show.Plural(n, "edit") + " · " + rows[i].Detail
		}
		if item.Origin != nil {
			rows[i].Detail = string(item.Origin.Kind) + " · " + rows[i].Detail
		}
	}
	p.list.SetRows(rows)
}

// Draw implements [Panel].
func (p *checkpoints) Draw(width, height int) screen.Frame {
	if p.last != p.o.State().Last() {
		p.rows()
	}
	hints := []hint{{keys.ListAccept, "preview"}, {keys.ListCancel, "close"}, {keys.PanelFork, "copy from before it"}}
	return p.frame(width, height, show.Plural(len(p.prompts), "prompt"), hints, func(width, rows int) ([]text.Line, int, int) {
		return p.list.View(width, rows)
	})
}

// Key implements [Panel].
func (p *checkpoints) Key(k keys.Key) Outcome {
	if out, asked := p.question(k); asked {
		return out
	}
	if a, _ := p.o.Keys.Find(k, keys.Panel); a == keys.PanelFork && p.list.Selected() >= 0 {
		line := fmt.Sprintf("/fork @%d", p.prompts[p.list.Selected()].seq-1)
		return Outcome{Handled: true, Close: true, Line: line}
	}
	c := p.list.Handle(k)
	switch {
	case c.Canceled:
		return Outcome{Handled: true, Close: true}
	case c.Row >= 0:
		p.preview(c.Row)
	}
	return Outcome{Handled: c.Handled}
}

// Paste implements [Panel].
func (p *checkpoints) Paste(s string) Outcome {
	if p.confirm == nil {
		p.list.Paste(s)
	}
	return handled
}

// change is a file that an undo would restore.
type change struct {
	kind, path string
	lines      string
}

// restored describes an undo before it happens.
type restored struct {
	changes []change
	kept    []string // files that others changed as well
	note    string
}

// preview shows the files that an undo would restore, and asks.
func (p *checkpoints) preview(at int) {
	target, n := p.prompts[at], at+1
	load(&p.base, func(ctx context.Context) (restored, error) { return p.wouldRestore(ctx, target.seq, at == 0) }, func(r restored) Outcome {
		var rows []string
		for _, c := range r.changes {
			rows = append(rows, strings.TrimRight(fmt.Sprintf("%-9s %s %s", c.kind, c.path, c.lines), " "))
		}
		for _, path := range r.kept {
			rows = append(rows, "changed by others too: "+path)
		}
		if r.note != "" {
			rows = append(rows, r.note)
		}
		if len(rows) == 0 {
			rows = []string{"No files would change."}
		}
		choices := []ask.Choice{{Key: "y", Text: "Undo the conversation and the files", Allow: true}}
		if len(r.changes)+len(r.kept) > 0 {
			choices = append(choices,
				ask.Choice{Key: "c", Text: "Undo only the conversation", Allow: true},
				ask.Choice{Key: "f", Text: "Restore only the files", Allow: true})
		}
		title := fmt.Sprintf("Undo %s, back to before %q?", show.Plural(n, "prompt"), show.Summary(target.text))
		p.choose(title, append(choices, ask.Choice{Key: "n", Text: "Change nothing"}), rows, func(choice string) {
			o := session.UndoOptions{Chat: choice != "f", Files: choice != "c"}
			if choice != "n" && choice != "" {
				p.undo(target, o)
			}
		})
		return handled
	})
}

// wouldRestore returns which files an undo would restore. For the last prompt, the session tells exactly. For earlier
// prompts, it is the difference from the files before them.
func (p *checkpoints) wouldRestore(ctx context.Context, target event.Seq, last bool) (r restored, err error) {
	if last || p.o.Sessions == nil {
		u, err := p.o.Handle.Undo(ctx, session.UndoOptions{DryRun: true})
		for _, c := range u.Changed {
			r.changes = append(r.changes, change{kind: string(c.Kind), path: c.Path})
		}
		for _, c := range u.Conflicts {
			r.kept = append(r.kept, c.Path)
		}
		if !last {
			r.note = "These are the files of the last prompt. Files of earlier prompts are restored as well."
		}
		if errors.Is(err, agent.ErrFilesStay) {
			r.note, err = show.OneLine(err.Error()), nil
		}
		return r, err
	}
	states, err := p.o.Sessions.States(ctx, p.o.Handle.ID())
	if err != nil {
		return r, err
	}
	from := ""
	for _, s := range states {
		if from == "" && s.Before == "" && s.Input >= target && s.Checkpoint != "" && !s.FilesUndone {
			from = s.Checkpoint
		}
	}
	if from == "" {
		return r, nil
	}
	for d, err := range p.o.Sessions.Diff(ctx, session.DiffOptions{Session: p.o.Handle.ID(), From: from, Stat: true}) {
		if err != nil {
			return r, err
		}
		r.changes = append(r.changes, change{undone[d.Kind], d.Path, fmt.Sprintf("+%d −%d", d.Removed, d.Added)})
	}
	if len(r.changes) > 0 {
		r.note = "Files that only others changed since then are kept."
	}
	return r, nil
}

// undone is what happens to a file when its change is undone.
var undone = map[checkpoint.ChangeKind]string{
	checkpoint.Added:    "deleted",
	checkpoint.Deleted:  "added",
	checkpoint.Modified: "modified",
}

// undo undoes the prompts from the last one to the target.
func (p *checkpoints) undo(target prompt, o session.UndoOptions) {
	load(&p.base, func(ctx context.Context) (later *checkpoint.LaterError, err error) {
		err = rewind(context.WithoutCancel(ctx), p.o.Handle, target.seq, o)
		if errors.As(err, &later) {
			err = nil
		}
		return later, err
	}, func(later *checkpoint.LaterError) Outcome {
		if later != nil {
			p.conflict(target, o, later)
			return handled
		}
		out := Outcome{Handled: true, Close: true}
		if o.Chat {
			out.Draft = target.text
		}
		return out
	})
}

// conflict asks what to do with files that others changed as well.
func (p *checkpoints) conflict(target prompt, o session.UndoOptions, later *checkpoint.LaterError) {
	choices := []ask.Choice{{Key: "o", Text: "Undo these changes as well", Allow: true}}
	if !later.Unknown {
		choices = append(choices, ask.Choice{Key: "k", Text: "Keep these files as they are", Allow: true})
	}
	rows := []string{later.Error()}
	for _, c := range later.Changes {
		rows = append(rows, c.Path)
	}
	p.choose("Others changed files too", append(choices, ask.Choice{Key: "n", Text: "Stop the undo here"}), rows, func(choice string) {
		switch choice {
		case "o":
			o.Others = session.Overwrite
		case "k":
			o.Others = session.Keep
		default:
			return
		}
		p.undo(target, o)
	})
}

// rewind undoes prompt after prompt, until the target is undone.
func rewind(ctx context.Context, h session.Handle, target event.Seq, o session.UndoOptions) error {
	var stay error
	for {
		u, err := h.Undo(ctx, o)
		switch {
		case errors.Is(err, agent.ErrFilesStay) && u.Input > 0:
			stay = err
		case errors.Is(err, agent.ErrNothingToUndo):
			return stay
		case err != nil:
			return err
		}
		if u.Input <= target {
			return stay
		}
	}
}
