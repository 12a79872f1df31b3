package agent

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/tool"
)

// maxParallel is how many calls that only read run side by side.
const maxParallel = 10

// errAsked ends the work because the model asked the user something.
var errAsked = errors.New("the model asked the user a question")

const (
	notRun     = "interrupted: this tool call was not run"
	lostResult = "the result of this tool call is lost. It may have taken effect; look before you run it again"
	cutOffRun  = "interrupted: the session was cut off while this tool call ran. It may have taken effect, in part or whole; look before you run it again"
)

// runTools runs the calls of one answer and takes their results in. Neighbours that only read run
// side by side; the others one after the other. Each call gets exactly one result, recorded in the
// order of the calls.
func (s *Session) runTools(ctx context.Context, calls []llm.ToolCall) error {
	results := slices.Clone(s.m.answers) // of a round that was cut off
	for len(calls) > len(results) {
		rest := calls[len(results):]
		if q := s.question(rest[0]); q != "" {
			return s.ask(rest[0], q, results)
		}
		done, err := s.runBatch(ctx, rest[:s.together(rest)])
		if err != nil {
			return err
		}
		results = append(results, done...)
	}
	s.took(results)
	return ctx.Err()
}

// took takes the results of a round in, and warns of a loop.
func (s *Session) took(results []llm.ToolResult) {
	warning := s.m.ran(results)
	s.crashed = nil
	s.waitsNoMore()
	if warning == "" {
		return
	}
	s.record(event.LoopDetection{Message: warning, Length: s.m.loop.length, Trips: s.m.loop.trips})
	s.inject(llm.UserText(warning), sourceLoop)
}

// together counts the calls at the start that may run side by side; it is at least one.
func (s *Session) together(calls []llm.ToolCall) int {
	n := 0
	for n < len(calls) && n < maxParallel && s.onlyReads(calls[n]) {
		n++
	}
	return max(n, 1)
}

func (s *Session) onlyReads(c llm.ToolCall) bool {
	spec, ok := s.tools.Spec(c.Name)
	return ok && !s.config.Serial && spec.ReadOnly && s.question(c) == ""
}

// runBatch runs calls side by side and records their results in order, each as soon as all before
// it are there. Nothing runs before it is safe that it was to run.
func (s *Session) runBatch(ctx context.Context, calls []llm.ToolCall) ([]llm.ToolResult, error) {
	for _, c := range calls {
		s.startCall(c)
	}
	s.checkpoint(ctx, calls)
	if err := s.log.Sync(); err != nil {
		return nil, err
	}
	outcomes := make([]*tool.Outcome, len(calls))
	results := make([]llm.ToolResult, len(calls))
	var mu sync.Mutex
	next := 0
	finish := func(i int, out tool.Outcome) {
		mu.Lock()
		defer mu.Unlock()
		outcomes[i] = &out
		for next < len(calls) && outcomes[next] != nil {
			results[next] = s.finishCall(calls[next], *outcomes[next])
			next++
		}
	}
	if len(calls) == 1 {
		finish(0, s.runCall(ctx, calls[0]))
		return results, nil
	}
	var wg sync.WaitGroup
	for i, c := range calls {
		wg.Go(func() { finish(i, s.runCall(ctx, c)) })
	}
	wg.Wait()
	return results, nil
}

// runCall takes one call through the pipeline.
func (s *Session) runCall(ctx context.Context, c llm.ToolCall) (out tool.Outcome) {
	switch {
	case s.crashed[c.ID].ran():
		return skipped(cutOffRun)
	case s.crashed[c.ID].denied, ctx.Err() != nil:
		return skipped(notRun)
	}
	err := guarded("the pipeline of "+c.Name, func() error {
		out = s.pipe.Run(ctx, tool.Call{
			ID: c.ID, Name: c.Name, Args: s.tools.Arguments(c), Env: s.config.Env, Vision: s.config.Vision,
			Timeouts: s.current().timeouts,
			Output:   func(p []byte) { s.record(event.ToolCallDelta{ID: c.ID, Text: string(p)}) },
		})
		return nil
	})
	var p *panicError
	if errors.As(err, &p) {
		res := tool.Failure(tool.InternalError, "Tool error (%s): %v", c.Name, err)
		res.Error.Details = map[string]any{"stack": p.stack}
		return tool.Outcome{Result: res, Model: res.Error.Message}
	}
	if out.Pending {
		return skipped(notRun)
	}
	return out
}

func skipped(reason string) tool.Outcome {
	return tool.Outcome{Result: tool.Failure(tool.Cancelled, "%s", reason), Model: reason}
}

// startCall records that a call is about to run.
func (s *Session) startCall(c llm.ToolCall) {
	if s.crashed[c.ID].started {
		return
	}
	args := s.tools.Arguments(c)
	if len(args) > 0 && !json.Valid(args) {
		args, _ = json.Marshal(c.Arguments)
	}
	s.record(event.ToolCallStart{ID: c.ID, Name: c.Name, Arguments: args})
}

// finishCall records the result of a call and makes it the model's.
func (s *Session) finishCall(c llm.ToolCall, out tool.Outcome) llm.ToolResult {
	res := out.Result
	images, note := fitImages(res.Images)
	end := event.ToolCallEnd{
		ID: c.ID, Name: c.Name, Output: res.Output, Model: s.condense(out) + note, Images: images, Fields: res.Fields,
		Error: res.Error, Artifacts: res.Artifacts, Duration: out.Duration,
	}
	s.record(end)
	s.m.facts.note(c, end)
	return resultOf(c, end)
}

// resultOf is what the model sees of a call that has ended.
func resultOf(c llm.ToolCall, end event.ToolCallEnd) llm.ToolResult {
	r := llm.TextResult(c, end.Model, end.Error != nil)
	for _, img := range end.Images {
		r.Parts = append(r.Parts, img)
	}
	return r
}

// skipCall records a call that is not run.
func (s *Session) skipCall(c llm.ToolCall, reason string) llm.ToolResult {
	s.startCall(c)
	return s.finishCall(c, skipped(reason))
}

// abandon gives every call that was not run a result that says so.
func (s *Session) abandon() {
	if len(s.m.calls) == 0 {
		return
	}
	results := s.m.answers
	waiting := s.m.calls[len(results):]
	if s.m.question != "" && s.question(waiting[0]) != "" { // which has begun, and has not run
		results = append(results, s.finishCall(waiting[0], skipped(notRun)))
		waiting, s.m.question = waiting[1:], ""
	}
	for _, c := range waiting {
		s.startCall(c)
		reason := notRun
		if s.crashed[c.ID].ran() {
			reason = cutOffRun
		}
		results = append(results, s.finishCall(c, skipped(reason)))
	}
	s.took(results)
}
