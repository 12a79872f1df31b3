package coder

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/home"
	"github.com/reins-agent/reins/hook"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy"
)

// session runs the task in a session of Reins.
func (r *run) session(ctx context.Context) *failure {
	s, f := r.open(ctx)
	if f != nil {
		return f
	}
	r.id = s.ID()
	w := &watcher{run: r, started: map[string]bool{}}
	watched, after := make(chan struct{}), s.Last()
	go func() {
		defer close(watched)
		for rec, err := range s.Events(context.Background(), after) {
			if err != nil {
				return
			}
			w.note(rec)
		}
	}()
	out, err := r.submit(ctx, s)
	closing := s.Close()
	<-watched
	r.count(w)
	switch {
	case err != nil:
		return w.failed(err)
	case closing != nil:
		return failf(UnexpectedException, "the session cannot be closed: %v", closing)
	}
	return r.answer(out, w)
}

// open opens the session to continue, or a new one if there is none.
func (r *run) open(ctx context.Context) (*agent.Session, *failure) {
	q := r.request
	c, err := r.config.Session(ctx, q.Dir, q.Sandbox)
	if err != nil {
		return nil, failf(ConfigError, "%v", err)
	}
	store, err := home.Dir(r.config.State).OpenSessions(nil)
	if err != nil {
		return nil, failf(MissingSession, "%v", err)
	}
	c.Dir, c.State, c.Session.Store = q.Dir, r.config.State, store
	if !c.Session.Hooks.Has(hook.UserPromptSubmit) { // a hook may refuse the prompt
		c.Session.Meta.Prompt = show.FirstLine(q.Prompt)
	}
	c.Prompt.User = strings.TrimSpace(c.Prompt.User + "\n\n" + q.constraints())
	c.Session.Middleware = append(c.Session.Middleware[:len(c.Session.Middleware):len(c.Session.Middleware)], r.scope.remember)
	if r.id != "" {
		if c.Resume, err = r.find(ctx, store); err != nil {
			return nil, failf(MissingSession, "session %s cannot be read: %v", r.id, err)
		}
	}
	s, err := coding.Open(ctx, c)
	switch {
	case err == nil:
		return s, nil
	case llm.KindOf(err) == llm.ErrConfiguration || llm.KindOf(err) == llm.ErrAuthentication:
		return nil, failf(ConfigError, "%v", err)
	}
	if c.Resume != "" {
		return nil, failf(UnexpectedException, "session %s cannot be continued: %v", c.Resume, err)
	}
	return nil, failf(MissingSession, "the session cannot be created: %v", err)
}

// find returns the ID of the session to resume, or "" if it does not exist or belongs to another directory.
func (r *run) find(ctx context.Context, store event.Store) (string, error) {
	m, err := store.Meta(ctx, r.id)
	switch {
	case errors.Is(err, event.ErrNotFound):
		r.lost = fmt.Sprintf("Session %s was not found.", r.id)
	case err != nil:
		return "", err
	case m.Dir != r.request.Dir:
		r.lost = fmt.Sprintf("Session %s belongs to another directory.", r.id)
	default:
		return m.ID, nil
	}
	r.id = ""
	r.say(r.lost + " Starting a new session.")
	return "", nil
}

// submit gives the session the task. A retry continues the work of the previous attempt.
func (r *run) submit(ctx context.Context, s *agent.Session) (agent.Outcome, error) {
	if r.retries > 0 {
		out, err := s.Continue(ctx)
		if !errors.Is(err, agent.ErrNothingToContinue) {
			return out, err
		}
	}
	return s.Submit(ctx, llm.Text{Text: r.request.Prompt})
}

// answer checks how the task ended. A question also counts as an answer: the caller can reply in the same session.
func (r *run) answer(out agent.Outcome, w *watcher) *failure {
	text := strings.TrimSpace(out.Text)
	switch out.Status {
	case agent.StatusDone:
	case agent.StatusAwaitingInput:
		if !strings.Contains(text, out.Question) {
			text = strings.TrimSpace(text + "\n\n" + out.Question)
		}
	default:
		f := failf(UpstreamError, "%s", cmp.Or(show.Stop(out.Status), w.limit, "stopped: "+string(out.Status)))
		f.final = true
		return f
	}
	if text == "" {
		return failf(EmptyResult, "the model gave no answer")
	}
	r.text = text
	return nil
}

// count adds the usage of an attempt, and records whether it may have changed something.
func (r *run) count(w *watcher) {
	r.changed = r.changed || w.changed || len(w.started) > 0
	m, t := &r.figures, w.spent.Total
	m.ModelCalls, m.ToolCalls = m.ModelCalls+t.Calls, m.ToolCalls+w.calls
	m.InputTokens, m.OutputTokens = m.InputTokens+t.Usage.Input, m.OutputTokens+t.Usage.Output
	if cost := t.Cost().Pointer(); cost != nil {
		if m.CostUSD != nil {
			*cost += *m.CostUSD
		}
		m.CostUSD = cost
	}
}

// watcher follows the records of an attempt.
type watcher struct {
	run     *run
	spent   event.Spending
	calls   int
	started map[string]bool // tool calls without a result
	changed bool            // a call may have changed something
	refused bool            // the last model call failed
	limit   string          // the limit that stopped the task, if any
}

// note processes a record.
func (w *watcher) note(rec event.Record) {
	w.run.active()
	if !rec.Durable() {
		return
	}
	w.spent.Add(rec)
	switch d := rec.Data.(type) {
	case event.ToolCallStart:
		w.calls++
		w.started[rec.Agent+" "+d.ID] = true
	case event.ToolCallEnd:
		delete(w.started, rec.Agent+" "+d.ID)
		w.changed = w.changed || changes(d)
	case event.ModelCallEnd:
		w.refused = d.Error != nil
	case event.TurnLimit:
		w.limit = show.Limit(d)
	}
	if line := show.Event(rec.Data); line != "" && tells(rec.Data) {
		w.run.say(line)
	}
	if w.run.request.AllMessages {
		if b, err := json.Marshal(rec); err == nil {
			w.run.keep(b)
		}
	}
}

// tells reports whether a record is worth showing as progress.
func tells(data event.Data) bool {
	switch d := data.(type) {
	case event.SessionStart, event.SessionEnd, event.UserInput, event.ModelCallStart, event.Checkpoint:
		return false
	case event.TextEnd:
		return d.Message.Text() != "" // without text, its tool calls say more
	}
	return true
}

// changes reports whether a call ran and may have done more than read files. A run cannot ask for approval, so only calls
// that the policy allows have run.
func changes(d event.ToolCallEnd) bool {
	if d.Decision.Verdict != policy.Allow {
		return false
	}
	for _, a := range d.Accesses {
		if a.Kind != policy.Read {
			return true
		}
	}
	return d.Accesses == nil
}

// failed returns the failure for an error of the session.
func (w *watcher) failed(err error) *failure {
	var save *agent.SaveError
	var blocked *agent.BlockedError
	var call *llm.Error
	kind, final := UnexpectedException, true
	switch {
	case errors.As(err, &save):
	case errors.As(err, &blocked):
		kind = UpstreamError
	case llm.KindOf(err) == llm.ErrConfiguration:
		kind = ConfigError
	case llm.KindOf(err) == llm.ErrMalformed && w.refused:
		kind, final = JSONDecode, false
		w.run.undecoded++
	case llm.KindOf(err) == llm.ErrMalformed:
		kind, final = EmptyResult, false
	case errors.As(err, &call):
		kind, final = UpstreamError, !call.Retryable()
	}
	f := failf(kind, "%s", show.OneLine(err.Error()))
	f.final = final
	return f
}
