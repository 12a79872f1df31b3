package session

import (
	"context"
	"errors"
	"io"
	"iter"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/checkpoint"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// UndoOptions says what to undo, redo or restore.
type UndoOptions struct {
	Session string `json:"session"`

	// Chat and Files limit Undo to the conversation or to the files. If neither is set, Undo covers both.
	Chat  bool `json:"chat,omitempty"`
	Files bool `json:"files,omitempty"`

	// To is the state that Restore restores; default the one before the last prompt that changed the files in Paths.
	// Paths limits Restore to these files and directories. They are absolute, or relative to the working directory of
	// the process.
	To    string   `json:"to,omitempty"`
	Paths []string `json:"paths,omitempty"`

	// Others decides about files that both the agent and others changed, or may have changed. With Refuse, the files in
	// Overwrite are restored all the same.
	Others    Decision `json:"others,omitempty"`
	Overwrite []string `json:"overwrite,omitempty"`

	// DryRun reports what would change, and changes nothing. It takes a checkpoint of the current files, and the session
	// may be running.
	DryRun bool `json:"dry_run,omitempty"`
}

// Decision says what to do with files that both the agent and others changed, or may have changed.
type Decision string

// The decisions.
const (
	Refuse    Decision = ""          // change nothing and return a *[ConflictError]
	Overwrite Decision = "overwrite" // restore them
	Keep      Decision = "keep"      // keep them, and restore the others; refused if ConflictError.Unknown is set
)

// Undone is the result of an undo, redo or restore.
type Undone struct {
	Session string    `json:"session"`
	Input   event.Seq `json:"input"`            // the prompt's record; 0 if nothing was done
	Prompt  string    `json:"prompt"`           // its text
	Chat    bool      `json:"chat"`             // the conversation was rewound
	Files   bool      `json:"files"`            // files were restored
	Partly  bool      `json:"partly,omitempty"` // some files could not be restored; the error says why
	Changed []Change  `json:"changed"`          // the restored files
	Kept    []string  `json:"kept,omitempty"`   // files with changes by others that were kept

	// Conflicts lists the files to decide about, and Unknown is as in [ConflictError]. Both are set only by
	// a dry run. Changed does not include these files.
	Conflicts []Conflict `json:"conflicts,omitempty"`
	Unknown   bool       `json:"unknown,omitempty"`
}

// Undo undoes a session's last prompt that was not undone yet, as [agent.Session.Undo] does, without a model.
//
// If others changed files too, the error is a *[ConflictError], unless the options decide about them. Other errors wrap
// [agent.ErrNothingToUndo], [agent.ErrElsewhere], [agent.ErrFilesStay] or are a *[DirError]. If an undo fails halfway, the
// result reports the completed work in addition to the error.
func (m *Manager) Undo(ctx context.Context, o UndoOptions) (Undone, error) {
	what := agent.Parts{Chat: o.Chat || !o.Files, Files: o.Files || !o.Chat}
	return m.rewind(ctx, o, rewind{
		nothing: agent.ErrNothingToUndo,
		find:    func(p *event.Past[struct{}]) (event.Undoing, bool) { return p.Undo(what) },
		perform: func(s *agent.Session) (agent.Undone, error) { return s.Undo(ctx, what) },
	})
}

// Redo reverts a session's last Undo or Restore, unless there was a prompt since. Its errors are like those of Undo;
// an error can also wrap [agent.ErrNothingToRedo].
func (m *Manager) Redo(ctx context.Context, o UndoOptions) (Undone, error) {
	return m.rewind(ctx, o, rewind{
		nothing: agent.ErrNothingToRedo,
		find:    func(p *event.Past[struct{}]) (event.Undoing, bool) { return p.Redo() },
		perform: func(s *agent.Session) (agent.Undone, error) { return s.Redo(ctx) },
	})
}

// Restore restores files and leaves the conversation as it is. It needs To or Paths. Its errors are like those of Undo;
// in addition, they may be a *[StateError] or wrap [checkpoint.ErrNotFound].
func (m *Manager) Restore(ctx context.Context, o UndoOptions) (Undone, error) {
	if o.To == "" && len(o.Paths) == 0 {
		return Undone{}, errors.New("no state and no files were named to restore")
	}
	s, err := m.Find(ctx, o.Session)
	if err != nil {
		return Undone{}, err
	}
	h, err := m.history(ctx, s)
	if err != nil {
		return Undone{}, err
	}
	paths, err := resolvePaths(o.Paths)
	if err != nil {
		return Undone{}, err
	}
	var to checkpoint.ID
	if o.To != "" {
		if to, err = h.find(o.To); err != nil {
			return Undone{}, err
		}
	}
	o.Session = s.ID
	return m.rewind(ctx, o, rewind{
		nothing: agent.ErrNothingToUndo,
		ask:     true,
		find:    func(p *event.Past[struct{}]) (event.Undoing, bool) { return p.RestoreFiles(string(to), s.Dir, paths) },
		perform: func(s *agent.Session) (agent.Undone, error) { return s.RestoreFiles(ctx, string(to), paths...) },
	})
}

// rewind is an undo, a redo or a restore.
type rewind struct {
	nothing error // returned if nothing is to be done
	ask     bool  // files that only others changed conflict too
	find    func(*event.Past[struct{}]) (event.Undoing, bool)
	perform func(*agent.Session) (agent.Undone, error)
}

func (m *Manager) rewind(ctx context.Context, o UndoOptions, w rewind) (Undone, error) {
	s, err := m.Find(ctx, o.Session)
	if err != nil {
		return Undone{}, err
	}
	out := Undone{Session: s.ID, Changed: []Change{}}
	checkpoints, err := m.checkpoints(s.ID, s.Dir)
	if err != nil {
		return out, err
	}
	e, err := local.New(local.Config{Dir: s.Dir})
	if err != nil {
		return out, &DirError{Session: s.ID, Dir: s.Dir, Err: err}
	}
	u := undoing{
		manager:     m,
		session:     s,
		env:         e,
		checkpoints: checkpoints,
		options:     o,
	}
	if o.DryRun {
		err = errors.Join(u.preview(ctx, w, &out), e.Close())
	} else {
		err = u.perform(ctx, w, &out)
	}
	return out, err
}

// undoing performs a rewind, or previews it.
type undoing struct {
	manager     *Manager
	session     event.Meta
	env         *local.Env
	checkpoints *checkpoint.Store
	options     UndoOptions
}

// perform opens the session without a model. It closes the environment.
func (u *undoing) perform(ctx context.Context, w rewind, out *Undone) error {
	var changes []checkpoint.Change
	files := coding.Checkpoints{
		Store:    u.checkpoints,
		Later:    u.decide,
		Restored: func(c []checkpoint.Change) { changes = onlyFiles(c) },
	}
	s, err := agent.Resume(ctx, agent.Config{
		ID:          u.session.ID,
		Store:       u.manager.Store,
		Client:      noModel{},
		Env:         u.env,
		Checkpoints: files,
		Owned:       []io.Closer{u.env},
	})
	if err != nil {
		return errors.Join(err, u.env.Close())
	}
	done, err := w.perform(s)
	out.Input, out.Prompt, out.Chat, out.Files = done.Input, done.Prompt, done.Chat, done.Files
	out.Partly, out.Kept = done.Partly, done.Kept
	for _, c := range changes {
		out.Changed = append(out.Changed, Change{c.Path, c.Kind})
	}
	if closed := s.Close(); closed != nil {
		err = errors.Join(err, closed)
	}
	return err
}

// noModel is the client for a session that must not call a model.
type noModel struct{}

func (noModel) Stream(context.Context, *llm.Request) iter.Seq2[llm.StreamEvent, error] {
	return func(yield func(llm.StreamEvent, error) bool) {
		yield(nil, errors.New("the session was opened without a model"))
	}
}
