package coding

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/reins-agent/reins/coding/engine"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

type (
	outputIn = engine.Output
	inputIn  = engine.Input
	stopIn   = engine.Stop
)

// processInput is the input schema of a tool that has an id beside other properties.
func processInput(properties string) json.RawMessage {
	return fmt.Appendf(nil, `{"type":"object","properties":{"id":{"type":["string","integer"],"description":"the id that shell gave for the background process"}%s},"required":["id"],"additionalProperties":false}`, properties)
}

func processOutputs() json.RawMessage {
	return payload("id string", "pid integer", "command string", "running boolean",
		"exit_code integer", "timed_out boolean", "duration_ms integer", "signal string", "background_processes integer", "dropped_bytes integer")
}

// maxWait bounds how long the standard tools wait for a process.
const maxWait = time.Minute

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
		func(ctx context.Context, c *tool.Call, in outputIn) (tool.Result, error) {
			in.WaitMS = min(in.WaitMS, maxWait.Milliseconds())
			return presented(s.readOutput, showNews)(ctx, c, in)
		})
}

func (s *shell) readOutput(ctx context.Context, _ *tool.Call, in outputIn) (engine.News, error) {
	b, missing := s.find(in.ID)
	if missing != nil {
		return engine.News{}, missing
	}
	b.wait(ctx, in.WaitMS)
	return b.news()
}

func (s *shell) input() tool.Tool {
	return tool.New(tool.Spec{
		Name: "shell_input", Version: "1.0.0",
		Description: "Send text to the standard input of a background process, and read what it prints in answer.",
		Permissions: commandPermissions(), SideEffects: "the process acts on what it is sent", Destructive: true, OpenWorld: true,
		Input: processInput(`,"text":{"type":"string","description":"what to send; a line needs its newline"}` +
			`,"close":{"type":"boolean","description":"end standard input afterwards"}` +
			`,"wait_ms":{"type":"integer","description":"how long to wait for an answer (default 250, at most 60000)"}`),
		Output: processOutputs(),
		Limit:  shellLimit(),
	}, func(_ context.Context, c *tool.Call, in inputIn) []policy.Access {
		return []policy.Access{{Kind: policy.Exec, Target: in.Text, Dir: c.Env.Info().Dir}}
	}, func(ctx context.Context, c *tool.Call, in inputIn) (tool.Result, error) {
		wait := int64(250)
		if in.WaitMS != nil {
			wait = min(*in.WaitMS, maxWait.Milliseconds())
		}
		in.WaitMS = &wait
		return presented(s.send, showNews)(ctx, c, in)
	})
}

// send sends text to a process and reads what it prints in answer.
func (s *shell) send(ctx context.Context, _ *tool.Call, in inputIn) (engine.News, error) {
	b, missing := s.find(in.ID)
	if missing != nil {
		return engine.News{}, missing
	}
	if in.Text != "" || in.Close {
		if err := b.send(ctx, in.Text, in.Close); err != nil {
			if ctx.Err() != nil {
				return engine.News{}, failed(ctx.Err(), "").Error
			}
			return engine.News{}, engine.Fail(tool.IOError, "Process %s takes no input: %v.", b.id(), err)
		}
	}
	if in.WaitMS != nil {
		b.wait(ctx, *in.WaitMS)
	}
	return b.news()
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
		presented(s.end, showNews))
}

// end ends a process and reads the rest of its output.
func (s *shell) end(ctx context.Context, _ *tool.Call, in stopIn) (engine.News, error) {
	b, missing := s.find(in.ID)
	if missing != nil {
		return engine.News{}, missing
	}
	if _, err := b.Stop(ctx); err != nil {
		return engine.News{}, engine.Fail(tool.IOError, "Process %s could not be ended: %v", b.id(), err)
	}
	return b.news()
}

// showNews presents what a process printed as the standard tools do.
func showNews[In any](_ In, n engine.News) tool.Result {
	text, state := endLine(n.Text), "[still running]"
	if !n.Running {
		if n.More {
			text += "[there is more output; read again]\n"
		}
		if n.Exit.TimedOut {
			text += "[ended by its timeout]\n"
		}
		state = exitLine(n.Exit)
	}
	return tool.Result{Output: tool.Text(text + state), Fields: n.Fields()}
}
