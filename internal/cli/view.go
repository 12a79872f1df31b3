package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/llm"
)

// face shows a run.
type face interface {
	// workingIn shows that the run works in another directory.
	workingIn(dir string)
	// replay records an event from an earlier run without showing it.
	replay(r event.Record)
	// show shows an event. An error means that the output cannot be written.
	show(r event.Record) error
	// finish shows the result. Nothing is shown after it.
	finish(r result) error
	// ask shows a question and nothing else until the returned function is called.
	ask(question string) (done func(answered bool))
	// prompt shows more rows from the current question.
	prompt(text string)
	// typed records that the user typed a line, which moves the cursor to the next one.
	typed()
	// sawDiff records a diff that a question has shown and that need not be shown again.
	sawDiff(diff string)
}

func newView(h Host, output string) (face, error) {
	switch output {
	case "text":
		return newTextView(h), nil
	case "json":
		return &jsonView{w: h.Stdout, questions: h.Stderr}, nil
	case "stream-json":
		return &jsonView{w: h.Stdout, questions: h.Stderr, events: true}, nil
	}
	return nil, usagef("invalid --output %q: use text, json or stream-json", output)
}

// jsonView prints the result as JSON, after the events if they are wanted.
type jsonView struct {
	w, questions io.Writer
	events       bool

	mu       sync.Mutex
	finished bool
}

func (v *jsonView) show(r event.Record) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.events || v.finished {
		return nil
	}
	w := bufio.NewWriter(v.w) // a short record is one write
	if err := event.WriteRecord(escaped{w}, r); err != nil {
		return err
	}
	return errors.Join(w.WriteByte('\n'), w.Flush())
}

// escaped writes JSON, with invisible characters escaped.
type escaped struct{ io.Writer }

func (e escaped) Write(b []byte) (int, error) {
	if _, err := e.Writer.Write(show.EscapeJSON(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (v *jsonView) finish(r result) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.finished = true
	return printJSON(v.w, r)
}

func (v *jsonView) ask(question string) func(bool) {
	fmt.Fprint(v.questions, question)
	return func(answered bool) {
		if !answered {
			fmt.Fprintln(v.questions)
		}
	}
}

func (v *jsonView) prompt(text string) { fmt.Fprint(v.questions, text) }

func (*jsonView) workingIn(string)    {}
func (*jsonView) replay(event.Record) {}
func (*jsonView) typed()              {}
func (*jsonView) sawDiff(string)      {}

// result ends the output of every run. Its keys are documented and stable.
type result struct {
	Type       string             `json:"type"` // "result"
	Outcome    agent.Status       `json:"outcome"`
	Text       string             `json:"text"`
	Object     json.RawMessage    `json:"object,omitempty"` // with --json-schema
	Question   string             `json:"question,omitempty"`
	Questions  []event.Question   `json:"questions,omitempty"` // the same, as a list
	Limit      event.Limit        `json:"limit,omitempty"`
	Pending    []pendingJSON      `json:"pending,omitempty"` // calls that wait for an approval
	Refused    []string           `json:"refused,omitempty"` // calls that nobody could approve
	Warnings   []string           `json:"warnings,omitempty"`
	Error      *errorJSON         `json:"error"`
	Usage      llm.Usage          `json:"usage"`
	Cost       *float64           `json:"cost"` // in US dollars; null if a price is unknown
	Models     []event.ModelSpent `json:"models,omitempty"`
	Turns      int                `json:"turns"`
	Rounds     int                `json:"rounds"`
	Worktree   *leftTree          `json:"worktree,omitempty"` // with --worktree and --attempts
	Attempts   []*attempt         `json:"attempts,omitempty"` // with --attempts
	DurationMS int64              `json:"duration_ms"`
	SessionID  string             `json:"session_id"`
	ExitCode   int                `json:"exit_code"`

	missing   []string // rules that would allow the refused calls
	err       error    // the source of Error
	saved     bool     // the session can be continued
	elsewhere bool     // the session belongs to another directory
	dear      string   // that the run cost more than the budget, without being stopped
	refusal   string   // how the model refused to answer, if it gave a category
	reached   reached
}

// pendingJSON is a call that waits for an approval.
type pendingJSON struct {
	ID    string `json:"id"` // for "reins approve"
	Agent string `json:"agent,omitempty"`
	Title string `json:"title"`
}

// reached is how far a run got within the limits that its flags set.
type reached struct {
	flags   run
	limit   event.TurnLimit // the limit that stopped the run, if any
	cost    float64         // of the whole session, in US dollars
	resumed bool            // there were earlier runs, which count
}

// statusNeedsApproval is the outcome for a run that finished, but without calls that nobody could
// approve.
const statusNeedsApproval agent.Status = "needs_approval"

// limitDeadline is the limit of --deadline.
const limitDeadline event.Limit = "deadline"

// end sets the outcome and the exit code.
func (r *result) end(ctx context.Context, status agent.Status, err error) {
	r.Outcome = status
	cause := context.Cause(ctx)
	switch {
	case err != nil && errors.Is(cause, errDeadline):
		r.Outcome, r.Limit, r.ExitCode = agent.StatusLimit, limitDeadline, exitDeadline
		err = errDeadline
	case err != nil && errors.Is(cause, errInterrupted):
		r.Outcome, r.ExitCode = agent.StatusInterrupted, exitInterrupted
		err = errInterrupted
	case err != nil:
		if cause != nil {
			err = cause
		}
		r.Outcome, r.ExitCode = agent.StatusFailed, exitCode(context.Background(), err)
	default:
		r.ExitCode = statusCode(status)
	}
	if err != nil {
		r.err, r.Error = err, runError(err)
	}
	if status == agent.StatusDone && len(r.Refused) > 0 {
		r.Outcome, r.ExitCode = statusNeedsApproval, exitNeedsInput
	}
}

// statusCode returns the exit code for a run that ended without an error.
func statusCode(s agent.Status) int {
	switch s {
	case agent.StatusDone:
		return exitOK
	case agent.StatusAwaitingInput, agent.StatusAwaitingApproval:
		return exitNeedsInput
	case agent.StatusLimit, agent.StatusLoop, agent.StatusCutOff, agent.StatusPaused:
		return exitLimit
	}
	return exitFailed
}

func runError(err error) *errorJSON {
	e := newErrorJSON(err)
	switch {
	case e.Kind != llm.ErrUnknown:
	case errors.Is(err, errDeadline), errors.Is(err, errInterrupted):
		e.Kind = llm.ErrCancelled
	case isUsage(err):
		e.Kind = llm.ErrConfiguration
	}
	return e
}

// stopReason returns why a run ended before its task was done, or "".
func (r result) stopReason() string {
	switch {
	case errors.Is(r.err, errDeadline):
		return fmt.Sprintf("%v: --deadline is %v", r.err, r.reached.flags.deadline)
	case r.err != nil:
		return oneLine(r.err)
	case r.Limit != "":
		return r.reached.stopReason(r.Limit)
	case r.Outcome == agent.StatusRefused && r.refusal != "":
		return r.refusal
	}
	return show.Stop(r.Outcome)
}

// stopReason names the flag that set a limit, and how much the session used.
func (r reached) stopReason(limit event.Limit) string {
	earlier := ""
	if r.resumed {
		earlier = ", including earlier runs"
	}
	switch limit {
	case event.LimitTreeCost:
		return fmt.Sprintf("stopped after spending %s%s: --budget is %s", show.SmallPrice(r.cost), earlier, show.SmallPrice(r.flags.budget))
	case event.LimitTurns:
		return fmt.Sprintf("stopped after %s%s: --max-turns is %d", show.Plural(r.limit.Value, "model call"), earlier, r.flags.maxTurns)
	case event.LimitToolRounds:
		return fmt.Sprintf("stopped after %s: --max-rounds is %d", show.Plural(r.limit.Value, "tool round"), r.limit.Value)
	}
	return show.Limit(event.TurnLimit{Limit: limit})
}

// overspent says that the session cost more than the budget, unless that stopped the run: the last call may cost more than
// what was left.
func (r result) overspent() string {
	budget := r.reached.flags.budget
	if budget <= 0 || r.reached.cost <= budget || r.Limit != "" {
		return ""
	}
	return fmt.Sprintf("spent %s, more than the budget of %s; to continue the session, raise --budget",
		show.SmallPrice(r.reached.cost), show.SmallPrice(budget))
}

// howToAllow returns a hint how to permit the refused calls.
func (r result) howToAllow() string {
	if slices.ContainsFunc(r.Refused, func(why string) bool { return strings.HasSuffix(why, "outside the sandbox") }) {
		return "not approved (no terminal); use --writable DIR to let the sandbox write there, or --sandbox off"
	}
	if len(r.missing) == 0 {
		return "not approved (no terminal); use --mode or --yes to permit such calls"
	}
	return "not approved (no terminal); to permit such calls, use --mode or --yes, or run: reins policy allow --personal " + show.Quote(
		r.missing...)
}

// howToAnswer names the commands that answer the pending calls and continue the run.
func (r result) howToAnswer() string {
	return fmt.Sprintf("%s for approval; to answer and to continue, run: reins approve %s, reins run --resume %[2]s",
		map[bool]string{true: "1 call waits", false: fmt.Sprintf("%d calls wait", len(r.Pending))}[len(r.Pending) == 1], r.SessionID)
}

// nextSteps names the commands that continue or undo the run.
func (r result) nextSteps() string {
	resume, undo := "--continue", "reins undo"
	if r.elsewhere {
		resume, undo = "--resume "+r.SessionID, "reins undo "+r.SessionID
	}
	return fmt.Sprintf("session %s · continue: reins run %s · undo: %s", r.SessionID, resume, undo)
}
