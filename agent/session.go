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

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/tool"
)

// Session is one agent and its conversation. All methods may be called concurrently; input is
// worked on one after the other.
type Session struct {
	config Config
	id     string
	path   string // in the tree of agents; "" is the root
	depth  int
	log    *event.Log
	tools  *tool.Registry
	pipe   *tool.Pipeline
	cache  *llm.Cache
	tree   *tree
	agents *agents // its subagents

	mu       sync.Mutex
	state    State
	settings settings
	steering []llm.Message
	followUp []llm.Message
	cancel   context.CancelCauseFunc // of the input that is worked on
	work     context.Context         // of that input
	idle     chan struct{}           // closed when that work is over

	m      machine // only touched by whoever works on an input
	used   llm.Usage
	cost   Cost
	calls  int
	warned bool

	turns atomic.Int64 // of the model, for others to read
}

// settings are what can change between two calls.
type settings struct {
	provider, model, effort string
	budget                  *int
}

// New makes a session. It makes no calls and starts nothing.
func New(c Config) (*Session, error) {
	if err := c.complete(); err != nil {
		return nil, err
	}
	if c.ID == "" {
		c.ID = rand.Text()
	}
	return newSession(c, "", 0, &event.Log{}, newTree(c.Limits))
}

func newSession(c Config, path string, depth int, log *event.Log, tr *tree) (*Session, error) {
	s := &Session{
		config: c, id: c.ID, path: path, depth: depth, log: log, tree: tr, cache: &llm.Cache{},
		state: Idle, settings: settings{c.Provider, c.Model, c.Effort, c.ThinkingBudget}, cost: Cost{Known: true},
	}
	s.agents = &agents{session: s}
	var err error
	if s.tools, err = s.registry(); err != nil {
		return nil, err
	}
	s.pipe = &tool.Pipeline{Registry: s.tools, Policy: c.Policy, Approve: s.approve, Middleware: c.Middleware, Limits: c.ToolLimits}
	s.m = machine{maxRounds: max(c.Limits.ToolRounds, 0), maxTurns: max(c.Limits.Turns, 0), loop: loopDetector{window: c.LoopWindow}}
	if c.System != "" {
		s.m.say(llm.SystemText(c.System))
	}
	s.record(event.SessionStart{ID: c.ID, Provider: c.Provider, Model: c.Model, Effort: c.Effort, Dir: c.Env.Info().Dir, System: c.System})
	return s, nil
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
// read at any time is fine.
func (s *Session) Events(ctx context.Context, after event.Seq) iter.Seq2[event.Record, error] {
	return s.log.Events(ctx, after)
}

// Submit gives the session input and works on it until there is an outcome. Input that waits for
// its turn (FollowUp) is worked on as well; the outcome is that of the last. The error is non-nil
// only if the outcome's status is StatusFailed or StatusInterrupted, or if the session could not
// begin. Ending ctx interrupts the work; the session can go on with the next input.
func (s *Session) Submit(ctx context.Context, input ...llm.Part) (Outcome, error) {
	ctx, done, err := s.begin(ctx)
	if err != nil {
		return Outcome{}, err
	}
	defer done()
	msg := llm.Message{Role: llm.RoleUser, Parts: input}
	for followUp := false; ; followUp = true {
		out, err := s.process(ctx, msg, followUp)
		next, more := s.nextFollowUp(out, err)
		if !more {
			return out, err
		}
		msg = next
	}
}

// process works on one input. It is the loop.
func (s *Session) process(ctx context.Context, msg llm.Message, followUp bool) (Outcome, error) {
	start := time.Now()
	used, cost, turns := s.used, s.cost, s.m.turns
	s.accept(msg, followUp)
	var failure error
	var end stop
loop:
	for failure == nil {
		s.drainSteering()
		switch a := s.m.next().(type) {
		case callModel:
			failure = s.callModel(ctx)
		case runTools:
			failure = s.runTools(ctx, a.calls)
		case stop:
			end = a
			break loop
		}
	}
	out := Outcome{Status: end.status, Limit: end.limit, Question: s.m.question, Rounds: s.m.rounds, Turns: s.m.turns - turns, Duration: time.Since(start)}
	out.Usage = sub(s.used, used)
	out.Cost = Cost{s.cost.Dollars - cost.Dollars, s.cost.Known}
	out.Text = s.lastText()
	return s.conclude(ctx, out, end, failure)
}

// accept takes the input in. After a question it is the answer to that, as the tool's result.
func (s *Session) accept(msg llm.Message, followUp bool) {
	s.record(event.UserInput{Message: msg, FollowUp: followUp})
	if len(s.m.calls) > 0 {
		s.answerQuestion(msg)
		return
	}
	s.m.input(msg)
}

// conclude records how the work ended and sets the state that it leaves.
func (s *Session) conclude(ctx context.Context, out Outcome, end stop, failure error) (Outcome, error) {
	var limit *limitError
	switch {
	case failure == nil:
	case errors.As(failure, &limit):
		out.Status, out.Limit = StatusLimit, limit.name
		end = stop{StatusLimit, limit.name, limit.value}
		failure = nil
	case errors.Is(failure, errAsked):
		out.Status, failure = StatusAwaitingInput, nil
	case ctx.Err() != nil:
		out.Status = StatusInterrupted
		failure = fmt.Errorf("interrupted: %w", context.Cause(ctx))
	default:
		out.Status = StatusFailed
		s.recordError(failure)
	}
	if out.Status != StatusAwaitingInput {
		s.m.abandon(nil, "interrupted: this tool call was not run")
	}
	if end.status == StatusLimit {
		s.record(event.TurnLimit{Limit: end.limit, Value: end.value})
	}
	state := Idle
	if out.Status == StatusAwaitingInput || out.Status == StatusDone && out.Question != "" {
		state = AwaitingInput
	}
	s.record(event.ProcessingEnd{Outcome: string(out.Status), State: string(state), Rounds: out.Rounds})
	s.setState(state)
	if fatal(failure) {
		s.shutdown("error: " + failure.Error())
	}
	return out, failure
}

// fatal reports whether an error ends the session: calling again cannot help.
func fatal(err error) bool {
	switch llm.KindOf(err) {
	case llm.ErrAuthentication, llm.ErrAccessDenied, llm.ErrContextLength:
		return err != nil
	}
	return false
}

// begin makes the caller the one who works.
func (s *Session) begin(ctx context.Context) (context.Context, func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.state {
	case Closed:
		return nil, nil, ErrClosed
	case Processing:
		return nil, nil, ErrBusy
	}
	ctx, cancel := context.WithCancelCause(ctx)
	s.state, s.cancel, s.work, s.idle = Processing, cancel, ctx, make(chan struct{})
	return ctx, func() {
		cancel(errTurnOver)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.state == Processing {
			s.state = Idle
		}
		close(s.idle)
	}, nil
}

func (s *Session) setState(st State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != Closed {
		s.state = st
	}
}

// Close ends the session: the work at hand is interrupted, its processes are ended, its subagents
// closed, and the log comes to its end. The environment stays open: it is the host's.
func (s *Session) Close() error {
	s.mu.Lock()
	cancel, idle := s.cancel, s.idle
	s.mu.Unlock()
	if cancel != nil {
		cancel(ErrClosed)
		<-idle
	}
	s.shutdown("closed")
	return nil
}

func (s *Session) shutdown(reason string) {
	s.mu.Lock()
	already := s.state == Closed
	s.state = Closed
	s.mu.Unlock()
	if already {
		return
	}
	s.agents.closeAll()
	s.record(event.SessionEnd{Reason: reason})
	if s.depth == 0 {
		s.log.Close()
	}
}

// record adds to the log.
func (s *Session) record(d event.Data) event.Record {
	r, _ := s.log.Append(event.Record{Session: s.id, Agent: s.path, Data: d})
	return r
}

func (s *Session) recordError(err error) {
	var e *llm.Error
	rec := event.Error{Class: string(llm.KindOf(err)), Message: err.Error()}
	if errors.As(err, &e) {
		rec.Retryable = e.Retryable()
	}
	s.record(rec)
}

func (s *Session) lastText() string {
	for i := len(s.m.messages) - 1; i >= 0; i-- {
		if m := s.m.messages[i]; m.Role == llm.RoleAssistant {
			return m.Text()
		} else if m.Role == llm.RoleUser {
			return ""
		}
	}
	return ""
}

func sub(a, b llm.Usage) llm.Usage {
	return llm.Usage{
		Input: a.Input - b.Input, Output: a.Output - b.Output, Reasoning: a.Reasoning - b.Reasoning,
		CacheRead: a.CacheRead - b.CacheRead, CacheWrite: a.CacheWrite - b.CacheWrite, CacheWriteLong: a.CacheWriteLong - b.CacheWriteLong,
	}
}
