package agent

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/tool"
)

// maxParallel is how many calls that only read run side by side.
const maxParallel = 10

// errAsked ends the work because the model asked the user something.
var errAsked = errors.New("the model asked the user a question")

// runTools runs the calls of one answer and takes their results in. Neighbours that only read run
// side by side; the others one after the other. Each call gets exactly one result, recorded in the
// order of the calls.
func (s *Session) runTools(ctx context.Context, calls []llm.ToolCall) error {
	results := make([]llm.ToolResult, 0, len(calls))
	for len(calls) > len(results) {
		rest := calls[len(results):]
		if s.asks(rest[0]) {
			return s.ask(rest[0], results)
		}
		batch := rest[:s.together(rest)]
		results = append(results, s.runBatch(ctx, batch)...)
	}
	if warning := s.m.ran(results); warning != "" {
		s.record(event.LoopDetection{Message: warning, Length: s.m.loop.length, Trips: s.m.loop.trips})
		s.inject(llm.UserText(warning), "loop_detection")
	}
	return ctx.Err()
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
	t, ok := s.tools.Get(c.Name)
	return ok && !s.config.Serial && t.Spec().ReadOnly && !s.asks(c)
}

// runBatch runs calls side by side and records their results in order, each as soon as all before
// it are there.
func (s *Session) runBatch(ctx context.Context, calls []llm.ToolCall) []llm.ToolResult {
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
		return results
	}
	var wg sync.WaitGroup
	for i, c := range calls {
		wg.Go(func() { finish(i, s.runCall(ctx, c)) })
	}
	wg.Wait()
	return results
}

// runCall takes one call through the pipeline.
func (s *Session) runCall(ctx context.Context, c llm.ToolCall) tool.Outcome {
	args := arguments(s.tools, c)
	if err := ctx.Err(); err != nil {
		return tool.Outcome{Result: tool.Failure(tool.Cancelled, "interrupted: this tool call was not run"), Model: "interrupted: this tool call was not run"}
	}
	s.record(event.ToolCallStart{ID: c.ID, Name: c.Name, Arguments: args})
	return s.pipe.Run(ctx, tool.Call{
		ID: c.ID, Name: c.Name, Args: args, Env: s.config.Env, Vision: s.config.Vision,
		Output: func(p []byte) { s.record(event.ToolCallDelta{ID: c.ID, Text: string(p)}) },
	})
}

// arguments are the call's arguments as JSON. The text of a freeform call becomes the one string
// that its tool takes.
func arguments(tools *tool.Registry, c llm.ToolCall) json.RawMessage {
	if !c.Custom {
		return json.RawMessage(c.Arguments)
	}
	name := "input"
	if t, ok := tools.Get(c.Name); ok {
		var schema struct {
			Required []string `json:"required"`
		}
		if json.Unmarshal(t.Spec().Input, &schema) == nil && len(schema.Required) == 1 {
			name = schema.Required[0]
		}
	}
	b, err := json.Marshal(map[string]string{name: c.Arguments})
	if err != nil {
		return json.RawMessage("{}")
	}
	return b
}

// finishCall records the result of a call and makes it the model's.
func (s *Session) finishCall(c llm.ToolCall, out tool.Outcome) llm.ToolResult {
	res := out.Result
	s.record(event.ToolCallEnd{
		ID: c.ID, Name: c.Name, Output: res.Output, Model: out.Model, Images: res.Images, Fields: res.Fields,
		Error: res.Error, Artifacts: res.Artifacts, Duration: out.Duration,
	})
	r := llm.TextResult(c, out.Model, res.Error != nil)
	for _, img := range res.Images {
		r.Parts = append(r.Parts, img)
	}
	return r
}

// approve asks the host about a call, and records the question and the answer.
func (s *Session) approve(ctx context.Context, r tool.Request) (tool.Approval, error) {
	if s.config.Approve == nil {
		return tool.Approval{Reason: "it needs an approval (" + r.Reason + "), and there is nobody to ask"}, nil
	}
	req := event.ApprovalRequested{ID: r.Call.ID, Name: r.Call.Name, Reason: r.Reason}
	for _, a := range r.Accesses {
		req.Accesses = append(req.Accesses, a.String())
	}
	s.record(req)
	a, err := s.config.Approve(ctx, r)
	res := event.ApprovalResolved{ID: r.Call.ID, Allowed: a.Allowed && err == nil, Reason: a.Reason}
	if err != nil {
		res.Reason = err.Error()
	}
	s.record(res)
	return a, err
}
