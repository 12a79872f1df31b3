package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/reins-agent/reins/agent/step"
	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/tool"
)

// newLog returns the journal of a new session.
func (c *Config) newLog() (journal, error) {
	if c.Store == nil {
		return event.NewJournal(&event.Log{}, nil, 0), nil
	}
	m := c.Meta
	m.ID = c.ID
	m.Provider = c.Provider
	m.Model = c.Model
	m.Dir = c.Env.Info().Dir
	w, err := c.Store.Create(context.Background(), m)
	if err != nil {
		return nil, err
	}
	if err := lease(w, c.Env); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return event.NewJournal(&event.Log{}, w, 0), nil
}

// Resume opens the session Config.ID in Config.Store, no matter how it ended. Model, effort, system prompt and timeouts
// default to the session's last values. With another model, Config.Adapt returns the prompt, unless the configuration
// has one.
//
// Tool calls that were running are not run again; their results report the interruption. Calls that wait for approval
// or an answer still wait, and queued messages are still queued. Continue or Submit continues interrupted work.
//
// The first time that an imported session is resumed, its system prompt, approvals, pending calls and subagents are
// dropped. The prompt then comes from the configuration or Config.Adapt.
//
// Resuming and closing a session without doing anything appends no records. Resume returns event.ErrLocked while
// another process has the session open.
func Resume(ctx context.Context, c Config) (*Session, error) {
	if c.Store == nil || c.ID == "" {
		return nil, errors.New("cannot resume: Store and ID are required")
	}
	w, err := c.Store.Open(ctx, c.ID)
	if err != nil {
		return nil, err
	}
	s, err := resume(ctx, c, w)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot resume session %s: %w", c.ID, err), w.Close())
	}
	return s, nil
}

func resume(ctx context.Context, c Config, w event.Writer) (*Session, error) {
	meta, err := c.Store.Meta(ctx, c.ID)
	if err != nil {
		return nil, err
	}
	records, lost, err := readRecords(ctx, c)
	if err != nil {
		return nil, err
	}
	tr := newTree()
	for _, r := range records {
		tr.fold.Apply(r)
	}
	root := tr.fold.Agent("")
	if err := c.adopt(ctx, root, meta.Foreign()); err != nil {
		return nil, err
	}
	if err := lease(w, c.Env); err != nil {
		return nil, err
	}
	log := event.NewJournal(event.NewLog(records), w, meta.Last)
	s, err := build(c, "", nil, log, tr)
	if err != nil {
		return nil, err
	}
	s.meta, s.resumed = meta, true
	d := event.SessionResume{
		Setup:       s.setup(),
		Dir:         s.dir(),
		Interrupted: root.Open(),
		Lost:        lost,
		Imported:    meta.Foreign(),
	}
	if c.System != root.System() || d.Imported {
		d.System = c.System
	}
	if before := root.Setup(); d.Provider == before.Provider && d.Model == before.Model {
		d.ToolChange = s.missingTools()
	}
	r := event.Record{Time: time.Now(), Session: s.id, Data: d}
	log.Hold(r)
	tr.fold.Apply(r)
	s.restore(ctx)
	return s, context.Cause(ctx)
}

// missingTools returns the change from the tools that the conversation has added to this process's tools. The tools at
// its start may differ too; then the request begins anew.
func (s *Session) missingTools() *llm.ToolChange {
	added := llm.AddedTools(s.state.Messages())
	before := slices.DeleteFunc(slices.Clone(s.kit.definitions), func(t llm.ToolDef) bool {
		return slices.ContainsFunc(added, func(a llm.ToolDef) bool { return a.Name == t.Name })
	})
	return s.toolChange(append(before, added...))
}

// readRecords loads a session's records and counts the lost ones.
func readRecords(ctx context.Context, c Config) (records []event.Record, lost int, err error) {
	for r, err := range event.Read(ctx, c.Store, c.ID, 0) {
		var damage *event.CorruptError
		if errors.As(err, &damage) && c.SkipDamaged {
			lost++
		} else if err != nil {
			return nil, 0, err
		}
		if r.Data != nil {
			records = append(records, r)
		}
	}
	return records, lost, nil
}

// adopt fills in unset configuration fields from the saved session.
func (c *Config) adopt(ctx context.Context, root *step.State, foreign bool) error {
	was := root.Setup()
	if c.Model == "" {
		c.Provider, c.Model = was.Provider, was.Model
	}
	c.Provider = cmp.Or(c.Provider, was.Provider)
	c.Effort = cmp.Or(c.Effort, was.Effort)
	if c.ThinkingBudget == nil {
		c.ThinkingBudget = was.ThinkingBudget
	}
	if c.Timeouts == (tool.Timeouts{}) {
		c.Timeouts = was.Timeouts
	}
	if c.System == "" && (foreign || c.Provider != was.Provider || c.Model != was.Model) {
		if err := c.adapt(ctx); err != nil {
			return err
		}
	}
	if !foreign {
		c.System = cmp.Or(c.System, root.System())
	}
	return c.complete()
}

// accompany continues subagents' work that waits for approval, and waits for them.
func (s *Session) accompany(ctx context.Context) (out Outcome, err error) {
	defer func() { s.release(out, err) }()
	before := time.Now()
	if !s.takeUp(ctx) {
		return Outcome{}, ErrNothingToContinue
	}
	_ = s.startHooks(ctx) // the work has begun
	out.Status, out.Cost.Known = StatusDone, true
	if err = s.waitBelow(ctx); err != nil {
		out.Status, err = StatusInterrupted, fmt.Errorf("interrupted: %w", err)
		if !s.config.Subagents.Outlive {
			s.interruptBelow()
		}
	}
	s.tree.mu.Lock()
	out.Text, out.Refused = s.state.Text(), s.state.Refused()
	s.tree.mu.Unlock()
	out.Duration = time.Since(before)
	if len(s.Pending()) > 0 && err == nil {
		out.Status = StatusAwaitingApproval
	}
	return out, cmp.Or(err, s.keep(ctx))
}

// lease keeps the session locked after this process is killed until the environment has ended its commands, so that
// none is still running when the session is resumed.
func lease(w event.Writer, e env.Environment) error {
	l, ok := w.(event.Leaser)
	if !ok {
		return nil
	}
	for {
		if h, ok := e.(event.Holder); ok {
			return l.Lease(h)
		}
		wrapper, ok := e.(env.Wrapper)
		if !ok {
			return nil
		}
		e = wrapper.Unwrap()
	}
}
