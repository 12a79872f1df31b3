package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

// NoRounds as GenerateRequest.Rounds runs no tools: the model's tool calls are handed back.
const NoRounds = -1

// ToolFunc runs a tool call. An error becomes a result that tells the model of it. The ID, Name
// and Custom fields of the result are filled in from the call.
type ToolFunc func(ctx context.Context, call ToolCall) (ToolResult, error)

// TextFunc makes a ToolFunc of a function that returns text.
func TextFunc(f func(ctx context.Context, call ToolCall) (string, error)) ToolFunc {
	return func(ctx context.Context, call ToolCall) (ToolResult, error) {
		text, err := f(ctx, call)
		return ToolResult{Parts: []Part{Text{Text: text}}}, err
	}
}

// GenerateRequest is a request together with the functions that run its tools.
type GenerateRequest struct {
	Request
	Funcs map[string]ToolFunc // by the name of the tool
	// Rounds is how often tools are run and their results sent to the model: 0 is once, NoRounds
	// not at all. Tool calls that the model makes after the last round are handed back.
	Rounds int
}

// GenerateResult is what came of a request.
type GenerateResult struct {
	Response *Response // the model's last answer; it has tool calls if there were more than rounds
	Messages []Message // what the conversation has grown by: answers and tool results
	Usage    Usage     // of all calls together, failed attempts included
}

// Generate makes a call, runs the tools that the model asks for, sends it their results and
// returns its last answer. The calls of one answer run at the same time, and each is answered
// exactly once: an unknown tool, malformed arguments and a tool that panics give error results.
// With an error comes what was done until then.
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

// stoppedToCall reports whether the answer ended of its own accord, so that its calls are meant.
func stoppedToCall(r *Response) bool {
	return r.Finish.Reason == FinishToolCalls || r.Finish.Reason == FinishStop
}

// afterRound lets a model that had to call a tool answer now that it has.
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
		// What stands if the function leaves its goroutine without returning.
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
		return TextResult(call, fmt.Sprintf("there is no tool %q", call.Name), true)
	}
	if err := checkArguments(call); err != nil {
		return TextResult(call, err.Error(), true)
	}
	result, err := f(ctx, call)
	if err != nil {
		return TextResult(call, err.Error(), true)
	}
	result.ID, result.Name, result.Custom = call.ID, call.Name, call.Custom
	return result
}

// checkArguments reports arguments that are not what a tool can expect: a JSON object, or nothing
// for a tool without parameters. Custom tools take any text.
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
