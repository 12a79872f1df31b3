package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// errDeadline ends a run that took too long.
var errDeadline = errors.New("the deadline has passed")

// runner carries out one run. Whatever happens, it ends by showing a result.
type runner struct {
	host  Host
	view  view
	asker *asker
	flags run
	vars  map[string]string // for the commands that the agent runs
	start time.Time
	store event.Store // of the session; nil saves nothing
	after event.Seq   // what the session had seen before this run
	given string      // the prompt; "" goes on with what there is

	mu        sync.Mutex // guards what the work has come to
	spent     event.Spending
	id        string
	elsewhere bool // it is not in the present directory
	out       agent.Outcome
	limit     event.TurnLimit // that the agent stopped at last
	cost      float64         // of the whole session
	err       error
}

func newRunner(h Host, v view, o run) *runner {
	return &runner{host: h, view: v, flags: o, asker: &asker{host: h, view: v, keys: keyboard{in: h.Stdin}}, start: time.Now()}
}

// run does the work and shows the result. The second interruption does not wait for the work to
// end in order.
func (r *runner) run(ctx context.Context, prompt []string) error {
	defer surviveBrokenPipe()()
	if d := r.flags.deadline; d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, d, errDeadline)
		defer cancel()
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = r.guard(func() error { return r.work(ctx, stop, prompt) })
	}()
	select {
	case <-done:
	case <-r.host.quit:
	}
	res := r.result(ctx)
	if err := r.view.finish(res); err != nil && res.ExitCode == exitOK {
		return err
	}
	if res.ExitCode != exitOK {
		return quietError{res.ExitCode}
	}
	return nil
}

// guard takes down the error of f, a panic included, and returns it.
func (r *runner) guard(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("reins itself failed, which is a bug: %v", v)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.err == nil {
			r.err = err
		}
	}()
	return f()
}

func (r *runner) result(ctx context.Context) result {
	r.mu.Lock()
	defer r.mu.Unlock()
	res := result{
		Type: "result", Text: r.out.Text, Question: r.out.Question, Limit: r.out.Limit, Rounds: r.out.Rounds,
		Refused: r.asker.unanswered(), DurationMS: time.Since(r.start).Milliseconds(), SessionID: r.id,
		saved: r.id != "" && !r.flags.noSave, elsewhere: r.elsewhere,
		reached: reached{
			budget: r.flags.budget, maxTurns: r.flags.maxTurns, deadline: r.flags.deadline,
			limit: r.limit, cost: r.cost, resumed: r.after > 0,
		},
	}
	spent := r.spent.Clone()
	res.Usage, res.Turns, res.Cost, res.Models = spent.Total.Usage, spent.Turns, spent.Total.Cost().Pointer(), spent.Models
	err := r.err
	if r.out.Status == "" && err == nil {
		err = errInterrupted // it was left in the middle of its work
	}
	res.end(ctx, r.out.Status, err)
	return res
}

// work sets the agent up and works on the prompt.
func (r *runner) work(ctx context.Context, stop context.CancelCauseFunc, args []string) error {
	if err := r.flags.check(); err != nil {
		return err
	}
	prompt, err := readPrompt(ctx, r.host, args)
	if err != nil && !(r.flags.resumes() && errors.Is(err, errNoPrompt)) {
		return err
	}
	r.given = prompt
	place, err := r.flags.place(ctx, r.host, cmp.Or(r.flags.dir, "."), runCommand)
	if err != nil {
		return err
	}
	if place.resumes() {
		if r.flags.dir, err = place.dir(r.flags.dir); err != nil {
			return errors.Join(err, place.discard(ctx))
		}
		r.flags.follow(place.meta)
	}
	if err := checkDir(r.flags.dir); err != nil {
		return errors.Join(err, place.discard(ctx))
	}
	s, err := r.begin(ctx, place)
	if err != nil {
		return errors.Join(err, place.discard(ctx))
	}
	r.mu.Lock()
	r.id, r.after = s.ID(), place.meta.Last
	r.mu.Unlock()
	if place.store != nil {
		r.store = place.store
		r.showPlace(cmp.Or(r.flags.dir, "."))
	}
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		if err := r.guard(func() error { return r.watch(s, stop) }); err != nil {
			stop(err)
		}
	}()
	if !r.asker.nobody() {
		r.asker.keys.listen(func(line string) { r.steer(s, line) })
		defer r.asker.keys.forget()
	}
	defer func() {
		_ = s.Close()
		<-watched
	}()
	return r.converse(ctx, s, prompt)
}

// begin connects to the model and opens the session in its directory.
func (r *runner) begin(ctx context.Context, place saved) (*agent.Session, error) {
	k, err := r.flags.connection.open(ctx, r.host)
	if err != nil {
		return nil, err
	}
	s, err := r.session(ctx, k, place)
	if err != nil {
		return nil, whyNotResumed(cmp.Or(place.meta.ID, r.flags.id), err)
	}
	return s, nil
}

// checkDir refuses a working directory that is not one; "" is the current directory.
func checkDir(dir string) error {
	info, err := os.Stat(cmp.Or(dir, "."))
	switch {
	case err != nil:
		return usagef("--cwd: %w", err)
	case !info.IsDir():
		return usagef("--cwd: %s is not a directory", dir)
	}
	return nil
}

// showPlace says where the work is done, unless it is here, where commands that name no session
// look for it.
func (r *runner) showPlace(dir string) {
	here, err := realDir(".")
	if err == nil && sameDir(dir, here) {
		return
	}
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	r.mu.Lock()
	r.elsewhere = true
	r.mu.Unlock()
	r.view.worksIn(shortDir(r.host, dir))
}

// converse gives the agent the prompt, and then the answers to what it asks.
func (r *runner) converse(ctx context.Context, s *agent.Session, input string) error {
	for {
		out, err := r.submit(ctx, s, input)
		r.mu.Lock()
		r.out, r.cost = out, s.Total().Cost.Dollars
		r.mu.Unlock()
		if err != nil || out.Status != agent.StatusAwaitingInput || r.asker.nobody() {
			return err
		}
		input, err = r.asker.answer(ctx, out.Question)
		switch {
		case errors.Is(err, errNoAnswer):
			return nil
		case err != nil:
			return err
		}
	}
}

// runCommand is what to type before the id of a session to continue it.
const runCommand = "reins run --resume"

// steer sends the agent a line that was typed while it works.
func (r *runner) steer(s *agent.Session, line string) {
	r.view.typed()
	if err := s.Steer(llm.Text{Text: line}); err != nil {
		aside(r.host, "not sent to the agent: %s", line)
	}
}

// goOn is what the agent is told if its work did not come to an end and nobody says how to go on.
const goOn = "Go on with the task where you stopped."

// submit gives the agent input. Without any it goes on with what was cut off, or asks again what it
// had asked.
func (r *runner) submit(ctx context.Context, s *agent.Session, input string) (agent.Outcome, error) {
	if input != "" {
		return s.Submit(ctx, llm.Text{Text: input})
	}
	if q := s.Question(); q != "" {
		return agent.Outcome{Status: agent.StatusAwaitingInput, Question: q}, nil
	}
	out, err := s.Continue(ctx)
	switch {
	case !errors.Is(err, agent.ErrNothingToContinue):
		return out, err
	case r.stoppedShort(ctx, s.ID()):
		return s.Submit(ctx, llm.Text{Text: goOn})
	}
	return out, usagef("session %s is finished; pass a prompt to continue", s.ID())
}

// stoppedShort reports whether the last input before this run ended without being done: it was
// interrupted, it failed, or there was a limit. It asks the store, whose records come to an end,
// where those of the session would be waited for.
func (r *runner) stoppedShort(ctx context.Context, id string) bool {
	short := false
	for rec, err := range r.store.Load(ctx, id, 0) {
		if err == nil && rec.Seq > r.after {
			break
		}
		if err != nil || rec.Agent != "" { // one that cannot be read was gone on without
			continue
		}
		switch d := rec.Data.(type) {
		case event.ProcessingEnd:
			short = d.Outcome != agent.StatusDone
		case event.Rewind:
			short = short && !d.Chat
		}
	}
	return short
}

// watch shows the events to their end. When nobody can see them any more, the run is stopped.
func (r *runner) watch(s *agent.Session, stop context.CancelCauseFunc) error {
	var unseen error
	for rec, err := range s.Events(context.Background(), 0) {
		if err != nil {
			return err
		}
		if 0 < rec.Seq && rec.Seq <= r.after { // what is not kept has no number
			r.view.recall(rec)
			continue
		}
		r.count(rec)
		if unseen == nil {
			if unseen = r.view.show(rec); unseen != nil {
				stop(unseen)
			}
		}
		switch d := rec.Data.(type) {
		case event.ApprovalRequested:
			r.asker.arrive(d.ID)
		case event.TurnLimit:
			r.reach(rec.Agent, d)
		}
	}
	return unseen
}

// count adds up what the run uses.
func (r *runner) count(rec event.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spent.Add(rec)
}

// reach notes the limit that the agent itself stopped at; those of subagents are for it to mind.
func (r *runner) reach(agent string, d event.TurnLimit) {
	if agent == "" {
		r.mu.Lock()
		r.limit = d
		r.mu.Unlock()
	}
}
