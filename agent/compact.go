package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/reins-agent/reins/compact"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/tool"
)

// Compaction says when and how a conversation is made smaller. The zero value never does it of
// itself. The log keeps everything; what the model no longer sees, people and programs still do.
type Compaction struct {
	// At is the share of the model's context window at which the conversation is made smaller,
	// such as 0.8; 0 is never. With it, a call that fails because the conversation is too long
	// is made once more after compaction.
	At float64
	// To is the share that it is brought down to; 0 is half of At.
	To float64
	// NoModel makes it smaller without asking the model for a summary.
	NoModel bool
	// Results is the length in characters beyond which a single tool result is condensed on its
	// way to the model; 0 leaves that to the limits of the tools.
	Results int
}

// Reasons for a compaction.
const (
	byThreshold = "threshold"
	byHand      = "manual"
	byOverflow  = "context_length"
)

// nearlyFull is the share of the window from which on there is no more waiting for a summary.
const nearlyFull = 0.95

// maxSummaryFailures is how often in a row a summary may fail until none is asked for any more.
const maxSummaryFailures = 2

// ErrNothingToCompact says that the conversation cannot be made smaller.
var ErrNothingToCompact = errors.New("there is nothing in the conversation that could be left out")

// Compact makes the conversation smaller now: by a summary, or without the model if the session is
// set up so. If it fails, nothing has changed.
func (s *Session) Compact(ctx context.Context) (event.Compaction, error) {
	ctx, err := s.begin(ctx)
	if err != nil {
		return event.Compaction{}, err
	}
	defer func() { s.withdraw(err) }()
	d, err := s.shrink(ctx, byHand)
	if err == nil {
		err = s.keep(ctx)
	}
	return d, err
}

// compactIfFull makes the conversation smaller when it has come to fill the window as far as the
// configuration lets it. That it could not is no reason to stop as long as there is room.
func (s *Session) compactIfFull(ctx context.Context) {
	if at := s.config.Compaction.At; at <= 0 || s.filled() < at {
		return
	}
	_, _ = s.shrink(ctx, byThreshold)
}

// shrink makes the conversation smaller, in the first way that gets there.
func (s *Session) shrink(ctx context.Context, reason string) (event.Compaction, error) {
	goal := s.goal(reason)
	meter, messages := s.m.meter, s.m.messages
	cleared, ok := compact.Clear(meter, messages, goal)
	if after, err := cleared.Apply(messages); ok && err == nil && reason != byHand && goal.Met(meter, after) {
		return s.compacted(reason, "clear", cleared)
	}
	edit, failure := s.summarise(ctx, goal, reason)
	switch {
	case failure == nil:
		return s.compacted(reason, "summary", edit)
	case ctx.Err() != nil:
		return event.Compaction{}, failure
	case reason == byHand && !s.config.Compaction.NoModel:
		return event.Compaction{}, failure
	}
	if reason != byThreshold || s.filled() >= nearlyFull {
		if edit, ok := compact.Fallback(meter, messages, goal, s.m.facts.compact()); ok {
			return s.compacted(reason, "digest", edit)
		}
	}
	if ok {
		return s.compacted(reason, "clear", cleared)
	}
	return event.Compaction{}, ErrNothingToCompact
}

// goal is what the conversation is to come down to.
func (s *Session) goal(reason string) compact.Goal {
	c, window, now := s.config.Compaction, s.window(s.effective()), s.m.meter.Estimate()
	to := c.To
	if to <= 0 {
		to = c.At / 2
	}
	if to <= 0 {
		to = 0.4
	}
	g := compact.Goal{Tokens: int64(to * float64(window)), Request: window - min(window/8, 16_000)}
	if window <= 0 || reason != byThreshold {
		// It is too much already, whatever the window, or the user wants it to be less.
		half := now / 2
		if window <= 0 {
			g.Tokens = half
		}
		g.Tokens = min(g.Tokens, half)
	}
	if reason == byOverflow { // the estimate was wrong
		g.Request = min(max(g.Request, 0), now*3/4)
	}
	return g
}

// wasCompacted is why a conversation no longer continues the one that was sent.
const wasCompacted = "the conversation was compacted"

// errNoSummary says that no summary was asked for.
var errNoSummary = errors.New("no summary was asked for")

// summarise has the model write a summary. Nothing changes by that, but for what it costs.
func (s *Session) summarise(ctx context.Context, goal compact.Goal, reason string) (compact.Edit, error) {
	if s.config.Compaction.NoModel || s.summaryFailures >= maxSummaryFailures && reason != byHand {
		return compact.Edit{}, errNoSummary
	}
	plan, ok := compact.Prepare(s.m.meter, s.m.messages, goal)
	if !ok {
		return compact.Edit{}, ErrNothingToCompact
	}
	text, err := s.askSummary(ctx, plan.Messages)
	var edit compact.Edit
	if err == nil {
		edit, err = plan.Finish(llm.AssistantText(text), llm.FinishStop, s.m.facts.compact())
	}
	if err == nil {
		s.summaryFailures = 0
		return edit, nil
	}
	if ctx.Err() != nil {
		return compact.Edit{}, err
	}
	s.summaryFailures++
	if reason != byHand {
		stop := ""
		if s.summaryFailures == maxSummaryFailures {
			stop = "; it will not be tried again of itself"
		}
		s.record(event.Warning{Message: fmt.Sprintf("The conversation could not be summarised: %v%s", err, stop)})
	}
	return compact.Edit{}, err
}

// askSummary makes the call. Tools are first left as they are in the conversation, because
// switching them off would make some providers read all of it anew, at full price; a model that uses
// one instead of writing is asked again without.
func (s *Session) askSummary(ctx context.Context, messages []llm.Message) (string, error) {
	for _, mode := range []llm.ToolMode{"", llm.ToolNone} {
		r, err := s.request(ctx, messages)
		if err != nil {
			return "", err
		}
		r.ToolChoice.Mode = mode
		resp, err := s.invoke(ctx, r, forSummary)
		if err != nil {
			return "", err
		}
		if resp.Finish.Reason == llm.FinishLength {
			return "", errors.New("the summary was cut off")
		}
		if text := strings.TrimSpace(resp.Text()); text != "" && len(resp.ToolCalls()) == 0 {
			return text, nil
		}
	}
	return "", errors.New("the model wrote none")
}

// compacted takes an edit in.
func (s *Session) compacted(reason, method string, edit compact.Edit) (event.Compaction, error) {
	messages, err := edit.Apply(s.m.messages)
	if err != nil {
		return event.Compaction{}, err
	}
	m := s.m.meter
	d := event.Compaction{Reason: reason, Method: method, Before: m.Estimate(), Edit: edit}
	// What the provider counted and what the messages weigh may differ; the share that is left does not.
	share := float64(m.Weigh(messages...)) / float64(m.Weigh(s.m.messages...))
	beside := min(m.Overhead(), d.Before)
	d.After = beside + int64(float64(d.Before-beside)*share)
	s.record(d)
	s.m.rewrite(messages, wasCompacted)
	s.warned = false
	return d, nil
}

// wholeOutput is the largest output that is condensed from all of it, instead of from what the
// limits of the tool leave.
const wholeOutput = 4 << 20

// condense makes what the model sees of a result smaller, if it is too much.
func (s *Session) condense(out tool.Outcome) string {
	most := s.config.Compaction.Results
	if most <= 0 || len(out.Model) <= most {
		return out.Model
	}
	text := out.Model
	if o := out.Result.Output; out.Result.Error == nil && o != nil && o.Len() <= wholeOutput {
		text = tool.String(o)
	}
	return compact.Condense(text, most)
}

func (f facts) compact() compact.Facts { return compact.Facts{Files: f.files, Plan: f.plan} }
