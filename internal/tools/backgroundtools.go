package tools

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/tool"
)

// maxWait is the maximum time that the standard tools wait for a process.
const maxWait = time.Minute

// backgroundTools returns the standard tools for background processes.
func (s *shell) backgroundTools() []tool.Tool {
	output, input := s.output(), s.input()
	return []tool.Tool{
		Over(output.Spec, output, same[Output], func(ctx context.Context, c *tool.Call, in Output) (tool.Result, error) {
			in.WaitMS = min(in.WaitMS, maxWait.Milliseconds())
			return presented(output.Do, showNews)(ctx, c, in)
		}),
		Over(input.Spec, input, same[Input], func(ctx context.Context, c *tool.Call, in Input) (tool.Result, error) {
			wait := int64(250)
			if in.WaitMS != nil {
				wait = min(*in.WaitMS, maxWait.Milliseconds())
			}
			in.WaitMS = &wait
			return presented(input.Do, showNews)(ctx, c, in)
		}),
		standard(s.stop(), showNews),
	}
}

// processSpec completes the spec of a tool for background processes. properties are the properties of its input in
// addition to the id.
func processSpec(spec tool.Spec, properties string) tool.Spec {
	spec.Version, spec.Limit = "1.0.0", shellLimit()
	spec.Input = fmt.Appendf(
		nil,
		`{"type":"object","properties":{"id":{"type":["string","integer"],"description":"id returned by shell"}%s},`+
			`"required":["id"],"additionalProperties":false}`,
		properties,
	)
	spec.Output = payload(
		"id string",
		"pid integer",
		"command string",
		"running boolean",
		"exit_code integer",
		"timed_out boolean",
		"duration_ms integer",
		"signal string",
		"background_processes integer",
		"dropped_bytes integer",
		"blocked array",
	)
	return spec
}

func (s *shell) output() Op[Output, News] {
	return Op[Output, News]{
		Spec: processSpec(tool.Spec{
			Name:        "shell_output",
			Description: "Read the new output of a background process, and whether it is still running.",
			Permissions: []tool.Permission{tool.ProcExec}, ReadOnly: true,
		}, `,"wait_ms":{"type":"integer","description":"how long to wait for its end first (default 0, at most 60000)"}`),
		Access: tool.Nothing[Output], // the call that started the process was approved
		Do: func(ctx context.Context, _ *tool.Call, in Output) (News, error) {
			p, err := s.find(in.ID)
			if err != nil {
				return News{}, err
			}
			p.wait(ctx, in.WaitMS)
			return p.news()
		},
	}
}

func (s *shell) input() Op[Input, News] {
	return Op[Input, News]{
		Spec: processSpec(tool.Spec{
			Name: "shell_input",

			Description: "Send text to the standard input of a background process, and read its response.",

			Permissions: commandPermissions(),
			SideEffects: "the process acts on its input",
			Destructive: true,
			OpenWorld:   true,
		}, `,"text":{"type":"string","description":"the text to send; end a line with a newline"}`+
			`,"close":{"type":"boolean","description":"close standard input afterwards"}`+
			`,"wait_ms":{"type":"integer","description":"how long to wait for a response (default 250, at most 60000)"}`),
		Access: s.inputAccess,
		Do:     s.send,
	}
}

// send sends text to a process and reads its response.
func (s *shell) send(ctx context.Context, _ *tool.Call, in Input) (News, error) {
	p, err := s.find(in.ID)
	if err != nil {
		return News{}, err
	}
	if in.Text != "" || in.Close {
		if err := p.send(ctx, in.Text, in.Close); err != nil {
			if ctx.Err() != nil {
				return News{}, failed(ctx.Err(), "")
			}
			return News{}, tool.Errorf(tool.IOError, "Process %s does not accept input: %v.", in.ID, err)
		}
	}
	if in.WaitMS != nil {
		p.wait(ctx, *in.WaitMS)
	}
	return p.news()
}

func (s *shell) stop() Op[Stop, News] {
	return Op[Stop, News]{
		Spec: processSpec(tool.Spec{
			Name: "shell_stop",

			Description: "Stop a background process and everything it started.",

			Permissions: []tool.Permission{tool.ProcExec},
			SideEffects: "stops a process",
			Idempotent:  true,
		}, ""),
		Access: tool.Nothing[Stop], // the call that started the process was approved
		Do: func(ctx context.Context, _ *tool.Call, in Stop) (News, error) {
			p, err := s.stopProcess(ctx, in.ID, event.StoppedByAgent)
			if err != nil {
				return News{}, err
			}
			return p.news()
		},
	}
}

// showStarted formats a started process for shell.
func showStarted(in Command, p Started) tool.Result {
	res := tool.Success(
		"Started in the background with id %s (pid %d). Use shell_output to read its output and shell_stop to stop it.",
		p.ID, p.PID,
	)
	res.Fields = p.Fields()
	res.Artifacts = p.Artifacts(in.Command)
	return res
}

// showNews formats the output of a process for the standard tools.
func showNews[In any](_ In, n News) tool.Result {
	text, state := n.Text, "[still running]"
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if !n.Running {
		if n.More {
			text += "[there is more output; read again]\n"
		}
		if n.Exit.TimedOut {
			text += "[stopped by its timeout]\n"
		}
		state = exitLine(n.Exit)
	}
	return tool.Result{Output: tool.Text(text + state), Fields: n.Fields()}
}
