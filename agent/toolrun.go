package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"unicode/utf8"

	"github.com/reins-agent/reins/agent/step"
	"github.com/reins-agent/reins/compact"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/media"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// maxParallel limits the read-only calls that run in parallel.
const maxParallel = 10

// ErrAborted is the cause when an approval with Abort interrupts the work.
var ErrAborted = errors.New("aborted by the approver")

// runTools runs the first call, or the leading read-only calls in parallel. Nothing runs before its start record is
// saved.
func (s *Session) runTools(ctx context.Context, calls []step.Call) error {
	if ctx.Err() != nil {
		return nil
	}
	s.tree.mu.Lock()
	k := s.kit
	s.tree.mu.Unlock()
	if q := k.questions(calls[0].ToolCall); q != nil {
		start := event.ToolCallStart{
			ID:        calls[0].ID,
			Name:      calls[0].Name,
			Arguments: k.arguments(calls[0].ToolCall),
			Question:  questionText(q),
		}
		if start.Question != q[0].Question {
			start.Questions = q
		}
		s.record(start)
		return nil
	}
	calls = calls[:k.together(calls)]
	for _, c := range calls {
		if c.Request == nil || c.Approval != nil {
			spec, _ := k.tools.Spec(c.Name)
			s.record(event.ToolCallStart{ID: c.ID, Name: c.Name, Arguments: k.arguments(c.ToolCall), Version: spec.Version})
		}
	}
	s.checkpoint(ctx, k, calls)
	if err := s.log.Sync(); err != nil {
		return err
	}
	return s.runBatch(ctx, k, calls)
}

// runBatch runs calls in parallel and records their results in order, each as soon as possible.
func (s *Session) runBatch(ctx context.Context, k *kit, calls []step.Call) error {
	outcomes := make([]*tool.Outcome, len(calls))
	var mu sync.Mutex
	next, aborted := 0, false
	finish := func(i int, out tool.Outcome) {
		mu.Lock()
		defer mu.Unlock()
		outcomes[i] = &out
		aborted = aborted || out.Aborted
		for next < len(calls) && outcomes[next] != nil {
			s.finishCall(k, calls[next].ToolCall, *outcomes[next])
			next++
		}
	}
	if len(calls) == 1 {
		finish(0, s.runCall(ctx, k, calls[0]))
	} else {
		var wg sync.WaitGroup
		for i, c := range calls {
			wg.Go(func() { finish(i, s.runCall(ctx, k, c)) })
		}
		wg.Wait()
	}
	cause := s.halted()
	if aborted {
		cause = ErrAborted
	}
	if cause != nil {
		s.failure = cause
		s.record(event.Interrupted{Reason: cause.Error(), Abandon: true})
		s.interruptBelow()
	}
	return nil
}

// runCall runs one call through the pipeline. A call that waited for approval is for the version that the tool had when
// approval was requested.
func (s *Session) runCall(ctx context.Context, k *kit, c step.Call) (out tool.Outcome) {
	version := ""
	if c.Request != nil {
		version = c.Request.Version
	}
	sum := &traced{}
	ctx = context.WithValue(ctx, tracedKey{}, sum)
	defer func() { sum.claim(&out.Result.Artifacts) }()
	err := guarded("the pipeline of "+c.Name, func() error {
		pipe := *k.pipe
		pipe.Mode, pipe.Policy = s.Mode(), s.Policy()
		out = pipe.Run(ctx, tool.Call{
			ID:       c.ID,
			Name:     c.Name,
			Args:     k.tools.Arguments(c.ToolCall),
			Version:  version,
			Env:      k.env,
			Vision:   k.vision,
			Timeouts: k.timeouts,
			Steered:  s.steered(),

			Output: func(p []byte) { s.record(event.ToolCallDelta{ID: c.ID, Text: string(p)}) },
		})
		s.callHooks(nil).Ended(ctx, out)
		return nil
	})
	var p *panicError
	if errors.As(err, &p) {
		res := tool.Failure(tool.InternalError, "Tool error (%s): %v", c.Name, err)
		res.Error.Details = map[string]any{"stack": p.stack}
		out = tool.Outcome{
			Result:   res,
			Model:    res.Error.Message,
			Decision: policy.Decision{Verdict: policy.Deny, Rule: "internal error", Reason: err.Error()},
		}
		out.Call = tool.Call{ID: c.ID, Name: c.Name, Args: k.arguments(c.ToolCall)}
		_ = guarded("Audit", func() error { s.audit(out); return nil })
	}
	return out
}

// audit reports a call's outcome to the host, unless the call waits for approval.
func (s *Session) audit(out tool.Outcome) {
	if s.config.Audit != nil && !out.Pending {
		s.config.Audit(s.id, s.path, out)
	}
}

// Mode returns the permission mode. The whole agent tree shares it, unless a subagent's type is stricter.
func (s *Session) Mode() policy.Mode {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	return s.tree.fold.Mode().Stricter(s.now.strict)
}

// Policy returns the policy that judges the next call. The whole agent tree shares it.
func (s *Session) Policy() policy.Policy {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	return s.tree.policy
}

// finishCall records a call's result, unless the call waits for approval.
func (s *Session) finishCall(k *kit, c llm.ToolCall, out tool.Outcome) {
	if out.Pending {
		return
	}
	res := out.Result
	images, note := media.FitAll(res.Images)
	spec, _ := k.tools.Spec(cmp.Or(out.Tool, c.Name)) // the tool that call_tool called
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	s.note(event.ToolCallEnd{
		ID:     c.ID,
		Name:   c.Name,
		Output: res.Output,
		Model:  k.condense(out) + note,
		Images: images,
		Fields: res.Fields,

		Error:     res.Error,
		Artifacts: res.Artifacts,
		Accesses:  out.Accesses,
		Decision:  out.Decision,
		Plan:      spec.Plan,
		Duration:  out.Duration,

		Mode:    s.tree.fold.Switched(spec, res.Error),
		Reports: reports(spec, res),
	})
	s.watch(res.Artifacts.Background)
}

// reports returns the subagent whose result a call returns, or "".
func reports(spec tool.Spec, res tool.Result) string {
	if _, ended := res.Fields["success"]; !ended || spec.Role != roleAgent {
		return ""
	}
	path, _ := res.Fields["agent_id"].(string)
	return path
}

// wholeOutput is the largest output that is condensed whole. Larger outputs are truncated first.
const wholeOutput = 4 << 20

// condense shortens a result for the model if it is too long.
func (k *kit) condense(out tool.Outcome) string {
	text := out.Model
	if k.results <= 0 || len(text) <= k.results || utf8.RuneCountInString(text) <= k.results {
		return text
	}
	if spec, _ := k.tools.Spec(out.Tool); spec.Limit.Chars > k.results {
		return text // the tool is meant to return more, such as a whole skill
	}
	if o := out.Result.Output; out.Result.Error == nil && o != nil && o.Len() <= wholeOutput {
		text = tool.String(o)
	}
	width := len(text) / utf8.RuneCountInString(text) // bytes per character
	return compact.Condense(text, k.results*width)
}

// together returns how many leading calls may run in parallel, at least one.
func (k *kit) together(calls []step.Call) int {
	n := 0
	for n < len(calls) && n < maxParallel && k.onlyReads(calls[n].ToolCall) {
		n++
	}
	return max(n, 1)
}

func (k *kit) onlyReads(c llm.ToolCall) bool {
	spec, ok := k.tools.Spec(c.Name)
	return ok && !k.serial && spec.ReadOnly && k.questions(c) == nil
}

// arguments returns a call's arguments for its record.
func (k *kit) arguments(c llm.ToolCall) json.RawMessage {
	c.Arguments = string(k.tools.Arguments(c))
	return step.Arguments(c)
}
