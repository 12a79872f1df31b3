package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/checkpoint"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/llm"
)

// pastSession is a session opened to undo or redo something. It cannot call a model.
type pastSession struct {
	store   event.Store
	meta    event.Meta
	session *agent.Session
	changes []checkpoint.Change // made to files
	title   string              // of the output; "" is the prompt
}

// noModel is the client of a session that must not call a model.
type noModel struct{}

func (noModel) Stream(context.Context, *llm.Request) iter.Seq2[llm.StreamEvent, error] {
	return func(yield func(llm.StreamEvent, error) bool) {
		yield(nil, errors.New("the session was opened without a model"))
	}
}

func openPast(ctx context.Context, h Host, store event.Store, m event.Meta, later laterFlags) (*pastSession, error) {
	checkpoints, err := openCheckpoints(h, m.Dir)
	if err != nil {
		return nil, err
	}
	e, err := local.New(local.Config{Dir: m.Dir})
	if err != nil {
		return nil, usageError{err}
	}
	p := &pastSession{store: store, meta: m}
	files := coding.Checkpoints{
		Store: checkpoints,
		Later: func(ctx context.Context, e *checkpoint.LaterError) (checkpoint.Later, error) {
			return later.decide(ctx, h, checkpoints, e)
		},
		Restored: func(changes []checkpoint.Change) { p.changes = onlyFiles(changes) },
	}
	p.session, err = agent.Resume(ctx, agent.Config{
		ID: m.ID, Store: store, Client: noModel{}, Env: e, Checkpoints: files, Owned: []io.Closer{e},
	})
	if err != nil {
		return nil, errors.Join(explainOpen(m.ID, err), e.Close())
	}
	return p, nil
}

// openCheckpoints opens the checkpoints of a directory.
func openCheckpoints(h Host, dir string) (*checkpoint.Store, error) {
	if dir == "" {
		return nil, usagef("the session has no directory, so there are no files to restore")
	}
	state, err := stateDir(h)
	if err != nil {
		return nil, err
	}
	checkpoints, err := state.OpenCheckpoints(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, usageError{err}
	}
	return checkpoints, err
}

// onlyFiles drops changes of directories.
func onlyFiles(changes []checkpoint.Change) []checkpoint.Change {
	return slices.DeleteFunc(slices.Clone(changes), func(c checkpoint.Change) bool { return c.Dir() })
}

// resolvePaths returns absolute paths without symbolic links in their directories. Otherwise a link
// to the workspace would make a path look like one outside it.
func resolvePaths(paths []string) ([]string, error) {
	var out []string
	for _, p := range paths {
		abs, err := filepath.Abs(p)
		if err != nil {
			return nil, usageError{err}
		}
		out = append(out, resolveParent(abs))
	}
	return out, nil
}

// resolveParent resolves symbolic links in the directory of a path as far as it exists. The last
// element stays as it is, because it may be a link itself.
func resolveParent(path string) string {
	dir, name := filepath.Split(filepath.Clean(path))
	dir = filepath.Clean(dir)
	if name == "" || dir == path {
		return path
	}
	real, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, os.ErrNotExist) {
		real, err = resolveParent(dir), nil
	}
	if err != nil {
		real = dir
	}
	return filepath.Join(real, name)
}

// rewindJSON reports an undo or redo as JSON.
type rewindJSON struct {
	Session string       `json:"session"`
	Input   event.Seq    `json:"input"` // the record number of the prompt
	Prompt  string       `json:"prompt"`
	Chat    bool         `json:"chat"`
	Files   bool         `json:"files"`
	Partly  bool         `json:"partly,omitempty"` // some files could not be restored
	Changed []changeJSON `json:"changed"`
	Kept    []string     `json:"kept,omitempty"` // files with changes by others
}

type changeJSON struct {
	Path   string                `json:"path"`
	Change checkpoint.ChangeKind `json:"change"`
}

// show prints the prompt that was undone or redone, and the files that changed.
func (p *pastSession) show(h Host, done agent.Undone, asJSON bool) error {
	if asJSON {
		j := rewindJSON{p.session.ID(), done.Input, done.Prompt, done.Chat, done.Files, done.Partly, []changeJSON{}, done.Kept}
		for _, c := range p.changes {
			j.Changed = append(j.Changed, changeJSON{c.Path, c.Kind})
		}
		return printJSON(h.Stdout, j)
	}
	out := bufio.NewWriter(h.Stdout)
	colour := h.colours(h.Stdout)
	title := cmp.Or(p.title, fmt.Sprintf("@%d %s", done.Input, brief(h, done.Prompt)))
	fmt.Fprintf(out, "%s (%s)\n", paint(colour, show.Cyan, title), whatChanged(done))
	for _, c := range p.changes {
		mark, shade := changeMark(c.Kind)
		fmt.Fprintln(out, paint(colour, shade, mark+" "+show.OneLine(c.Path)))
	}
	if done.Files && !done.Partly && len(p.changes) == 0 {
		notef(h, "no files changed")
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if len(done.Kept) > 0 {
		notef(h, "kept what others changed: %s", show.OneLine(nameFiles(done.Kept)))
	}
	return nil
}

// whatChanged names what was undone or redone.
func whatChanged(done agent.Undone) string {
	var what []string
	if done.Chat {
		what = append(what, "conversation")
	}
	switch {
	case done.Partly:
		what = append(what, "some files")
	case done.Files:
		what = append(what, "files")
	}
	return strings.Join(what, " and ")
}

// changeMark returns the mark and the colour of a change.
func changeMark(k checkpoint.ChangeKind) (mark, colour string) {
	switch k {
	case checkpoint.Added:
		return "+", show.Green
	case checkpoint.Deleted:
		return "-", show.Red
	}
	return "~", ""
}
