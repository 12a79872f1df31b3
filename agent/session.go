package agent

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"
	"unique"

	"github.com/reins-agent/reins/agent/step"
	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy"
)

// Session is one agent and its conversation. All methods may be called concurrently. An idle session uses no
// goroutines, except for each background command that runs.
type Session struct {
	id     string
	path   string // in the agent tree; "" means the root
	depth  int
	parent *Session // nil for the root
	config Config   // as given; Reconfigure changes now
	log    journal
	cache  *llm.Cache
	tree   *tree

	changing sync.Mutex // held while a Change is prepared and applied; taken before tree.mu

	// Guarded by tree.mu. Only note changes the state.
	state    *step.State
	now      Config // in effect
	kit      *kit
	changes  []change // for the next safe point
	closing  bool     // no more work may begin
	closed   bool
	work     *work // nil if idle
	waiting  map[string]chan<- approval
	replies  map[string]chan event.QuestionAnswered // questions asked by Ask, by ID
	steering chan struct{}                          // closed when a message is queued; nil if no tool waits

	// Only in subagents: the record that spawned it, and the text before each task.
	spawned event.SubagentStart
	preface string

	ending sync.Once
	endErr error

	// Used only by the goroutine that works on an input.
	failure   error // of the last attempt
	sent      []llm.Message
	meta      event.Meta
	described time.Time // when meta was last saved

	describing sync.Mutex // held while meta is saved; guards its title
	resumed    bool
	started    bool // SessionStart hooks have run
	warned     bool // a missing approver was reported
	shrinking  bool // PreCompact hooks have run, and the conversation is not compacted yet
}

// tree is shared by all agents in a session.
type tree struct {
	mu         sync.Mutex
	fold       *step.Tree
	agents     map[string]*Session // by path
	checkpoint sync.Mutex          // held while a checkpoint is taken
	warned     bool                // a failed checkpoint was reported; guarded by checkpoint

	background map[string]string // agents by the ID of the background commands they started; guarded by mu
	watches    sync.WaitGroup    // goroutines that wait for the end of background commands
	watching   context.Context   // of these goroutines
	unwatch    context.CancelFunc
	stopping   bool // background commands are being stopped, because the session is closed; guarded by mu

	// These decide about calls in all agents; guarded by mu.
	policy   policy.Policy
	approver *approver
}

func newTree() *tree {
	t := &tree{fold: step.NewTree(), agents: make(map[string]*Session)}
	t.watching, t.unwatch = context.WithCancel(context.Background())
	return t
}

// New creates a session, and saves it in the store if there is one. It makes no model calls and starts no work. It
// fails if the configuration is invalid, naming every problem.
func New(c Config) (*Session, error) {
	if err := c.complete(); err != nil {
		return nil, err
	}
	if err := c.Catalogue.CheckEffort(c.Provider, c.Model, c.Effort); err != nil {
		return nil, err
	}
	c.ID = cmp.Or(c.ID, rand.Text())
	// Prompts are long, and sessions in one project share theirs.
	c.System = unique.Make(c.System).Value()
	log, err := c.newLog()
	if err != nil {
		return nil, err
	}
	s, err := newSession(c, "", nil, log, newTree())
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	s.meta = c.Meta
	s.warnUnattended()
	return s, nil
}

// newSession creates an agent without earlier records, and records its start.
func newSession(c Config, path string, parent *Session, log journal, tr *tree) (*Session, error) {
	s, err := build(c, path, parent, log, tr)
	if err != nil {
		return nil, err
	}
	s.record(event.SessionStart{ID: c.ID, Setup: s.setup(), Dir: c.Env.Info().Dir, System: c.System})
	return s, nil
}

// build creates an agent with the state that the tree has for its path.
func build(c Config, path string, parent *Session, log journal, tr *tree) (_ *Session, err error) {
	s := &Session{
		config: c,
		now:    c,
		id:     c.ID,
		path:   path,
		parent: parent,
		log:    log,
		tree:   tr,
		cache:  &llm.Cache{},
	}
	if parent != nil {
		s.depth = parent.depth + 1
	}
	if s.kit, err = s.newKit(c); err != nil {
		return nil, err
	}
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if parent == nil {
		tr.policy, tr.approver = c.Policy, newApprover(c.Approve)
	}
	s.state, tr.agents[path] = tr.fold.Agent(path), s
	return s, nil
}

// ID returns the session ID.
func (s *Session) ID() string { return s.id }

// Env returns the environment in which the session's tools work now.
func (s *Session) Env() env.Environment {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	return s.now.Env
}

// Setup returns the settings that are in effect.
func (s *Session) Setup() event.Setup {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	return s.setup()
}

// State returns the session's state.
func (s *Session) State() State {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	switch {
	case s.closed:
		return Closed
	case s.work != nil:
		return Processing
	}
	return s.state.Phase()
}

// Events yields the records of the session and its subagents with numbers above after, and then new records as they are
// appended; 0 starts at the beginning. Any number of readers may follow the session.
//
//   - Every reader sees all durable records after that number, once and in order, however slow it is. Pass the last
//     number that was seen to continue elsewhere.
//   - Transient records, such as streamed text, have number 0 and may be missing for slow readers. A later durable
//     record contains their content.
//   - With a store, a durable record is yielded when it is saved, so a crash loses nothing that a reader has seen.
//   - A reader never slows down the work, and may stop at any time.
//   - The iteration ends after the last record when the session is closed. When ctx is done, it ends with the cause as
//     an error.
func (s *Session) Events(ctx context.Context, after event.Seq) iter.Seq2[event.Record, error] {
	return s.log.Events(ctx, after)
}

// Records yields the durable records with numbers above after, up to the last record at the time of the call; 0 starts
// at the beginning. It ends with an error when ctx is done.
func (s *Session) Records(ctx context.Context, after event.Seq) iter.Seq2[event.Record, error] {
	last := s.Last()
	return func(yield func(event.Record, error) bool) {
		if last <= after {
			return // nothing to wait for
		}
		for r, err := range s.Events(ctx, after) {
			if err == nil && r.Seq == 0 { // transient
				continue
			}
			if !yield(r, err) || r.Seq >= last {
				return
			}
		}
	}
}

// Last returns the last record number.
func (s *Session) Last() event.Seq { return s.log.Last() }

// Messages returns the conversation so far.
func (s *Session) Messages() []llm.Message {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	return s.state.Messages()
}

// Total returns the usage so far, by the session and all its subagents.
func (s *Session) Total() Total {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	return s.tree.fold.At(time.Now())
}

// Submit gives the session input and works on it until there is an outcome. It also works on queued input (see
// FollowUp); the outcome then belongs to the last input.
//
// The error is non-nil only if the outcome's status is StatusFailed or StatusInterrupted, or if the work could not
// begin: ErrClosed, ErrBusy, ErrNoInput, a *BlockedError, or a file or image in the input that cannot be used. Images
// are scaled to sizes that every provider accepts.
//
// Cancelling ctx interrupts the work; Continue or the next input continues it. If the session can no longer be saved,
// the work stops with a *SaveError and the session is closed.
func (s *Session) Submit(ctx context.Context, input ...llm.Part) (Outcome, error) {
	return s.submit(ctx, input, event.UserInput{})
}

// submit submits parts with the origin and output format in in.
func (s *Session) submit(ctx context.Context, parts []llm.Part, in event.UserInput) (Outcome, error) {
	msg, err := message(parts)
	if err != nil {
		return Outcome{}, err
	}
	in.Message = msg
	ctx, err = s.begin(ctx)
	if err != nil {
		return Outcome{}, err
	}
	if err = s.startHooks(ctx); err == nil {
		err = s.submitHooks(ctx, msg)
	}
	if err != nil {
		s.release(Outcome{}, err)
		return Outcome{}, err
	}
	return s.run(ctx, func() bool { return s.accept(in) })
}

// Continue is Submit without input. It continues work that was interrupted or failed, in this process or another, and
// handles tool calls that wait for approval and queued messages. If only subagents have work left, it continues that
// and waits for them. It returns ErrNothingToContinue if there is nothing to do, or if a question must be answered
// first.
func (s *Session) Continue(ctx context.Context) (Outcome, error) {
	ctx, err := s.begin(ctx)
	if err != nil {
		return Outcome{}, err
	}
	s.tree.mu.Lock()
	_, ok := s.state.Resumption()
	s.tree.mu.Unlock()
	if !ok {
		return s.accompany(ctx)
	}
	if err := s.startHooks(ctx); err != nil {
		s.release(Outcome{}, err)
		return Outcome{}, err
	}
	return s.run(ctx, s.resumes)
}

// run calls start, which records what to work on, and works on that and on queued input.
func (s *Session) run(ctx context.Context, start func() bool) (out Outcome, err error) {
	left := false // the work has ended, and other work may have begun
	defer func() {
		if !left {
			s.release(out, err)
		}
	}()
	s.warnUnattended() // in a resumed session: opening it must not change it
	s.takeUp(ctx)
	begun := time.Now()
	for more := start(); more; {
		out, err = s.process(ctx)
		s.endHooks(ctx, out, err)
		s.checkpointAfter(ctx)
		out.Duration = time.Since(begun)
		if failure := s.keep(ctx); failure != nil && err == nil {
			out.Status, err = StatusFailed, failure
		}
		more, left = s.proceed(out, err)
	}
	return out, err
}

// accept records input. Interrupted calls get their results first.
func (s *Session) accept(in event.UserInput) bool {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	s.settle()
	d := s.state.Accept(in)
	s.note(d)
	if _, queued := d.(event.SteeringQueued); queued && !s.state.Open() {
		s.note(event.Continue{})
	}
	return true
}

// settle records the results of calls that will no longer run; tree.mu is held.
func (s *Session) settle() {
	for d, ok := s.state.Settle(); ok; d, ok = s.state.Settle() {
		s.note(d)
	}
}

// process is the loop: it performs the actions that the state returns until an action ends the work.
func (s *Session) process(ctx context.Context) (Outcome, error) {
	err := s.log.Sync()
	for {
		if err = s.take(ctx, err); err != nil {
			out, _ := s.outcome(step.Stop{Status: StatusFailed})
			return out, err
		}
		switch a := s.next().(type) {
		case step.Append:
			s.shrink(ctx, a.Data.(event.Compaction))
		case step.CallModel:
			if a.Purpose == event.PurposeSummary {
				s.beforeShrinking(ctx, autoCompact)
			}
			err = s.callModel(ctx, a)
		case step.RunTools:
			err = s.runTools(ctx, a.Calls)
		case step.RunHooks:
			s.stopHooks(ctx, a)
		case step.Await:
			if s.asked(a) {
				return s.outcome(step.Stop{Status: a.End.Outcome, Question: a.Question, Rounds: a.End.Rounds})
			}
			err = s.runTools(ctx, a.Approvals)
		case step.Stop:
			return s.outcome(a)
		}
	}
}

// next returns the next action, after recording the facts that follow from the records. It returns a compaction only if
// there are hooks for it.
func (s *Session) next() step.Action {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	for {
		s.applyChanges()
		next := s.state.Next()
		a, ok := next.(step.Append)
		if _, compacts := a.Data.(event.Compaction); !ok || compacts && s.watchesCompaction() {
			return next
		}
		if d, over := a.Data.(event.ProcessingEnd); over && s.closing {
			d.State = Closed
			a.Data = d
		}
		s.note(a.Data)
	}
}

// take records that the work was interrupted or that a hook failed. It returns an error if that cannot be
// recorded.
func (s *Session) take(ctx context.Context, err error) error {
	var save *SaveError
	switch {
	case errors.As(err, &save):
		return err
	case ctx.Err() != nil:
		s.interrupted(context.Cause(ctx))
	case err != nil:
		s.failure = err
		s.record(asEvent(err))
	}
	return nil
}

// interrupted records an interruption, unless the work is over anyway.
func (s *Session) interrupted(cause error) {
	s.tree.mu.Lock()
	over := s.state.Halting()
	if !over {
		s.failure = fmt.Errorf("interrupted: %w", cause)
		s.note(event.Interrupted{Reason: cause.Error()})
	}
	s.tree.mu.Unlock()
	if !over && !s.config.Subagents.Outlive {
		s.interruptBelow()
	}
}

// proceed ends the work, or continues with a message that came at the last moment. It reports whether there is more to
// do, and whether the work has ended.
func (s *Session) proceed(out Outcome, err error) (more, left bool) {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	if d, ok := s.state.Resumption(); ok && out.Status == StatusDone && err == nil && !s.closing {
		s.note(d)
		return true, false
	}
	if s.closing || fatal(err) {
		return false, false
	}
	s.leave(out, err)
	return false, true
}
