package coding

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// processID is the id of a background process. Agents differ in whether such ids are strings or
// numbers, so both are taken.
type processID string

// UnmarshalJSON reads a string or a number.
func (p *processID) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, (*string)(p))
	}
	*p = processID(b)
	return nil
}

// processInput is the input schema of a tool that has an id beside other properties.
func processInput(properties string) json.RawMessage {
	return fmt.Appendf(nil, `{"type":"object","properties":{"id":{"type":["string","integer"],"description":"the id that shell gave for the background process"}%s},"required":["id"],"additionalProperties":false}`, properties)
}

func processOutputs() json.RawMessage {
	return payload("id string", "pid integer", "command string", "running boolean",
		"exit_code integer", "timed_out boolean", "duration_ms integer", "signal string", "background_processes integer", "dropped_bytes integer")
}

type outputIn struct {
	ID     processID `json:"id"`
	WaitMS int64     `json:"wait_ms"`
}

// shellLimit bounds what the model sees of the output of commands.
func shellLimit() tool.Limit { return tool.Limit{Chars: 30_000, Lines: 256, Mode: tool.HeadTail} }

func (s *shell) output() tool.Tool {
	return tool.New(tool.Spec{
		Name: "shell_output", Version: "1.0.0",
		Description: "Read what a background process has printed since it was last read, and whether it is still running.",
		Permissions: []tool.Permission{tool.ProcExec}, ReadOnly: true,
		Input:  processInput(`,"wait_ms":{"type":"integer","description":"wait this long for the process to end before reading (default 0, at most 60000)"}`),
		Output: processOutputs(),
		Limit:  shellLimit(),
	}, tool.Nothing, // but what an approved call started
		func(ctx context.Context, _ *tool.Call, in outputIn) (tool.Result, error) {
			b, missing := s.find(in.ID)
			if missing != nil {
				return tool.Result{Error: missing}, nil
			}
			b.wait(ctx, in.WaitMS)
			return b.news(), nil
		})
}

type inputIn struct {
	ID     processID `json:"id"`
	Text   string    `json:"text"`
	Close  bool      `json:"close"`
	WaitMS *int64    `json:"wait_ms"`
}

func (s *shell) input() tool.Tool {
	return tool.New(tool.Spec{
		Name: "shell_input", Version: "1.0.0",
		Description: "Send text to the standard input of a background process, and read what it prints in answer.",
		Permissions: []tool.Permission{tool.ProcExec}, SideEffects: "the process acts on what it is sent", Destructive: true, OpenWorld: true,
		Input: processInput(`,"text":{"type":"string","description":"what to send; a line needs its newline"}` +
			`,"close":{"type":"boolean","description":"end standard input afterwards"}` +
			`,"wait_ms":{"type":"integer","description":"how long to wait for an answer (default 250, at most 60000)"}`),
		Output: processOutputs(),
		Limit:  shellLimit(),
	}, func(_ context.Context, c *tool.Call, in inputIn) []policy.Access {
		return []policy.Access{{Kind: policy.Exec, Target: in.Text, Dir: c.Env.Info().Dir}}
	}, func(ctx context.Context, _ *tool.Call, in inputIn) (tool.Result, error) {
		b, missing := s.find(in.ID)
		if missing != nil {
			return tool.Result{Error: missing}, nil
		}
		if in.Text != "" || in.Close {
			if err := b.send(ctx, in.Text, in.Close); err != nil {
				if ctx.Err() != nil {
					return failed(ctx.Err(), ""), nil
				}
				return tool.Failure(tool.IOError, "Process %s takes no input: %v.", b.id(), err), nil
			}
		}
		wait := int64(250)
		if in.WaitMS != nil {
			wait = *in.WaitMS
		}
		b.wait(ctx, wait)
		return b.news(), nil
	})
}

type stopIn struct {
	ID processID `json:"id"`
}

func (s *shell) stop() tool.Tool {
	return tool.New(tool.Spec{
		Name: "shell_stop", Version: "1.0.0",
		Description: "End a background process and everything it started, and read the rest of its output.",
		Permissions: []tool.Permission{tool.ProcExec}, SideEffects: "ends a process", Idempotent: true,
		Input:  processInput(""),
		Output: processOutputs(),
		Limit:  shellLimit(),
	}, tool.Nothing, // but what an approved call started
		func(ctx context.Context, _ *tool.Call, in stopIn) (tool.Result, error) {
			b, missing := s.find(in.ID)
			if missing != nil {
				return tool.Result{Error: missing}, nil
			}
			if _, err := b.Stop(ctx); err != nil {
				return tool.Failure(tool.IOError, "Process %s could not be ended: %v", b.id(), err), nil
			}
			return b.news(), nil
		})
}
