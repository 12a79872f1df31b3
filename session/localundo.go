package session

import (
	"context"
	"errors"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/checkpoint"
	"github.com/reins-agent/reins/event"
)

// Ask, in [UndoOptions] of a [Handle], asks a question about files that both the agent and others changed.
const Ask Decision = "ask"

// rewinding is an undo or a redo in progress.
type rewinding struct {
	options UndoOptions
	changed []Change
}

// Undo implements [Handle].
func (l *held) Undo(ctx context.Context, o UndoOptions) (Undone, error) {
	if o.DryRun {
		return l.preview(o, func(m *Manager, o UndoOptions) (Undone, error) { return m.Undo(ctx, o) })
	}
	what := agent.Parts{Chat: o.Chat || !o.Files, Files: o.Files || !o.Chat}
	return l.rewind(o, func() (agent.Undone, error) { return l.agent.Undo(ctx, what) })
}

// Redo implements [Handle].
func (l *held) Redo(ctx context.Context, o UndoOptions) (Undone, error) {
	if o.DryRun {
		return l.preview(o, func(m *Manager, o UndoOptions) (Undone, error) { return m.Redo(ctx, o) })
	}
	return l.rewind(o, func() (agent.Undone, error) { return l.agent.Redo(ctx) })
}

// preview tells what a rewind would do, from the saved records.
func (l *held) preview(o UndoOptions, do func(*Manager, UndoOptions) (Undone, error)) (Undone, error) {
	if l.options.Manager == nil {
		return Undone{}, errors.New("a session that is not saved has no preview of an undo")
	}
	o.Session = l.ID()
	return do(l.options.Manager, o)
}

func (l *held) rewind(o UndoOptions, do func() (agent.Undone, error)) (Undone, error) {
	r := &rewinding{options: o, changed: []Change{}}
	l.mu.Lock()
	if l.undo != nil {
		l.mu.Unlock()
		return Undone{}, ErrBusy
	}
	l.undo = r
	l.mu.Unlock()
	u, err := do()
	l.mu.Lock()
	l.undo = nil
	l.mu.Unlock()
	return Undone{
		Session: l.ID(),
		Input:   u.Input,
		Prompt:  u.Prompt,
		Chat:    u.Chat,
		Files:   u.Files,
		Partly:  u.Partly,
		Changed: r.changed,
		Kept:    u.Kept,
	}, known(err)
}

// restored notes what an undo restored.
func (l *held) restored(changes []checkpoint.Change) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range onlyFiles(changes) {
		if l.undo != nil {
			l.undo.changed = append(l.undo.changed, Change{c.Path, c.Kind})
		}
	}
}

// decideLater decides about files that others changed as well, for the undo in progress.
func (l *held) decideLater(ctx context.Context, e *checkpoint.LaterError) (checkpoint.Later, error) {
	l.mu.Lock()
	how := Refuse
	if l.undo != nil {
		how = l.undo.options.Others
	}
	l.mu.Unlock()
	switch how {
	case Keep:
		return checkpoint.Keep, nil
	case Overwrite:
		return checkpoint.Overwrite, nil
	case Ask:
		return l.askLater(ctx, e)
	}
	return checkpoint.Refuse, nil
}

// askLater asks what to do with files that others changed as well.
func (l *held) askLater(ctx context.Context, e *checkpoint.LaterError) (checkpoint.Later, error) {
	q := event.QuestionAsked{
		Type: event.QuestionOverwrite,
		From: "undo",
		Text: e.Error(),
		Options: []event.Option{
			{Label: string(Overwrite), Description: "undo these changes as well"},
			{Label: string(Keep), Description: "keep these files as they are"},
		},
	}
	if e.Unknown {
		q.Options = q.Options[:1]
	}
	for _, c := range e.Changes {
		q.Rows = append(q.Rows, c.Path)
	}
	a, err := l.agent.Ask(ctx, q)
	switch {
	case err != nil:
		return checkpoint.Refuse, err
	case a.Accepted && a.Chosen == string(Overwrite):
		return checkpoint.Overwrite, nil
	case a.Accepted && a.Chosen == string(Keep):
		return checkpoint.Keep, nil
	}
	return checkpoint.Refuse, nil
}
