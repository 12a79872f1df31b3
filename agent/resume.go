package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/tool"
)

// ErrNothingToContinue says that there is no work that was cut off.
var ErrNothingToContinue = errors.New("the session has nothing to go on with: give it input")

// newLog is the journal of a new session.
func (c *Config) newLog() (journal, error) {
	if c.Store == nil {
		return &memoryLog{}, nil
	}
	m := c.Meta
	m.ID, m.Provider, m.Model, m.Dir = c.ID, c.Provider, c.Model, c.Env.Info().Dir
	w, err := c.Store.Create(context.Background(), m)
	if err != nil {
		return nil, err
	}
	if err := lease(w, c.Env); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return newSavedLog(&event.Log{}, w, 0), nil
}

// Resume takes up the session Config.ID of Config.Store where its log ends, however it came to end
// there. What is empty in the configuration is as it was: the model, the effort, the system prompt.
// Tool calls that had begun are not run again but get a result that says that they were interrupted;
// calls that wait for an approval or an answer still do, and messages that wait are still there. If
// work was cut off, Continue goes on with it, and so does Submit.
//
// The SessionResume is recorded with the first record behind it: to resume a session and to close it
// again, with nothing done, leaves no trace.
func Resume(ctx context.Context, c Config) (*Session, error) {
	if c.Store == nil || c.ID == "" {
		return nil, errors.New("the session cannot be resumed: Store or ID is missing")
	}
	w, err := c.Store.Open(ctx, c.ID)
	if err != nil {
		return nil, err
	}
	s, err := resume(ctx, c, w)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("session %s cannot be resumed: %w", c.ID, err), w.Close())
	}
	return s, nil
}

func resume(ctx context.Context, c Config, w event.Writer) (*Session, error) {
	meta, err := c.Store.Meta(ctx, c.ID)
	if err != nil {
		return nil, err
	}
	h, err := readHistory(ctx, c)
	if err != nil {
		return nil, err
	}
	root := h.agent("")
	given := c
	c.adopt(root)
	if err := c.complete(); err != nil {
		return nil, err
	}
	if err := lease(w, c.Env); err != nil {
		return nil, err
	}
	log := newSavedLog(event.NewLog(h.records), w, meta.Last)
	s, err := build(c, "", 0, log, newTree(c.Limits))
	if err != nil {
		return nil, err
	}
	s.tree.total = h.total()
	s.meta = meta
	s.restore(root)
	s.sent.lost = h.lost > 0
	log.Hold(event.Record{Session: s.id, Data: event.SessionResume{
		Provider: c.Provider, Model: c.Model, Effort: c.Effort, Dir: s.dir(),
		System: s.newSystem(given.System), Interrupted: root.open, Lost: h.lost,
	}})
	if !equalInt(root.set.budget, c.ThinkingBudget) || root.set.timeouts != c.Timeouts {
		s.record(s.settings.event())
	}
	s.reopen(root)
	s.agents.restore(ctx, h)
	return s, cmp.Or(context.Cause(ctx), s.log.Sync())
}

// history is a session as its records tell it.
type history struct {
	records  []event.Record
	agents   map[string]*replay
	machines machine // what each begins with
	models   models
	lost     int
}

func readHistory(ctx context.Context, c Config) (*history, error) {
	if c.LoopWindow == 0 {
		c.LoopWindow = defaultLoopWindow
	}
	h := &history{agents: make(map[string]*replay), machines: c.machine()}
	var last time.Time
	for r, err := range event.Read(ctx, c.Store, c.ID, 0) {
		var damage *event.CorruptError
		if errors.As(err, &damage) && c.SkipDamaged {
			h.lost++
		} else if err != nil {
			return nil, err
		}
		if r.Data == nil {
			continue
		}
		h.records = append(h.records, r)
		if _, ok := r.Data.(event.SessionResume); ok {
			h.agent("").rest(last) // what lies between is no work
		}
		last = r.Time
		h.agent(r.Agent).take(r)
		h.models.note(r)
	}
	for _, p := range h.agents {
		p.end()
	}
	h.agent("").rest(last)
	return h, nil
}

func (h *history) agent(path string) *replay {
	p, ok := h.agents[path]
	if !ok {
		p = newReplay(h.machines)
		h.agents[path] = p
	}
	return p
}

// total is what the tree has used.
func (h *history) total() Total {
	t := Total{Agents: len(h.agents) - 1, Worked: h.agent("").worked, Cost: Cost{Known: true}, Models: h.models}
	for _, p := range h.agents {
		t.Turns += p.calls
		t.Usage = t.Usage.Add(p.used)
		t.Cost = t.Cost.add(p.cost.Dollars, p.cost.Known)
	}
	return t
}

// adopt fills in what the configuration leaves as it was.
func (c *Config) adopt(p *replay) {
	if c.Model == "" {
		c.Provider, c.Model = p.set.provider, p.set.model
	}
	c.Provider = first(c.Provider, p.set.provider)
	c.Effort = first(c.Effort, p.set.effort)
	c.System = first(c.System, p.system)
	if c.ThinkingBudget == nil {
		c.ThinkingBudget = p.set.budget
	}
	if c.Timeouts == (tool.Timeouts{}) {
		c.Timeouts = p.set.timeouts
	}
}

// restore makes the agent what its records tell.
func (s *Session) restore(p *replay) {
	s.course = p.course
	s.m.maxRounds, s.m.maxTurns = max(s.config.Limits.ToolRounds, 0), max(s.config.Limits.Turns, 0)
	s.steering, s.followUp = p.steering, p.followUp
	s.standIn(p)
	s.turns.Store(int64(p.m.turns))
	if s.hooked() {
		s.sent.messages = nil // the log does not have what hooks made of them
	}
	s.unfinished = p.open
	if p.state == AwaitingInput {
		s.state = AwaitingInput
	}
}

// reopen decides on the calls that have no result. A question, and a call that waits for an approval,
// wait on; all others are over.
func (s *Session) reopen(p *replay) {
	if p.nudge.Message.Text() != "" {
		s.inject(p.nudge.Message, p.nudge.Source)
	}
	if len(s.m.calls) == 0 {
		return
	}
	s.m.answers, s.crashed = p.results, p.round
	rest := s.m.calls[len(p.results):]
	if q := s.question(rest[0]); q != "" {
		s.startCall(rest[0])
		s.m.question = q
		if s.unfinished = p.reply != nil; s.unfinished {
			s.answerQuestion(*p.reply)
			return
		}
		s.state = AwaitingInput
		return
	}
	s.state = Idle
	if s.pending = p.waiting(rest); len(s.pending) > 0 {
		s.unfinished = true
		return
	}
	s.abandon()
}

// waiting are those of the calls that wait for an approval.
func (p *replay) waiting(calls []llm.ToolCall) map[string]event.ApprovalRequested {
	waiting := make(map[string]event.ApprovalRequested)
	for _, c := range calls {
		if w := p.round[c.ID].waits; w != nil {
			waiting[c.ID] = *w
		}
	}
	return waiting
}

// ran reports whether the call may have run.
func (c callState) ran() bool { return c.started && c.waits == nil && !c.denied }

// Question is what the model wants to know from the user, if it waits for an answer.
func (s *Session) Question() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != AwaitingInput {
		return ""
	}
	return s.m.question
}

// newSystem changes the system prompt to the one given, and returns it, if it is another one.
func (s *Session) newSystem(system string) string {
	if system == "" || system == systemOf(s.m.messages) {
		return ""
	}
	s.m.setSystem(system)
	return system
}

// Continue goes on with work that was cut off, or with messages that wait. It is Submit without an
// input. If only subagents have work left, because a call of theirs waits for an approval, it lets
// them go on and waits for them. ErrNothingToContinue says that there is nothing of all this, or
// that a question is to be answered first.
func (s *Session) Continue(ctx context.Context) (Outcome, error) {
	ctx, err := s.begin(ctx)
	if err != nil {
		return Outcome{}, err
	}
	msg, ok := s.remaining()
	if !ok {
		return s.accompany(ctx)
	}
	return s.run(ctx, msg, true, nil)
}

// accompany lets the subagents that are held go on, and waits for them. The session is left as it
// was.
func (s *Session) accompany(ctx context.Context) (out Outcome, err error) {
	defer func() { s.withdraw(err) }()
	before := s.measure()
	if !s.agents.takeUp(ctx) {
		return Outcome{}, ErrNothingToContinue
	}
	status := StatusDone
	if err = s.agents.wait(ctx); err != nil {
		status, err = StatusInterrupted, fmt.Errorf("interrupted: %w", err)
		if !s.config.Subagents.Outlive {
			s.agents.interrupt()
		}
	}
	out = s.measure().since(before)
	out.Status, out.Text = status, s.m.text
	return out, cmp.Or(err, s.keep(ctx))
}

// remaining is what to go on with: a message that waits, or an empty one for the work that was cut
// off.
func (s *Session) remaining() (msg llm.Message, ok bool) {
	if s.unfinished {
		return msg, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.m.calls) == 0 { // else the model has asked, and waits for an answer
		msg, _, ok = s.waiting()
	}
	return msg, ok
}
