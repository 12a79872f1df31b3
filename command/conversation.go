package command

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/reins-agent/reins/checkpoint"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/session"
)

// conversation returns the commands that change or show the conversation and its files.
func conversation() []Command {
	return []Command{
		{
			Name:    "compact",
			Summary: "Summarize the conversation to free room in the model's context window",
			Idle:    true,
			Run: func(ctx context.Context, t Target, _ string) (session.Result, error) {
				d, err := t.Compact(ctx)
				if err != nil {
					return session.Result{}, err
				}
				return session.Result{Text: "Compacted: " + show.Compacted(d) + "."}, nil
			},
		},
		{
			Name:      "undo",
			Arguments: "[chat|files] [keep|overwrite] [preview]",
			Summary:   "Undo the last prompt and its file changes",
			Idle:      true,
			Complete:  undoWords("chat", "files", "keep", "overwrite", "preview"),
			Run: func(ctx context.Context, t Target, args string) (session.Result, error) {
				return rewind(ctx, "undo", args, t.Undo)
			},
		},
		{
			Name:      "redo",
			Arguments: "[keep|overwrite] [preview]",
			Summary:   "Revert the last undo",
			Idle:      true,
			Complete:  undoWords("keep", "overwrite", "preview"),
			Run: func(ctx context.Context, t Target, args string) (session.Result, error) {
				return rewind(ctx, "redo", args, t.Redo)
			},
		},
		{
			Name:      "diff",
			Arguments: "[PATH...]",
			Summary:   "Show what the agent changed since the last prompt that changed files",
			Saved:     true,
			Needs:     needSessions,
			Complete: func(ctx context.Context, t Target, _ []string) ([]string, error) {
				return t.Handle.Complete(ctx, session.Completion{})
			},
			Run: runDiff,
		},
		{
			Name:      "export",
			Arguments: "[FILE]",
			Summary:   "Save the session as an archive, without known secrets",
			Saved:     true,
			Needs:     needSessions,
			Run:       runExport,
		},
		{
			Name:    "continue",
			Summary: "Continue work that was interrupted, that failed, or that waited for answers",
			Idle:    true,
			Run: func(ctx context.Context, t Target, _ string) (session.Result, error) {
				return session.Result{}, t.Continue(ctx)
			},
		},
		{
			Name:    "interrupt",
			Aliases: []string{"stop"},
			Summary: "Stop the work, including the work of subagents",
			Run: func(ctx context.Context, t Target, _ string) (session.Result, error) {
				return session.Result{}, t.Interrupt(ctx)
			},
		},
	}
}

func needSessions(t Target) string {
	if t.Sessions == nil {
		return "there are no saved sessions here"
	}
	return ""
}

// undoWords completes the words that were not given yet.
func undoWords(words ...string) func(context.Context, Target, []string) ([]string, error) {
	return func(_ context.Context, _ Target, args []string) (list []string, err error) {
		given := strings.Join(args, " ")
		for _, w := range words {
			if !strings.Contains(given, w) {
				list = append(list, w)
			}
		}
		return list, nil
	}
}

// rewind undoes or redoes.
func rewind(
	ctx context.Context,
	name, args string,
	do func(context.Context, session.UndoOptions) (session.Undone, error),
) (session.Result, error) {
	var o session.UndoOptions
	for _, word := range strings.Fields(args) {
		switch {
		case word == "chat" && name == "undo":
			o.Chat = true
		case word == "files" && name == "undo":
			o.Files = true
		case word == "keep":
			o.Others = session.Keep
		case word == "overwrite":
			o.Others = session.Overwrite
		case word == "preview":
			o.DryRun = true
		default:
			return session.Result{}, fmt.Errorf("/%s does not know %q", name, word)
		}
	}
	u, err := do(ctx, o)
	if later, ok := errors.AsType[*checkpoint.LaterError](err); ok {
		hint := fmt.Sprintf("/%s overwrite", name)
		if !later.Unknown {
			hint += fmt.Sprintf(" or /%s keep", name)
		}
		return session.Result{}, fmt.Errorf("%w; use %s", err, hint)
	}
	return undone(name, u, o.DryRun), err
}

// undone describes what was undone, or would be.
func undone(name string, u session.Undone, preview bool) session.Result {
	if u.Input == 0 {
		return session.Result{}
	}
	var what []string
	if u.Chat {
		what = append(what, "the conversation")
	}
	if u.Files {
		what = append(what, "the files")
	}
	verb := map[string]string{"undo": "Undid", "redo": "Restored"}[name]
	if preview {
		verb = map[string]string{"undo": "Would undo", "redo": "Would restore"}[name]
	}
	r := session.Result{Text: fmt.Sprintf("%s %s since %q.", verb, strings.Join(what, " and "), show.Summary(u.Prompt))}
	table := session.Table{Columns: []string{"CHANGE", "FILE"}}
	for _, c := range u.Changed {
		table.Rows = append(table.Rows, []string{string(c.Kind), c.Path})
	}
	for _, path := range u.Kept {
		table.Rows = append(table.Rows, []string{"kept", path})
	}
	for _, c := range u.Conflicts {
		table.Rows = append(table.Rows, []string{"changed by others", c.Path})
	}
	if len(table.Rows) > 0 {
		r.Tables = append(r.Tables, table)
	}
	return r
}

func runDiff(ctx context.Context, t Target, args string) (session.Result, error) {
	i, err := t.Info(ctx)
	if err != nil {
		return session.Result{}, err
	}
	o := session.DiffOptions{Session: t.ID()}
	for _, path := range strings.Fields(args) {
		o.Paths = append(o.Paths, within(i.Dir, path))
	}
	var diff strings.Builder
	table := session.Table{Columns: []string{"CHANGE", "FILE", "ADDED", "REMOVED"}}
	for d, err := range t.Sessions.Diff(ctx, o) {
		if errors.Is(err, session.ErrUnchanged) {
			return session.Result{Text: "The agent changed no files."}, nil
		}
		if err != nil {
			return session.Result{}, err
		}
		if !d.Others {
			diff.WriteString(d.Diff)
			table.Rows = append(table.Rows, []string{string(d.Kind), d.Path, strconv.Itoa(d.Added), strconv.Itoa(d.Removed)})
		}
	}
	if len(table.Rows) == 0 {
		return session.Result{Text: "The files are as they were before the last prompt that changed them."}, nil
	}
	return session.Result{Tables: []session.Table{table}, Diff: diff.String()}, nil
}
