package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/checkpoint"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/host/show"
)

type diffCommand struct {
	stat, list bool
	asJSON     bool
}

func newDiff(h Host) *cobra.Command {
	var o diffCommand
	cmd := &cobra.Command{
		Use:               "diff [SESSION] [FROM [TO]] [-- PATH…]",
		Short:             "Show what a session did to the files",
		ValidArgsFunction: completeSessions(h, 1),
		Long: `Show what happened to the files since the last prompt of a session that changed any, as a
unified diff: by tools, by shell commands and by hand. Without SESSION it is the last one of
this directory.

FROM and TO are checkpoints, or prompts by the number of their record, which stand for the
state before them; --list shows both. Without TO it is the changes up to now.
The session may be at work meanwhile.`,
		Example: `  reins diff --stat
  reins diff @57 @120 -- parser.go
  reins diff 4TKZ --list`,
		RunE: func(cmd *cobra.Command, args []string) error {
			args, paths := cutAtDash(cmd, args)
			return o.run(cmd.Context(), h, args, paths)
		},
	}
	cmd.Flags().BoolVar(&o.stat, "stat", false, "only name the files, and count the lines")
	cmd.Flags().BoolVar(&o.list, "list", false, "list the prompts and the checkpoints before them")
	jsonFlag(cmd, &o.asJSON)
	return cmd
}

func (o diffCommand) run(ctx context.Context, h Host, args, paths []string) error {
	session, points, err := divide(args)
	if err != nil {
		return err
	}
	if o.list && (o.stat || len(points) > 0 || len(paths) > 0) {
		return usagef("--list stands alone, beside the session")
	}
	store, err := openStore(h)
	if err != nil {
		return err
	}
	m, err := sessionToShow(ctx, h, store, session)
	if err != nil {
		return err
	}
	p, err := readPrompts(ctx, store, m)
	if err != nil {
		return err
	}
	if o.list {
		return p.print(h, o.asJSON)
	}
	from, to, err := p.span(points)
	if err != nil {
		return err
	}
	if from == "" {
		aside(h, "session %s changed no files", m.ID)
		return nil
	}
	if paths, err = resolvePaths(paths); err != nil {
		return err
	}
	kept, err := openCheckpoints(h, p.dir(from, m.Dir))
	if err != nil {
		return err
	}
	changes, err := compareStates(ctx, kept, from, to, paths)
	if err != nil {
		return explainCheckpoint(err)
	}
	return o.show(ctx, h, kept, changes)
}

// compareStates lists what changed between two checkpoints, or since one if the other is "". To be
// shown, what is new has to be kept; so a checkpoint is taken if there is something new.
func compareStates(ctx context.Context, kept *checkpoint.Store, from, to checkpoint.ID, paths []string) ([]checkpoint.Change, error) {
	if to == "" {
		changes, err := kept.Status(ctx, from, paths...)
		if err != nil || len(onlyFiles(changes)) == 0 {
			return nil, err
		}
		if to, _, err = kept.Take(ctx, "reins diff"); err != nil {
			return nil, err
		}
	}
	changes, err := kept.Diff(ctx, from, to, paths...)
	return onlyFiles(changes), err
}

func explainCheckpoint(err error) error {
	if errors.Is(err, checkpoint.ErrNotFound) {
		return usagef("%w; \"reins diff --list\" shows what there is", err)
	}
	return err
}

// prompts are the inputs of a session.
type prompts struct {
	session string
	list    []event.Input
	rewinds []event.Record // what was before each undo and redo
}

// readPrompts reads the log, whoever may be writing to it. What cannot be read is passed over: the
// files do not depend on it.
func readPrompts(ctx context.Context, store event.Store, m event.Meta) (prompts, error) {
	var records, rewinds []event.Record
	for r, err := range store.Load(ctx, m.ID, 0) {
		var corrupt *event.CorruptError
		switch {
		case errors.As(err, &corrupt):
			continue
		case err != nil:
			return prompts{}, err
		}
		switch d := r.Data.(type) {
		case event.UserInput, event.Checkpoint, event.Rewind:
			records = append(records, r)
		case event.RewindStart:
			if len(rewinds) == 0 || rewinds[len(rewinds)-1].Data.(event.RewindStart).Before != d.Before {
				rewinds = append(rewinds, r)
			}
		}
	}
	return prompts{m.ID, event.Inputs(records), rewinds}, nil
}

// inputJSON is an input as --list tells it.
type inputJSON struct {
	Input       event.Seq `json:"input"`
	Time        string    `json:"time"`
	Prompt      string    `json:"prompt"`
	Checkpoint  string    `json:"checkpoint,omitempty"`
	ChatUndone  bool      `json:"chat_undone,omitempty"`
	FilesUndone bool      `json:"files_undone,omitempty"`
}

// rewindPointJSON is the state before files were set back, as --list tells it.
type rewindPointJSON struct {
	Before     string    `json:"before"` // "undo" or "redo"
	Input      event.Seq `json:"input"`
	Time       string    `json:"time"`
	Checkpoint string    `json:"checkpoint"`
}

func (p prompts) print(h Host, asJSON bool) error {
	t := &show.Table{Columns: []show.Column{{Title: "INPUT", Colour: cyan}, {Title: "WHEN"}, {Title: "CHECKPOINT"}, {Title: "UNDONE"}, {Title: "PROMPT"}}}
	rewinds := p.rewinds
	for i, in := range p.list {
		if asJSON {
			j := inputJSON{in.Seq, in.Time.Format(jsonTime), in.Prompt, in.Checkpoint, in.Undone.Chat, in.Undone.Files}
			if err := printJSON(h.Stdout, j); err != nil {
				return err
			}
		} else {
			t.Add(fmt.Sprintf("@%d", in.Seq), when(h, in.Time), in.Checkpoint, undoneText(in), oneLiner(h, in.Prompt))
		}
		for len(rewinds) > 0 && (i == len(p.list)-1 || rewinds[0].Seq < p.list[i+1].Seq) {
			if err := addRewind(t, h, rewinds[0], asJSON); err != nil {
				return err
			}
			rewinds = rewinds[1:]
		}
	}
	switch {
	case asJSON:
		return nil
	case len(p.list) == 0:
		aside(h, "session %s has no prompts", p.session)
		return nil
	}
	return printTable(h, t)
}

// addRewind adds, or prints, the state before files were set back.
func addRewind(t *show.Table, h Host, r event.Record, asJSON bool) error {
	d := r.Data.(event.RewindStart)
	what := "undo"
	if d.Redo {
		what = "redo"
	}
	if asJSON {
		return printJSON(h.Stdout, rewindPointJSON{what, d.Input, r.Time.Format(jsonTime), d.Before})
	}
	t.Add("", when(h, r.Time), d.Before, "", fmt.Sprintf("(before the %s of @%d)", what, d.Input))
	return nil
}

// undoneText says what of an input was taken back.
func undoneText(in event.Input) string {
	switch {
	case in.Undone.Chat && (in.Undone.Files || in.Checkpoint == ""):
		return "all"
	case in.Undone.Chat:
		return "chat"
	case in.Undone.Files:
		return "files"
	}
	return ""
}
