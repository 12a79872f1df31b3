package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

// NoRounds as GenerateRequest.Rounds runs no tools and returns the model's tool calls.
const NoRounds = -1

// ToolFunc runs a tool call. An error becomes an error result for the model. The result's ID, Name and Custom fields
// are set from the call.
type ToolFunc func(ctx context.Context, call ToolCall) (ToolResult, error)

// TextFunc returns a ToolFunc for a function that returns text.
func TextFunc(f func(ctx context.Context, call ToolCall) (string, error)) ToolFunc {
	return func(ctx context.Context, call ToolCall) (ToolResult, error) {
		text, err := f(ctx, call)
		return ToolResult{Parts: []Part{Text{Text: text}}}, err
	}
}

// GenerateRequest is a request with the functions that run its tools.
type GenerateRequest struct {
	Request
	Funcs map[string]ToolFunc // by tool name
	// Rounds is the maximum number of times that tools run and their results are sent to the model. 0 means 1,
	// NoRounds means none. Tool calls after the last round are returned.
	Rounds int
}

// GenerateResult is the result of Generate.
type GenerateResult struct {
	Response *Response // the last answer, with the tool calls that were not run
	Messages []Message // new in the conversation: answers and tool results
	Usage    Usage     // sum over all calls, including failed attempts
}

// Generate makes a call, runs the tools that the model calls, sends their results and returns the last
// answer. Tool calls of one answer run in parallel, and each gets exactly one result: an unknown tool,
// malformed arguments and a panic are error results. If a model call fails, Generate returns the result so
// far and the error.
func Generate(ctx context.Context, c *Client, req GenerateRequest) (*GenerateResult, error) {
	r := req.Request
	r.Messages = slices.Clone(r.Messages)
	if r.Cache == nil {
		r.Cache = new(Cache)
	}
	rounds := max(req.Rounds, 0)
	if req.Rounds == 0 {
		rounds = 1
	}
	out := &GenerateResult{}
	for round := 0; ; round++ {
		turn := r // middleware may keep it
		resp, err := c.Complete(ctx, &turn)
		if err != nil {
			return out, err
		}
		out.Response = resp
		out.Usage = out.Usage.Add(resp.Usage).Add(resp.Retried)
		grow := []Message{resp.Message}
		calls := resp.ToolCalls()
		more := len(calls) > 0 && round < rounds && stoppedToCall(resp)
		if more {
			grow = append(grow, ToolResults(runCalls(ctx, req.Funcs, calls)...))
		}
		out.Messages = append(out.Messages, grow...)
		if !more {
			return out, nil
		}
		r.Messages = append(r.Messages, grow...)
		r.ToolChoice = afterRound(r.ToolChoice)
	}
}

// stoppedToCall reports whether the answer, and therefore its calls, are complete.
func stoppedToCall(r *Response) bool {
	return r.Finish.Reason == FinishToolCalls || r.Finish.Reason == FinishStop
}

// afterRound returns the tool choice after a round. A model that was forced to call a tool may now answer.
func afterRound(c ToolChoice) ToolChoice {
	if c.Mode == ToolRequired || c.Mode == ToolNamed {
		return ToolChoice{Mode: ToolAuto}
	}
	return c
}

func runCalls(ctx context.Context, funcs map[string]ToolFunc, calls []ToolCall) []ToolResult {
	results := make([]ToolResult, len(calls))
	var wg sync.WaitGroup
	for i, call := range calls {
		// This result stays if the function exits its goroutine without returning.
		results[i] = TextResult(call, "the tool ended without a result", true)
		wg.Go(func() { results[i] = runCall(ctx, funcs[call.Name], call) })
	}
	wg.Wait()
	return results
}

func runCall(ctx context.Context, f ToolFunc, call ToolCall) (result ToolResult) {
	defer func() {
		if p := recover(); p != nil {
			result = TextResult(call, fmt.Sprintf("the tool panicked: %v", p), true)
		}
	}()
	if f == nil {
		return TextResult(call, fmt.Sprintf("unknown tool %q", call.Name), true)
	}
	if err := checkArguments(call); err != nil {
		return TextResult(call, err.Error(), true)
	}
	result, err := f(ctx, call)
	if err != nil {
		return TextResult(call, err.Error(), true)
	}
	result.ID = call.ID
	result.Name = call.Name
	result.Custom = call.Custom
	return result
}

// checkArguments returns an error unless the arguments are a JSON object or empty. Custom tools accept any text.
func checkArguments(call ToolCall) error {
	if call.Custom || call.Arguments == "" {
		return nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(call.Arguments), &object); err != nil {
		return Errorf(ErrInvalidToolCall, "", "the arguments are not a JSON object: %w", err)
	}
	return nil
}
