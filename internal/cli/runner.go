package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/ask"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/exepages"
	"github.com/reins-agent/reins/internal/keyboard"
	"github.com/reins-agent/reins/internal/realpath"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/session"
	"github.com/reins-agent/reins/tool"
)

// errDeadline is the cancellation cause when --deadline has passed.
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
	out       session.Outcome
	left      *leftTree        // with --worktree
	questions []event.Question // that the agent waits for
	pending   []pendingJSON    // calls that wait for an approval
	warnings  []string         // of all agents
	answered  bool             // the main agent's model has answered
	refusal   string           // how the main agent's model refused the last call, if it did
	limit     event.TurnLimit  // the last limit that the main agent reached
	cost      float64          // the whole session's cost
	denied    []string         // sandbox denials that the user was told about
	err       error
}

func newRunner(h Host, v face, o run) *runner {
	r := &runner{opener: newOpener(h, o), view: v, start: time.Now()}
	r.asker.view = v
	return r
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
		if r.flags.inTree {
			_ = r.guard(func() error { return r.saveTree(context.WithoutCancel(ctx)) })
		}
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
		Object:     json.RawMessage(r.out.Object),
		Question:   r.out.Question,
		Limit:      r.out.Limit,
		Rounds:     r.out.Rounds,
		Refused:    refused,
		Warnings:   r.warnings,
		Worktree:   r.left,
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
	if r.out.Status == agent.StatusAwaitingApproval {
		res.Pending = r.pending
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
	r.unattend()
	r.working = ctx
	s, err := r.begin(ctx, place)
	if err != nil {
		return errors.Join(err, place.discard(ctx))
	}
	r.mu.Lock()
	r.id, r.after = s.ID(), place.meta.Last
	r.mu.Unlock()
	if r.alone && r.flags.waitForCalls {
		if err := s.reachable(); err != nil {
			return errors.Join(fmt.Errorf("approvals cannot be answered from another process: %w", err), s.Close())
		}
	}
	if place.store != nil {
		r.store = place.store
		r.showPlace(cmp.Or(r.flags.dir, "."))
	}
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		if err := r.guard(func() error { return r.watch(ctx, s, stop) }); err != nil {
			stop(err)
		}
	}()
	if !r.alone {
		r.asker.gaveUp = func(id string, d event.ApprovalRequested) { r.refuseUnanswered(ctx, s, id, d) }
		r.asker.keys.Listen(func(line string) { r.steer(s, line) })
		defer r.asker.keys.Flush()
	}
	defer func() {
		_ = s.Close()
		<-watched
		err = errors.Join(err, r.dropRefused(ctx, place, err))
	}()
	if r.standby == nil {
		return r.converse(ctx, s, prompt)
	}
	if err := r.standby.start(ctx, r, s.Agent()); err != nil {
		return err
	}
	if err := r.converse(ctx, s, prompt); err != nil {
		return err
	}
	return r.standby.wait(ctx, r)
}

// unattend decides what happens to calls that need an approval.
func (r *runner) unattend() {
	r.alone = r.asker.unattended()
	switch {
	case r.flags.deferCalls:
		r.approvals = session.DeferApproval
	case r.alone && !r.flags.waitForCalls:
		r.approvals = session.RefuseApproval
		r.refuse = func(ctx context.Context, q tool.Request) tool.Approval {
			return r.asker.refuse(ctx, q, "there is no terminal to ask on")
		}
	}
}

// attend asks the user a record's question or, without a terminal, prints how to answer it.
func (r *runner) attend(ctx context.Context, s session.Handle, rec event.Record) {
	d, asks := rec.Data.(event.ApprovalRequested)
	switch {
	case asks && r.approvals != session.WaitForApproval: // the call is refused, or stays pending
	case asks && r.alone:
		r.announce(ask.ID(rec.Agent, d.ID), d)
	default:
		r.asker.note(ctx, s, rec)
	}
}

// attendOpen does the same for the calls that waited for an approval before this run.
func (r *runner) attendOpen(ctx context.Context, s session.Handle) error {
	state, err := s.Snapshot(ctx)
	if err != nil || r.approvals != session.WaitForApproval {
		return err
	}
	for _, p := range state.Approvals() {
		if id := ask.ID(p.Agent, p.ID); r.alone {
			r.announce(id, p.ApprovalRequested)
		} else {
			r.asker.pose(ctx, s, id, p.ApprovalRequested)
		}
	}
	return nil
}

func (r *runner) announce(id string, d event.ApprovalRequested) {
	notef(r.host, "%s waits for approval; to answer, run: reins approve %s %s", ask.FromRequest(d).Title, r.id, id)
}

// refuseUnanswered refuses a call that was not answered because the terminal closed.
func (r *runner) refuseUnanswered(ctx context.Context, s *shared, id string, d event.ApprovalRequested) {
	refused := r.asker.deny(d.Tool, d.Reason, d.Accesses, rulesOf(ask.FromRequest(d)), keyboard.ErrNoAnswer.Error())
	if !strings.Contains(id, ":") {
		id = ":" + id
	}
	if err := s.Agent().Resolve(context.WithoutCancel(ctx), id, refused); err != nil {
		notef(r.host, "%v", err)
	}
}

// dropRefused deletes a new session if the provider refused the key before the model answered: there is
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
func (r *runner) converse(ctx context.Context, s *shared, input string) error {
	out, err := r.submitTo(ctx, s, input)
	for {
		r.mu.Lock()
		r.out, r.cost, r.questions = out, s.Agent().Total().Cost.Dollars, s.Agent().Questions()
		r.pending = pendingCalls(s.Agent())
		r.mu.Unlock()
		if err != nil || out.Status != agent.StatusAwaitingInput || r.alone {
			return err
		}
		out, err = r.answer(ctx, s)
		if errors.Is(err, keyboard.ErrNoAnswer) {
			return nil
		}
	}
}

// pendingCalls lists a session's calls that wait for approval.
func pendingCalls(s *agent.Session) (list []pendingJSON) {
	for _, p := range s.Pending() {
		list = append(list, pendingJSON{ask.ID(p.Agent, p.ID), p.Agent, ask.FromRequest(p.ApprovalRequested).Title})
	}
	return list
}

// answer asks the user the agent's question, unless it was answered elsewhere, and waits for the work that follows.
func (r *runner) answer(ctx context.Context, s *shared) (session.Outcome, error) {
	list, err := s.Questions(ctx)
	i := slices.IndexFunc(list, func(q ask.Question) bool { return q.Kind == ask.Input && q.Agent == "" })
	if err == nil && i >= 0 {
		if asked, first := r.asker.register(ctx, list[i].ID); first {
			err = r.asker.put(asked, s, list[i].ID)
		}
	}
	if err != nil {
		return session.Outcome{}, err
	}
	return r.wait(s)
}

// wait waits until the work ends.
func (r *runner) wait(s *shared) (session.Outcome, error) {
	out, err := s.Wait(context.Background())
	return out, errors.Join(err, out.Err())
}

// runCommand is the command that continues a session, without its ID.
const runCommand = "reins run --resume"

// steer sends the agent a line typed while it works.
func (r *runner) steer(s session.Handle, line string) {
	r.view.typed()
	if err := s.Steer(context.Background(), session.Input{Text: line}); err != nil {
		notef(r.host, "not sent to the agent: %s", line)
	}
}

// continuePrompt continues work that stopped at a limit, if the user gives no other prompt.
const continuePrompt = "Continue the task where you stopped."

// submitTo gives the agent input, and waits until the work ends. Without input, it continues interrupted work or
// repeats the agent's question.
func (r *runner) submitTo(ctx context.Context, s *shared, input string) (session.Outcome, error) {
	q := s.Agent().Question()
	if (len(r.attached) > 0 || r.format != nil) && (input == "" || q != "") {
		return session.Outcome{}, usagef("--file and --json-schema need a prompt that is not an answer")
	}
	if q != "" && input == "" {
		return session.Outcome{Status: agent.StatusAwaitingInput, Question: q}, nil
	}
	start := context.WithoutCancel(ctx) // the work itself ends with ctx
	err := error(nil)
	switch {
	case input != "":
		err = s.Prompt(start, session.Input{Text: input})
	default:
		err = s.Continue(start)
	}
	if errors.Is(err, session.ErrNothingToContinue) {
		if !r.stoppedShort(ctx, s.ID()) {
			return session.Outcome{}, usagef("session %s is finished; pass a prompt to continue", s.ID())
		}
		err = s.Prompt(start, session.Input{Text: continuePrompt, Plain: true})
	}
	if err == nil && r.after > 0 {
		err = r.attendOpen(ctx, s)
	}
	if err != nil {
		return session.Outcome{}, err
	}
	return r.wait(s)
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
func (r *runner) watch(ctx context.Context, s session.Handle, stop context.CancelCauseFunc) error {
	var unseen error
	for rec, err := range s.Events(context.Background(), 0) {
		if err != nil {
			return err
		}
		if 0 < rec.Seq && rec.Seq <= r.after { // transient events have no number
			r.view.replay(rec)
			continue
		}
		r.note(rec)
		if unseen == nil {
			if unseen = r.view.show(rec); unseen != nil {
				stop(unseen)
			}
		}
		r.attend(ctx, s, rec)
	}
	return unseen
}

// note counts an event's cost and tells the user about sandbox denials. It remembers warnings, the limit that the main
// agent reached, and its model's refusal.
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
