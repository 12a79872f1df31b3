package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/checkpoint"
	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/lazy"
	"github.com/reins-agent/reins/internal/show"
)

type diffCommand struct {
	stat, list, all bool
	asJSON          bool
}

func newDiff(h Host) *cobra.Command {
	var o diffCommand
	cmd := &cobra.Command{
		Use:               "diff [flags] [SESSION] [FROM [TO]] [-- PATH...]",
		Short:             "Show file changes made in a session",
		ValidArgsFunction: completeSessions(h, 1),
		Long: `Show what the agent changed since the last prompt of a session that changed
files, by tools and by shell commands, as a unified diff. That is what "reins
undo" would restore. Files that only others changed are left out, unless --all
is given. A file that both changed is shown with all its changes.

FROM and TO are checkpoints, or prompts (@N) for the state before them, to show
all differences between two states. Without TO, compare with the current files.
"reins diff --list" lists both.

Without SESSION, use the last session of this directory, or else of the nearest
parent directory. The session may be running.`,
		Example: `  reins diff --stat
  reins diff @57 @120 -- parser.go
  reins diff 4TKZ --list`,
		RunE: func(cmd *cobra.Command, args []string) error {
			args, paths := splitAtDash(cmd, args)
			return o.run(cmd.Context(), h, args, paths)
		},
	}
	cmd.Flags().BoolVar(&o.stat, "stat", false, "show only file names and line counts")
	cmd.Flags().BoolVar(&o.list, "list", false, "list the prompts of the session and their checkpoints")
	cmd.Flags().BoolVar(&o.all, "all", false, "show changes by others too")
	jsonFlag(cmd, &o.asJSON)
	return cmd
}

func (o diffCommand) run(ctx context.Context, h Host, args, paths []string) error {
	session, states, err := splitStates(args)
	if err != nil {
		return err
	}
	if o.list && (o.stat || len(states) > 0 || len(paths) > 0) {
		return usagef("--list cannot be combined with --stat, FROM, TO or paths")
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
	from, to, err := p.span(states)
	if err != nil {
		return err
	}
	if from == "" {
		notef(h, "session %s changed no files", m.ID)
		return nil
	}
	if paths, err = resolvePaths(paths); err != nil {
		return err
	}
	checkpoints, err := openCheckpoints(h, p.dir(from, m.Dir))
	if err != nil {
		return err
	}
	changes, err := compareStates(ctx, checkpoints, from, to, paths)
	if err != nil {
		return explainCheckpoint(err)
	}
	if len(states) == 0 && !o.all {
		changes = p.own(ctx, h, store, m, changes)
	}
	return o.show(ctx, h, checkpoints, changes)
}

// own returns the changes by the agent. It names the files with other changes.
func (p prompts) own(ctx context.Context, h Host, store event.Store, m event.Meta, changes []checkpoint.Change) (own []checkpoint.Change) {
	u, ok := event.LastFiles(p.records)
	if !ok || !u.Traced || u.Untraced != "" {
		return changes
	}
	i := slices.IndexFunc(p.list, func(in event.Input) bool { return in.Seq == u.Since })
	u.Disclaim(ctx, store, m.ID, m.Dir, p.list[max(i, 0)].Time, env.PathsOf(runtime.GOOS))
	var others []string
	for _, c := range changes {
		if _, ok := u.Wrote[c.Path]; ok {
			own = append(own, c)
		} else {
			others = append(others, c.Path)
		}
	}
	if len(others) > 0 {
		notef(h, "not shown, because only others changed them: %s; --all shows them", show.OneLine(nameFiles(others)))
	}
	return own
}

// compareStates lists the files that changed between two checkpoints. If to is empty, it takes a checkpoint of
// the current state.
func compareStates(ctx context.Context, checkpoints *checkpoint.Store, from, to checkpoint.ID, paths []string) ([]checkpoint.Change, error) {
	if to == "" {
		var err error
		if to, _, err = checkpoints.Take(ctx, "reins diff"); err != nil {
			return nil, err
		}
	}
	changes, err := checkpoints.Diff(ctx, from, to, paths...)
	return onlyFiles(changes), err
}

func explainCheckpoint(err error) error {
	if errors.Is(err, checkpoint.ErrNotFound) {
		return usagef("%w; run \"reins diff --list\" to list checkpoints", err)
	}
	return err
}

// fileDiff is the diff of a file as JSON.
type fileDiff struct {
	changeJSON
	Binary  bool   `json:"binary,omitempty"` // or too large to show
	Added   int    `json:"added"`            // lines
	Removed int    `json:"removed"`
	Diff    string `json:"diff,omitempty"`
}

// show prints the changes one by one, because there may be many large ones.
func (o diffCommand) show(ctx context.Context, h Host, checkpoints *checkpoint.Store, changes []checkpoint.Change) error {
	out := bufio.NewWriter(h.Stdout)
	var all []fileDiff
	for _, c := range changes {
		text, err := checkpoints.Unified(ctx, c)
		if err != nil {
			return err
		}
		d := newFileDiff(c, text)
		if o.stat {
			d.Diff = ""
		}
		switch {
		case o.asJSON:
			err = printJSON(out, d)
		case o.stat:
			all = append(all, d)
		case isTerminal(h.Stdout):
			_, err = out.WriteString(show.Diff(text, "", -1, h.colours(h.Stdout)))
		default: // a patch must be exact
			_, err = out.WriteString(text)
		}
		if err != nil {
			return err
		}
	}
	if err := out.Flush(); err != nil || len(all) == 0 {
		return err
	}
	return printStat(h, all)
}

func newFileDiff(c checkpoint.Change, text string) fileDiff {
	d := fileDiff{changeJSON: changeJSON{c.Path, c.Kind}, Diff: text}
	inHunk := false
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case strings.HasPrefix(line, "diff "): // a link that became a file has two parts
			inHunk = false
		case strings.HasPrefix(line, "@@"):
			inHunk = true
		case !inHunk:
			d.Binary = d.Binary || strings.HasPrefix(line, "Binary files ")
		case strings.HasPrefix(line, "+"):
			d.Added++
		case strings.HasPrefix(line, "-"):
			d.Removed++
		}
	}
	return d
}

// printStat prints one line per file, and the total.
func printStat(h Host, all []fileDiff) error {
	t := &show.Table{Columns: []show.Column{
		{Title: ""}, {Title: "ADDED", Right: true, Colour: show.Green}, {Title: "REMOVED", Right: true, Colour: show.Red}, {Title: "FILE"},
	}}
	added, removed := 0, 0
	for _, d := range all {
		mark, _ := changeMark(d.Change)
		plus, minus := strconv.Itoa(d.Added), strconv.Itoa(d.Removed)
		if d.Binary {
			plus, minus = "binary", ""
		}
		t.Add(mark, plus, minus, show.OneLine(d.Path))
		added, removed = added+d.Added, removed+d.Removed
	}
	if err := printTable(h, t); err != nil {
		return err
	}
	_, err := fmt.Fprintf(h.Stdout, "%s, %s added, %d removed\n", show.Plural(len(all), "file"), show.Plural(added, "line"), removed)
	return err
}

var (
	checkpointID = lazy.Regexp(`^[0-9]{10}-[0-9a-f]{8}$`)
	promptNumber = lazy.Regexp(`^@?[0-9]{1,18}$`)
)

// isState reports whether s names a saved state: a checkpoint or a prompt.
func isState(s string) bool { return checkpointID().MatchString(s) || promptNumber().MatchString(s) }

func invalidState(s string) error {
	return usagef("invalid state %q: use a checkpoint or a prompt number from \"reins diff --list\"; put paths after --", s)
}

// splitStates separates a session in front from the states after it.
func splitStates(args []string) (session, states []string, err error) {
	for i, a := range args {
		switch {
		case isState(a):
			states = append(states, a)
		case i == 0:
			session = args[:1]
		default:
			return nil, nil, invalidState(a)
		}
	}
	if len(states) > 2 {
		return nil, nil, usagef("\"reins diff\" compares two states, not %d; put paths after --", len(states))
	}
	return session, states, nil
}

// prompts are the inputs of a session.
type prompts struct {
	session string
	list    []event.Input
	rewinds []event.Record // a RewindStart for each undo and redo of files
	records []event.Record // what the list was made from
}

// readPrompts reads the log of a session, which may be in use. It skips unreadable records, because
// the files do not depend on them.
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
		case event.UserInput, event.Checkpoint, event.Rewind, event.SessionResume,
			event.ToolCallStart, event.ApprovalRequested, event.ApprovalResolved:
			records = append(records, r)
		case event.ToolCallEnd:
			r.Data = event.ToolCallEnd{ID: d.ID, Artifacts: d.Artifacts} // without its output
			records = append(records, r)
		case event.RewindStart:
			if len(rewinds) == 0 || rewinds[len(rewinds)-1].Data.(event.RewindStart).Before != d.Before {
				rewinds = append(rewinds, r)
			}
		}
	}
	return prompts{m.ID, event.Inputs(records), rewinds, records}, nil
}

// span returns the checkpoints to compare. By default these are the one before the last prompt that
// changed files, and "" for the current state. Without any checkpoint both are "".
func (p prompts) span(states []string) (from, to checkpoint.ID, err error) {
	var ids [2]checkpoint.ID
	for i, s := range states {
		if ids[i], err = p.find(s); err != nil {
			return "", "", err
		}
	}
	if len(states) == 0 {
		ids[0] = p.last()
	}
	return ids[0], ids[1], nil
}

// last returns the checkpoint before the last prompt that changed files and was not undone.
func (p prompts) last() checkpoint.ID {
	for i := len(p.list) - 1; i >= 0; i-- {
		if in := p.list[i]; in.Checkpoint != "" && !in.Undone.Files {
			return checkpoint.ID(in.Checkpoint)
		}
	}
	return ""
}

// dir returns the directory of a checkpoint, or the fallback if no prompt has recorded it.
func (p prompts) dir(id checkpoint.ID, fallback string) string {
	for _, in := range p.list {
		if in.Checkpoint == string(id) && in.Dir != "" {
			return in.Dir
		}
	}
	return fallback
}

// find returns the checkpoint that a state names.
func (p prompts) find(state string) (checkpoint.ID, error) {
	if checkpointID().MatchString(state) {
		return checkpoint.ID(state), nil
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(state, "@"), 10, 64)
	if err != nil {
		return "", invalidState(state)
	}
	for _, in := range p.list {
		switch {
		case in.Seq != event.Seq(n):
		case in.Checkpoint == "":
			return "", usagef("prompt @%d changed no files, so it has no checkpoint; run \"reins diff --list\" to list checkpoints", n)
		default:
			return checkpoint.ID(in.Checkpoint), nil
		}
	}
	return "", usagef("record @%d of session %s is not a prompt; run \"reins diff --list\" to list prompts", n, p.session)
}

// inputJSON is a prompt in the JSON of --list.
type inputJSON struct {
	Input       event.Seq `json:"input"`
	Time        time.Time `json:"time"`
	Prompt      string    `json:"prompt"`
	Checkpoint  string    `json:"checkpoint,omitempty"`
	ChatUndone  bool      `json:"chat_undone,omitempty"`
	FilesUndone bool      `json:"files_undone,omitempty"`
}

// rewindPointJSON is the state before an undo or redo in the JSON of --list.
type rewindPointJSON struct {
	Before     string    `json:"before"` // "undo" or "redo"
	Input      event.Seq `json:"input"`
	Time       time.Time `json:"time"`
	Checkpoint string    `json:"checkpoint"`
}

func (p prompts) print(h Host, asJSON bool) error {
	t := &show.Table{Columns: []show.Column{
		{Title: "PROMPT", Colour: show.Cyan}, {Title: "WHEN"}, {Title: "CHECKPOINT"}, {Title: "UNDONE"}, {Title: "TEXT"},
	}}
	add := func(json any, cells ...string) error {
		if asJSON {
			return printJSON(h.Stdout, json)
		}
		t.Add(cells...)
		return nil
	}
	rewinds := p.rewinds
	for i, in := range p.list {
		j := inputJSON{in.Seq, in.Time, in.Prompt, in.Checkpoint, in.Undone.Chat, in.Undone.Files}
		if err := add(j, fmt.Sprintf("@%d", in.Seq), shortTime(h, in.Time), in.Checkpoint, undoneText(in), brief(h, in.Prompt)); err != nil {
			return err
		}
		for ; len(rewinds) > 0 && (i == len(p.list)-1 || rewinds[0].Seq < p.list[i+1].Seq); rewinds = rewinds[1:] {
			d, at, what := rewinds[0].Data.(event.RewindStart), rewinds[0].Time, "undo"
			if d.Redo {
				what = "redo"
			}
			text := fmt.Sprintf("(before the %s of @%d)", what, d.Input)
			if err := add(rewindPointJSON{what, d.Input, at, d.Before}, "", shortTime(h, at), d.Before, "", text); err != nil {
				return err
			}
		}
	}
	switch {
	case asJSON:
		return nil
	case len(p.list) == 0:
		notef(h, "session %s has no prompts", p.session)
		return nil
	}
	return printTable(h, t)
}

// undoneText names the undone parts of an input.
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
