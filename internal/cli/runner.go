package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/config"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/exepages"
	"github.com/reins-agent/reins/internal/realpath"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/llm"
)

// errDeadline is the cause of a context that --deadline has cancelled.
var errDeadline = errors.New("deadline exceeded")

// runner carries out one run. It always ends by showing a result.
type runner struct {
	*opener
	view  face
	start time.Time
	store event.Store // nil if the session is not saved
	after event.Seq   // the last record of earlier runs

	ended sync.Once // the first model call has ended

	mu        sync.Mutex // guards the fields below
	spent     event.Spending
	id        string
	elsewhere bool // the session belongs to another directory
	out       agent.Outcome
	questions []event.Question // that the agent waits for
	warnings  []string         // of all agents
	answered  bool             // the main agent's model has answered
	refusal   string           // how the main agent's model refused the last call, if it did
	limit     event.TurnLimit  // the last limit that the main agent reached
	cost      float64          // of the whole session
	denied    []string         // what the sandbox denied to commands, as the user was told
	err       error
}

func newRunner(h Host, v face, o run) *runner {
	a := &asker{host: h, view: v, keys: keyboard{in: h.Stdin}}
	return &runner{opener: &opener{host: h, flags: o, asker: a}, view: v, start: time.Now()}
}

// run does the work and shows the result. A second interrupt does not wait for the work to stop.
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
	err := r.view.finish(res)
	if res.ExitCode != exitOK {
		return quietError{res.ExitCode}
	}
	return err
}

// guard records and returns the error of f. A panic becomes an error.
func (r *runner) guard(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("internal error, please report this bug: %v", v)
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
	refused, missing := r.asker.unanswered()
	res := result{
		Type:       "result",
		Text:       r.out.Text,
		Question:   r.out.Question,
		Limit:      r.out.Limit,
		Rounds:     r.out.Rounds,
		Refused:    refused,
		Warnings:   r.warnings,
		missing:    missing,
		refusal:    r.refusal,
		DurationMS: time.Since(r.start).Milliseconds(),
		SessionID:  r.id,
		saved:      r.id != "" && !r.flags.noSave,
		elsewhere:  r.elsewhere,
		reached:    reached{flags: r.flags, limit: r.limit, cost: r.cost, resumed: r.after > 0},
	}
	spent := r.spent.Clone()
	res.Usage, res.Turns, res.Cost, res.Models = spent.Total.Usage, spent.Turns, spent.Total.Cost().Pointer(), spent.Models
	err := r.err
	if r.out.Status == agent.StatusAwaitingInput {
		res.Questions = r.questions
	}
	if r.out.Status == "" && err == nil {
		err = errInterrupted // by the second interrupt
	}
	res.end(ctx, r.out.Status, err)
	if res.dear = res.overspent(); res.dear != "" {
		res.Warnings = append(slices.Clone(res.Warnings), res.dear)
	}
	return res
}

// work opens the session and works on the prompt.
func (r *runner) work(ctx context.Context, stop context.CancelCauseFunc, args []string) (err error) {
	if err := r.flags.check(); err != nil {
		return err
	}
	prompt, err := readPrompt(ctx, r.host, args)
	if err != nil && !(r.flags.resumes() && errors.Is(err, errNoPrompt)) {
		return err
	}
	prompt = flagHidden(r.host, prompt)
	r.given = prompt
	place, err := r.flags.place(ctx, r.host, cmp.Or(r.flags.dir, "."), runCommand)
	if err != nil {
		return err
	}
	if r.standby, err = newStandby(r.host, r.flags); err != nil {
		return errors.Join(err, place.discard(ctx))
	}
	defer r.standby.close()
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
	if !r.asker.unattended() {
		r.asker.keys.listen(func(line string) { r.steer(s, line) })
		defer r.asker.keys.flush()
	}
	defer func() {
		_ = s.Close()
		<-watched
		err = errors.Join(err, r.dropRefused(ctx, place, err))
	}()
	if r.standby == nil {
		return r.converse(ctx, s, prompt)
	}
	if err := r.standby.start(ctx, r, s); err != nil {
		return err
	}
	if err := r.converse(ctx, s, prompt); err != nil {
		return err
	}
	return r.standby.wait(ctx, r)
}

// dropRefused deletes the new session of a run whose key the provider refused before the model answered: there is
// nothing to continue.
func (r *runner) dropRefused(ctx context.Context, place saved, err error) error {
	kind := llm.KindOf(err)
	r.mu.Lock()
	defer r.mu.Unlock()
	if place.store == nil || place.resumes() && !place.fresh || r.answered || kind != llm.ErrAuthentication && kind != llm.ErrAccessDenied {
		return nil
	}
	id := r.id
	r.id = ""
	return place.store.Delete(context.WithoutCancel(ctx), id)
}

// begin connects to the model and opens the session.
func (r *runner) begin(ctx context.Context, place saved) (s *agent.Session, err error) {
	k, err := r.prepare(ctx, place)
	if err != nil {
		return nil, err
	}
	s, err = r.session(ctx, k, place)
	if c := r.flags.settings; err == nil && place.resumes() && c != nil && layerOf(c, "permissions.mode") == config.LayerFlag {
		err = s.SetMode(r.flags.permitted.mode) // it also ends a plan mode that the model entered
	}
	return s, explainResume(cmp.Or(place.meta.ID, r.flags.id), explainExists(r.flags.id, "--session-id", err))
}

// showPlace shows the working directory, unless it is the current one.
func (r *runner) showPlace(dir string) {
	here, err := realpath.Dir(".")
	if err == nil && realpath.Same(dir, here) {
		return
	}
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	r.mu.Lock()
	r.elsewhere = true
	r.mu.Unlock()
	r.view.workingIn(shortDir(r.host, dir))
}

// converse submits the prompt, and then the user's answers to the agent's questions.
func (r *runner) converse(ctx context.Context, s *agent.Session, input string) error {
	out, err := r.submitTo(ctx, s, input)
	for {
		r.mu.Lock()
		r.out, r.cost, r.questions = out, s.Total().Cost.Dollars, s.Questions()
		r.mu.Unlock()
		if err != nil || out.Status != agent.StatusAwaitingInput || r.asker.unattended() {
			return err
		}
		answers, failed := r.asker.answer(ctx, s.Questions())
		switch {
		case errors.Is(failed, errNoAnswer):
			return nil
		case failed != nil:
			return failed
		}
		out, err = s.Answer(ctx, answers...)
	}
}

// runCommand is the command that continues a session, without its ID.
const runCommand = "reins run --resume"

// steer sends the agent a line typed while it works.
func (r *runner) steer(s *agent.Session, line string) {
	r.view.typed()
	if err := s.Steer(llm.Text{Text: line}); err != nil {
		notef(r.host, "not sent to the agent: %s", line)
	}
}

// continuePrompt continues work that stopped at a limit, if the user gives no other prompt.
const continuePrompt = "Continue the task where you stopped."

// submitTo gives the agent input. Without input, it continues interrupted work or repeats the agent's
// question.
func (r *runner) submitTo(ctx context.Context, s *agent.Session, input string) (agent.Outcome, error) {
	switch {
	case input != "" && s.Question() != "": // an answer is not a command
		return s.Submit(ctx, llm.Text{Text: input})
	case input != "":
		if parts, ok, err := r.tools.command(ctx, input); ok || err != nil {
			if err != nil {
				return agent.Outcome{}, usageError{err}
			}
			return s.Submit(ctx, parts...)
		}
		return r.commands.Submit(ctx, s, input)
	}
	if q := s.Question(); q != "" {
		return agent.Outcome{Status: agent.StatusAwaitingInput, Question: q}, nil
	}
	out, err := s.Continue(ctx)
	switch {
	case !errors.Is(err, agent.ErrNothingToContinue):
		return out, err
	case r.stoppedShort(ctx, s.ID()):
		return s.Submit(ctx, llm.Text{Text: continuePrompt})
	}
	return out, usagef("session %s is finished; pass a prompt to continue", s.ID())
}

// stoppedShort reports whether the last input before this run was interrupted, failed or reached a
// limit. It reads the store, because Session.Events would wait for more.
func (r *runner) stoppedShort(ctx context.Context, id string) bool {
	short := false
	for rec, err := range r.store.Load(ctx, id, 0) {
		if err == nil && rec.Seq > r.after {
			break
		}
		if err != nil || rec.Agent != "" { // unreadable records were skipped when the session was resumed
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

// watch shows the events until the session ends. It stops the run when they can no longer be shown.
func (r *runner) watch(s *agent.Session, stop context.CancelCauseFunc) error {
	var unseen error
	for rec, err := range s.Events(context.Background(), 0) {
		if err != nil {
			return err
		}
		if 0 < rec.Seq && rec.Seq <= r.after { // transient events have no number
			r.view.replay(rec)
			r.asker.note(rec)
			continue
		}
		r.note(rec)
		if unseen == nil {
			if unseen = r.view.show(rec); unseen != nil {
				stop(unseen)
			}
		}
		r.asker.note(rec)
	}
	return unseen
}

// note counts the spending of an event, tells the user what the sandbox denied, and records a limit that the main agent reached and a refusal of its model.
func (r *runner) note(rec event.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spent.Add(rec)
	if end, ok := rec.Data.(event.ToolCallEnd); ok {
		if why, _ := end.Fields["denied"].(string); why != "" && !slices.Contains(r.denied, why) {
			r.denied = append(r.denied, why)
			notef(r.host, "%s", why)
		}
	}
	if d, ok := rec.Data.(event.Warning); ok {
		r.warnings = append(r.warnings, d.Message)
	}
	if rec.Agent != "" {
		return
	}
	switch d := rec.Data.(type) {
	case event.TurnLimit:
		r.limit = d
	case event.ModelCallEnd:
		r.ended.Do(exepages.Drop)
		r.answered = r.answered || d.Error == nil
		r.refusal = ""
		if d.Detail != "" {
			r.refusal = show.Refusal(d)
		}
	}
}
