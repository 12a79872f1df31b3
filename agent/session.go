package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"
	"unique"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/tool"
)

// Session is one agent and its conversation. All methods may be called concurrently. A session that
// has nothing to do holds no goroutine.
type Session struct {
	config Config
	id     string
	path   string // in the tree of agents; "" is the root
	depth  int
	log    journal
	tools  *tool.Registry
	pipe   *tool.Pipeline
	cache  *llm.Cache
	tree   *tree
	agents *agents // its subagents

	mu       sync.Mutex
	state    State
	closing  bool  // no more work is begun
	work     *work // nil if there is none
	settings settings
	steering []llm.Message
	followUp []llm.Message
	pending  map[string]event.ApprovalRequested // tool calls that wait for an approval

	ending sync.Once
	endErr error

	// What follows is only touched by whoever works on an input.
	course
	warned          bool
	summaryFailures int                         // in a row
	object          func(context.Context) error // what to do when all is done; nil is nothing

	crashed    map[string]callState // calls of a round that a crash cut off
	unfinished bool                 // there is work to go on with
	fallback   int                  // the model that stands in, counted from 1; 0 is none
	meta       event.Meta
	described  time.Time // when the store was told so

	turns atomic.Int64 // answers of the model, for others to read
}

// course is how an agent has come to where it is: what its records tell, whether it lived through
// them or was resumed from them.
type course struct {
	m        machine
	past     *past
	calls    int // of the model, those that failed too
	used     llm.Usage
	cost     Cost
	sent     sent   // the last request
	answerer string // the model that gave the last answer
}

func newCourse(m machine) course { return course{m: m, past: &past{}, cost: Cost{Known: true}} }

// New makes a session, and a place for it in the store if there is one. It makes no calls and
// starts nothing.
func New(c Config) (*Session, error) {
	if err := c.complete(); err != nil {
		return nil, err
	}
	if c.ID == "" {
		c.ID = rand.Text()
	}
	// Prompts are long, and sessions over one project have the same: they share it.
	c.System = unique.Make(c.System).Value()
	log, err := c.newLog()
	if err != nil {
		return nil, err
	}
	s, err := newSession(c, "", 0, log, newTree(c.Limits))
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	s.meta = c.Meta
	return s, nil
}

// newSession makes an agent, the root of its tree or another, that begins with nothing.
func newSession(c Config, path string, depth int, log journal, tr *tree) (*Session, error) {
	s, err := build(c, path, depth, log, tr)
	if err != nil {
		return nil, err
	}
	if c.System != "" {
		s.m.say(llm.SystemText(c.System))
	}
	s.record(event.SessionStart{ID: c.ID, Provider: c.Provider, Model: c.Model, Effort: c.Effort, Dir: c.Env.Info().Dir, System: c.System})
	if c.ThinkingBudget != nil || c.Timeouts != (tool.Timeouts{}) { // which SESSION_START does not tell
		s.record(s.settings.event())
	}
	return s, nil
}

// build makes an agent without a history.
func build(c Config, path string, depth int, log journal, tr *tree) (*Session, error) {
	s := &Session{
		config: c, id: c.ID, path: path, depth: depth, log: log, tree: tr, cache: &llm.Cache{}, course: newCourse(c.machine()),
		state: Idle, settings: settings{c.Provider, c.Model, c.Effort, c.ThinkingBudget, c.Timeouts},
	}
	s.agents = &agents{session: s}
	if depth == 0 {
		tr.root = s
	}
	var err error
	if s.tools, err = s.registry(); err != nil {
		return nil, err
	}
	s.pipe = &tool.Pipeline{Registry: s.tools, Policy: c.Policy, Approve: s.approve, Middleware: c.Middleware, Limits: c.ToolLimits}
	return s, nil
}

// machine is one that has seen nothing yet.
func (c *Config) machine() machine {
	return machine{maxRounds: max(c.Limits.ToolRounds, 0), maxTurns: max(c.Limits.Turns, 0), loop: loopDetector{window: c.LoopWindow}}
}

// ID is the session's name.
func (s *Session) ID() string { return s.id }

// State is where the session is in its life.
func (s *Session) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// Events follows everything that happens in the session and its subagents, behind a record; 0 is
// from the start. It ends when the session is closed, or with an error when ctx ends. Stopping to
// read at any time is fine. With a store, a durable record is seen when it is safe there.
func (s *Session) Events(ctx context.Context, after event.Seq) iter.Seq2[event.Record, error] {
	return s.log.Events(ctx, after)
}

// Last is the number of the last record.
func (s *Session) Last() event.Seq { return s.log.Last() }

// Submit gives the session input and works on it until there is an outcome. Input that waits for
// its turn (FollowUp) is worked on as well; the outcome is that of the last. The error is non-nil
// only if the outcome's status is StatusFailed or StatusInterrupted, or if the work could not
// begin: ErrClosed, ErrBusy while there is other work, ErrNoInput, or a file or image in the input
// that cannot be used. Images are scaled to what every provider takes. Ending ctx interrupts the work;
// the session can go on with the next input. If the session can no longer be saved, the work stops
// with a *SaveError and the session is closed.
func (s *Session) Submit(ctx context.Context, input ...llm.Part) (Outcome, error) {
	return s.submit(ctx, input, nil)
}

// submit is Submit with something to do, by object, when all is done.
func (s *Session) submit(ctx context.Context, input []llm.Part, object func(context.Context) error) (Outcome, error) {
	msg := llm.Message{Role: llm.RoleUser, Parts: input}
	if empty(msg) {
		return Outcome{}, ErrNoInput
	}
	var err error
	if msg.Parts, err = ingest(input); err != nil {
		return Outcome{}, err
	}
	ctx, err = s.begin(ctx)
	if err != nil {
		return Outcome{}, err
	}
	return s.run(ctx, msg, false, object)
}

// run does the work that was begun: on the message, and on what else waits when that is done. An
// empty message goes on with what is unfinished.
func (s *Session) run(ctx context.Context, msg llm.Message, followUp bool, object func(context.Context) error) (out Outcome, err error) {
	defer func() { s.release(err) }()
	s.object = object
	for more := true; more; {
		out, err = s.process(ctx, msg, followUp)
		if failure := s.describe(ctx); failure != nil && err == nil {
			out.Status, err = StatusFailed, failure
		}
		msg, followUp, more = s.proceed(out, err)
	}
	if failure := s.log.Sync(); failure != nil && err == nil {
		out.Status, err = StatusFailed, failure
	}
	return out, err
}

// process works on one input. It is the loop.
func (s *Session) process(ctx context.Context, msg llm.Message, followUp bool) (Outcome, error) {
	before := s.measure()
	s.unfinished = false
	if !empty(msg) {
		s.accept(msg, followUp)
	}
	if err := s.log.Sync(); err != nil {
		return s.conclude(ctx, before, stop{}, err)
	}
	s.agents.takeUp(ctx)
	for {
		s.drainSteering()
		var err error
		switch a := s.m.next().(type) {
		case callModel:
			err = s.callModel(ctx)
		case runTools:
			err = s.runTools(ctx, a.calls)
		case stop:
			return s.conclude(ctx, before, a, s.finish(ctx, a))
		}
		if err != nil {
			return s.conclude(ctx, before, stop{}, err)
		}
	}
}

// accept takes the input in. After a question it is the answer to that, as the tool's result; with
// other calls that wait it comes behind them.
func (s *Session) accept(msg llm.Message, followUp bool) {
	in := event.UserInput{Message: msg, FollowUp: followUp}
	switch {
	case len(s.m.calls) == 0:
		s.fallback = 0
		s.past.input(s.record(in), s.m.place())
		s.m.input(msg)
		if s.depth == 0 {
			s.tree.checkpoint.reset()
		}
	case s.m.question != "":
		s.fallback = 0
		in.Answers = s.m.calls[len(s.m.answers)].ID
		s.record(in)
		s.answerQuestion(msg)
	default:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.enqueue(msg, false)
	}
}

// finish does what is to be done when the model is done.
func (s *Session) finish(ctx context.Context, end stop) error {
	if s.object == nil || end.status != StatusDone || s.anyWaiting() {
		return nil
	}
	return s.object(ctx)
}

// conclude says what came of an input, and makes the history whole: no call stays without a result,
// but those that wait for the user.
func (s *Session) conclude(ctx context.Context, before measure, end stop, failure error) (Outcome, error) {
	end, err := s.judge(ctx, end, failure)
	if end.status != StatusAwaitingInput {
		s.abandon()
	}
	if end.status == StatusInterrupted && !s.config.Subagents.Outlive {
		s.agents.interrupt()
	}
	s.keepLeft(ctx)
	out := s.measure().since(before)
	out.Status, out.Limit, out.Question, out.Text, out.Rounds = end.status, end.limit, s.m.question, s.m.text, s.m.rounds
	return out, err
}

// judge finds out how the work ended, and records what there is to say about it.
func (s *Session) judge(ctx context.Context, end stop, failure error) (stop, error) {
	var limit *limitError
	switch {
	case errors.As(failure, &limit):
		s.record(event.TurnLimit{Limit: limit.name, Value: limit.value, Detail: limit.detail})
		return stop{StatusLimit, limit.name, limit.value}, nil
	case errors.Is(failure, errAsked):
		return stop{status: StatusAwaitingInput}, nil
	case failure != nil && ctx.Err() != nil:
		return stop{status: StatusInterrupted}, fmt.Errorf("interrupted: %w", context.Cause(ctx))
	case end.status == StatusFailed:
		failure = llm.Errorf(llm.ErrMalformed, s.current().provider, "the model gave no answer that could be understood, %d times in a row", maxContinues+1)
	case end.status == StatusLimit:
		s.record(event.TurnLimit{Limit: end.limit, Value: end.value})
	}
	if failure == nil {
		return end, nil
	}
	if llm.KindOf(failure) == llm.ErrContextLength {
		s.record(event.Warning{Message: "The conversation no longer fits into the context window of the model; the session ends here."})
	}
	s.record(asEvent(failure))
	return stop{status: StatusFailed}, failure
}

// measure is what an agent has used, at a moment.
type measure struct {
	at    time.Time
	turns int
	used  llm.Usage
	cost  Cost
}

func (s *Session) measure() measure { return measure{time.Now(), s.m.turns, s.used, s.cost} }

// since is what was used between two moments.
func (m measure) since(before measure) Outcome {
	u, v := m.used, before.used
	return Outcome{
		Turns: m.turns - before.turns, Duration: m.at.Sub(before.at),
		Cost: Cost{m.cost.Dollars - before.cost.Dollars, m.cost.Known},
		Usage: llm.Usage{
			Input: u.Input - v.Input, Output: u.Output - v.Output, Reasoning: u.Reasoning - v.Reasoning,
			CacheRead: u.CacheRead - v.CacheRead, CacheWrite: u.CacheWrite - v.CacheWrite, CacheWriteLong: u.CacheWriteLong - v.CacheWriteLong,
		},
	}
}
