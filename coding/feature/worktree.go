package feature

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/hook"
	"github.com/reins-agent/reins/internal/worktree"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// maxWorktrees is the maximum number of open worktrees per session.
const maxWorktrees = 32

// worktrees holds a session's worktrees: the worktree that the session itself works in, and subagents' worktrees.
type worktrees struct {
	store   worktree.Store
	home    env.Environment // the session's environment outside worktrees
	session *agent.Session
	first   string // name of a new session's first worktree; "" means none

	mu      sync.Mutex
	open    map[string]*worktree.Tree // by ID
	current string                    // ID of the session's own worktree; "" if it works in home
}

// Worktrees lets the agent and its subagents work in copies of a git repository. It has no effect without a state
// directory, and in an environment made by the host.
func Worktrees() coding.Extension { return beginIn("") }

// InWorktree is [Worktrees] for a new session that begins in a new worktree with this name.
func InWorktree(name string) coding.Extension { return beginIn(name) }

func beginIn(first string) coding.Extension {
	return func(_ context.Context, h *coding.Host) (coding.Feature, error) {
		switch {
		case h.Elsewhere == nil && first != "":
			return coding.Feature{}, errors.New("a worktree needs a state directory, and the environment of this machine")
		case h.Elsewhere == nil:
			return coding.Feature{}, nil
		}
		w := &worktrees{home: h.Env, open: map[string]*worktree.Tree{}, first: first}
		w.store = worktree.Store{Dir: h.State.Worktrees(), Env: h.Elsewhere, Trusted: h.Trusted, Wait: 10 * time.Second}
		return coding.Feature{
			Tools:     []tool.Tool{w.enterTool(), w.exitTool()},
			Subagents: w.offer,
			Follow: func(ctx context.Context, s *agent.Session) error {
				return w.follow(ctx, s, h.Resumed)
			},
			Close: w.Close,
		}, nil
	}
}

// offer allows worktrees for subagents.
func (w *worktrees) offer(s *agent.Subagents, _ *tool.Registry) {
	if s.Isolate == nil {
		s.Isolate = w.isolate
	}
}

// Close closes all worktrees. It does not delete their files.
func (w *worktrees) Close() (err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, t := range w.open {
		err = errors.Join(err, t.Close())
	}
	return err
}

// isolate opens a worktree for a subagent.
func (w *worktrees) isolate(ctx context.Context, from env.Environment, id string) (env.Environment, string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, err := w.get(ctx, from, id, worktree.Options{})
	if err != nil {
		return nil, "", err
	}
	e, err := t.Env()
	return e, t.ID, err
}

// get opens a worktree, or creates one if the ID is ""; w.mu is held.
func (w *worktrees) get(ctx context.Context, from env.Environment, id string, o worktree.Options) (t *worktree.Tree, err error) {
	if t, ok := w.open[id]; ok {
		return t, nil
	}
	if len(w.open) >= maxWorktrees {
		return nil, fmt.Errorf("the session already has %d worktrees; remove one first", maxWorktrees)
	}
	if id != "" {
		t, err = w.store.Open(ctx, id)
	} else {
		if w.session != nil {
			o.Session = w.session.ID()
		}
		t, err = w.store.Create(ctx, from, o)
	}
	if err != nil {
		return nil, err
	}
	w.open[t.ID] = t
	if t.ID != id {
		w.fire(ctx, hook.WorktreeCreate, t)
	}
	return t, nil
}

// fire runs the hooks for a worktree event.
func (w *worktrees) fire(ctx context.Context, e hook.Event, t *worktree.Tree) {
	if w.session != nil {
		w.session.Fire(ctx, hook.Input{Event: e, WorktreeName: t.Name(), Worktree: t.Dir()})
	}
}

// The fields of results that change where the session works.
const (
	fieldEntered = "worktree_entered"
	fieldLeft    = "worktree_left"
)

// follow sets the session. A resumed session continues in its worktree.
func (w *worktrees) follow(ctx context.Context, s *agent.Session, meta event.Meta) error {
	w.session = s
	if w.first != "" && meta.ID == "" {
		return w.begin(ctx)
	}
	if meta.ID == "" || meta.Foreign() || meta.Dir != w.home.Info().Dir {
		return nil
	}
	id := w.recorded(ctx)
	if id == "" {
		return nil
	}
	err := w.move(ctx, id)
	if errors.Is(err, worktree.ErrNotFound) {
		gone := fmt.Sprintf("[Worktree %s no longer exists. You work in %s again.]", name(id), w.home.Info().Dir)
		return s.From(event.Origin{Kind: event.OriginWorktree, ID: id}).Steer(llm.Text{Text: gone})
	}
	return err
}

// begin makes a new session work in a new worktree. The message to the model is also the record of it.
func (w *worktrees) begin(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, err := w.get(ctx, w.home, "", worktree.Options{Name: w.first})
	if err != nil {
		return err
	}
	if err := w.settle(ctx, t); err != nil {
		return err
	}
	text := fmt.Sprintf("[You work in worktree %s at %s (branch %s), a copy of the last commit of %s. "+
		"Stay there. The branch is saved when you are done.]",
		t.Name(), t.Dir(), t.Branch(), w.home.Info().Dir)
	return w.session.From(event.Origin{Kind: event.OriginWorktree, ID: t.ID}).Steer(llm.Text{Text: text})
}

// recorded returns the worktree that the session works in according to its records.
func (w *worktrees) recorded(ctx context.Context) (id string) {
	for r, err := range w.session.Records(ctx, 0) {
		if err != nil {
			return ""
		}
		if r.Agent == "" {
			id = w.after(id, r.Data)
		}
	}
	return id
}

// after returns the worktree after a record.
func (w *worktrees) after(id string, d event.Data) string {
	switch d := d.(type) {
	case event.ToolCallEnd:
		if entered, ok := d.Fields[fieldEntered].(string); ok && d.Error == nil {
			return entered
		}
		if left, ok := d.Fields[fieldLeft].(string); ok && left == id {
			return ""
		}
	case event.SteeringQueued:
		switch {
		case d.Origin == nil || d.Origin.Kind != event.OriginWorktree:
		case id == "": // the session begins in it
			return d.Origin.ID
		case id == d.Origin.ID: // it is gone
			return ""
		}
	case event.SessionResume:
		if d.Imported {
			return ""
		}
	}
	return id
}

// name returns the worktree name in an ID.
func name(id string) string { return id[strings.LastIndexByte(id, '/')+1:] }

// move opens a worktree and makes the session work in it.
func (w *worktrees) move(ctx context.Context, id string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, err := w.get(ctx, w.home, id, worktree.Options{})
	if err != nil {
		return err
	}
	return w.settle(ctx, t)
}

// settle makes the session work in an open worktree; w.mu is held.
func (w *worktrees) settle(ctx context.Context, t *worktree.Tree) error {
	e, err := t.Env()
	if err == nil {
		err = w.session.Reconfigure(ctx, agent.Change{Env: e})
	}
	if err == nil {
		w.current = t.ID
	}
	return err
}

type enterIn struct {
	Name string `json:"name,omitempty" jsonschema:"name of a new or existing worktree"`
	Base string `json:"base,omitempty" jsonschema:"head (default) or working_tree, with uncommitted changes"`
}

func (w *worktrees) enterTool() tool.Tool {
	return tool.New(tool.Spec{
		Name:        "enter_worktree",
		Version:     "1.0.0",
		Role:        agent.RoleSession,
		Permissions: []tool.Permission{tool.FSRead},
		Description: "Work in a separate copy of the git repository from the next step on. The original does not change until " +
			"exit_worktree.",
		SideEffects: "copies the repository's files to the state directory",
	}, func(_ context.Context, c *tool.Call, _ enterIn) []policy.Access {
		if c.Mode == policy.ModePlan {
			return nil // it changes nothing that the user sees, but it makes files
		}
		return []policy.Access{{Kind: policy.Read, Target: w.home.Info().Dir}}
	}, w.enter)
}

func (w *worktrees) enter(ctx context.Context, _ *tool.Call, in enterIn) (tool.Result, error) {
	if in.Base != "" && in.Base != "head" && in.Base != "working_tree" {
		return tool.Failure(tool.ValidationError, "Unknown base %q: use head or working_tree.", in.Base), nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.current != "" {
		return tool.Failure(
			tool.ValidationError,
			"The session already works in worktree %s. Use exit_worktree first.", name(w.current),
		), nil
	}
	id := ""
	if in.Name != "" {
		if found, err := w.store.Find(w.home.Info().Dir, in.Name); err == nil {
			id = found.ID
		}
	}
	if agent := w.worker(id); agent != "" {
		return tool.Failure(tool.ValidationError, "Agent %s works in worktree %s.", agent, in.Name), nil
	}
	t, err := w.get(ctx, w.home, id, worktree.Options{Name: in.Name, Changes: in.Base == "working_tree"})
	if err == nil {
		err = w.settle(ctx, t)
	}
	if err != nil {
		return failedTree(err), nil
	}
	res := tool.Success(
		"Switched to worktree %[2]s at %[1]s (branch %[3]s). %[4]s is no longer accessible. Submodules are empty, and Git LFS "+
			"files are pointers.",
		t.Dir(),
		t.Name(),
		t.Branch(),
		w.home.Info().Dir,
	)
	if id != "" {
		res.Notes = append(res.Notes, "The worktree already existed and contains its earlier changes.")
	}
	res.Fields = map[string]any{fieldEntered: t.ID, "dir": t.Dir(), "branch": t.Branch()}
	return res, nil
}

// worker returns the subagent that works in a worktree, or "".
func (w *worktrees) worker(id string) string {
	for _, a := range w.session.Agents() {
		if id != "" && a.Worktree == id && a.Status != event.SubagentClosed {
			return a.Path
		}
	}
	return ""
}

// failedTree returns the tool result for a worktree error.
func failedTree(err error) tool.Result {
	var conflict *worktree.ConflictError
	switch {
	case errors.As(err, &conflict):
		return tool.Failure(tool.EditConflict, "Nothing was changed: %v. Resolve the conflicts in the worktree, or use action branch.", err)
	case errors.Is(err, worktree.ErrDirty):
		return tool.Failure(tool.PermissionDenied, "The worktree was not removed: %v. Use action apply, branch or keep.", err)
	}
	return tool.Failure(tool.IOError, "%v.", err)
}
