package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/checkpoint"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/tool"
)

// pastSession is a session that is opened for its past. It can call no model.
type pastSession struct {
	store   event.Store
	meta    event.Meta
	session *agent.Session
	env     *local.Env
	changes []checkpoint.Change // what was done to files
	title   string              // of what is shown; "" is the prompt
}

// noModel is the client of a session that is not to call a model.
type noModel struct{}

func (noModel) Stream(context.Context, *llm.Request) iter.Seq2[llm.StreamEvent, error] {
	return func(yield func(llm.StreamEvent, error) bool) {
		yield(nil, errors.New("the session was opened without a model"))
	}
}

func openPast(ctx context.Context, h Host, store event.Store, m event.Meta, later laterFlags) (*pastSession, error) {
	kept, err := openCheckpoints(h, m.Dir)
	if err != nil {
		return nil, err
	}
	e, err := local.New(local.Config{Dir: m.Dir})
	if err != nil {
		return nil, usageError{err}
	}
	p := &pastSession{store: store, meta: m, env: e}
	files := coding.Checkpoints{
		Store: kept,
		Later: func(ctx context.Context, e *checkpoint.LaterError) (checkpoint.Later, error) {
			return later.decide(ctx, h, e)
		},
		Restored: func(changes []checkpoint.Change) { p.changes = onlyFiles(changes) },
	}
	tools := &tool.Registry{}
	err = tools.Register(agent.AskUserTool()) // or a question that waits would be given up
	if err == nil {
		p.session, err = agent.Resume(ctx, agent.Config{
			ID: m.ID, Store: store, Client: noModel{}, Env: e, Tools: tools, Checkpoints: files,
		})
	}
	if err != nil {
		return nil, errors.Join(whyNotOpened(m.ID, err), e.Close())
	}
	return p, nil
}

// whyNotOpened says what to do about a session that cannot be resumed.
func whyNotOpened(id string, err error) error {
	var damage *event.CorruptError
	if errors.As(err, &damage) {
		return fmt.Errorf("%w; \"reins sessions verify\" tells more, and \"reins sessions fork %s --damaged\" keeps what can be read", err, id)
	}
	return explain(id, err)
}

func (p *pastSession) close() error { return errors.Join(p.session.Close(), p.env.Close()) }

// openCheckpoints opens the checkpoints of a directory.
func openCheckpoints(h Host, dir string) (*checkpoint.Store, error) {
	if dir == "" {
		return nil, usagef("the session has no directory, so that there are no files to set back")
	}
	state, err := stateDir(h)
	if err != nil {
		return nil, err
	}
	kept, err := coding.OpenCheckpoints(state, dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, usageError{err}
	}
	return kept, err
}

// onlyFiles leaves out what is only about directories.
func onlyFiles(changes []checkpoint.Change) []checkpoint.Change {
	var files []checkpoint.Change
	for _, c := range changes {
		if !c.Dir() {
			files = append(files, c)
		}
	}
	return files
}

// resolvePaths makes paths absolute, and leads them over the real directories: a link on the way to
// the workspace would make a path seem to be outside.
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

// resolveParent resolves what there is of the directories on the way to a path, but not its last
// element, which may itself be a link that is meant.
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
