package coding

import (
	"context"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// codexTools are the tools of codex.
func codexTools(p *Profile) []tool.Tool {
	ps := newProcesses(p)
	return []tool.Tool{ps.execCommand(), ps.writeStdin(), updatePlan(), codexPatch(p), codexImage(p)}
}

// codexPatch is apply_patch as codex has it: freeform, or as a function with "input".
func codexPatch(p *Profile) tool.Tool {
	type in struct {
		Input string `json:"input" jsonschema:"the whole patch, from *** Begin Patch to *** End Patch"`
	}
	inner := p.get("apply_patch")
	t := native[in]{
		name: "apply_patch",
		to:   func(i in) any { return patchIn{i.Input} },
		show: func(_ *tool.Call, _ in, res tool.Result) tool.Result {
			return codexError("apply_patch verification failed: ", res)
		},
	}.over(inner)
	if p.Freeform {
		spec := t.Spec()
		spec.Freeform = freeformPatch(inner).Spec().Freeform
		return described{t, spec}
	}
	return t
}

// codexError puts what failed before the message of a call, and speaks of programs where our
// messages advise to use tools that codex does not have.
func codexError(what string, res tool.Result) tool.Result {
	if res.Error != nil {
		e := *res.Error
		e.Message = what + renamed(e.Message, map[string]string{"glob": "rg", "grep": "rg", "list_dir": "ls", "read_file": "sed", "shell": "exec_command"})
		res.Error = &e
	}
	return res
}

func codexImage(p *Profile) tool.Tool {
	return native[viewImageIn]{
		name:  "view_image",
		enums: map[string][]any{"detail": {"high", "original"}},
		to:    func(in viewImageIn) any { return in },
		show:  func(_ *tool.Call, _ viewImageIn, res tool.Result) tool.Result { return codexError("", res) },
	}.over(p.get("view_image"))
}

// processes are our tools for commands, of which codex's two are composed: a command runs in the
// background from the start, and a call waits for it for a while.
type processes struct{ shell, output, input, stop tool.Tool }

func newProcesses(p *Profile) processes {
	return processes{p.get("shell"), p.get("shell_output"), p.get("shell_input"), p.get("shell_stop")}
}

type execCommandIn struct {
	Command   string   `json:"cmd" jsonschema:"the command to run"`
	Workdir   string   `json:"workdir,omitempty" jsonschema:"the directory to run it in (default: the working directory)"`
	TTY       bool     `json:"tty,omitempty" jsonschema:"give the command a terminal, and keep its input open for write_stdin"`
	Yield     float64  `json:"yield_time_ms,omitempty" jsonschema:"how long to wait for the command before it goes on as a session (default 10000)"`
	MaxTokens float64  `json:"max_output_tokens,omitempty" jsonschema:"the most output to return (default 10000)"`
	Shell     string   `json:"shell,omitempty" jsonschema:"accepted, and without effect: the environment has its shell"`
	Login     *bool    `json:"login,omitempty" jsonschema:"accepted, and without effect"`
	Sandbox   string   `json:"sandbox_permissions,omitempty" jsonschema:"accepted, and without effect: approvals are asked for when they are needed"`
	Question  string   `json:"justification,omitempty" jsonschema:"why the command is needed"`
	Prefix    []string `json:"prefix_rule,omitempty" jsonschema:"accepted, and without effect"`
}

func (p processes) execCommand() tool.Tool {
	spec := p.shell.Spec()
	spec.Name, spec.Input, spec.Output, spec.Limit = "exec_command", nil, p.output.Spec().Output, codexLimit(0)
	spec.Description = "Run a command. It returns when the command ends, or else, after yield_time_ms, a session id to go on with in write_stdin."
	args := func(in execCommandIn) shellIn {
		return shellIn{Command: in.Command, Workdir: in.Workdir, Background: true, TTY: in.TTY}
	}
	return newNative(spec, map[string][]any{"sandbox_permissions": {"use_default", "require_escalated"}},
		func(ctx context.Context, c *tool.Call, in execCommandIn) []policy.Access {
			return p.shell.Access(ctx, with(c, args(in)))
		},
		func(ctx context.Context, c *tool.Call, in execCommandIn) (tool.Result, error) {
			start := time.Now()
			started, err := p.shell.Run(ctx, with(c, args(in)))
			if err != nil || started.Error != nil {
				return codexError(fmt.Sprintf("exec_command failed for `%s`: ", in.Command), started), err
			}
			id, _ := started.Fields["id"].(string)
			res, err := p.wait(ctx, c, processID(id), !in.TTY, yieldTime(in.Yield, 10_000, 250, 30_000))
			if err != nil {
				return res, err
			}
			res = codexOutput(c, id, res, time.Since(start), in.MaxTokens)
			res.Artifacts = started.Artifacts
			return res, nil
		})
}

// wait gives a process some time to end and reads what it printed. With end set its standard input
// is closed first. If the call is interrupted meanwhile, the process is ended with it.
func (p processes) wait(ctx context.Context, c *tool.Call, id processID, end bool, ms int64) (res tool.Result, err error) {
	if end {
		res, err = p.input.Run(ctx, with(c, inputIn{ID: id, Close: true, WaitMS: &ms}))
	}
	// A command that has ended takes no input, and that is no failure.
	if !end || err == nil && res.Error != nil {
		res, err = p.output.Run(ctx, with(c, outputIn{ID: id, WaitMS: ms}))
	}
	if ctx.Err() == nil {
		return res, err
	}
	if _, err := p.stop.Run(context.WithoutCancel(ctx), with(c, stopIn{ID: id})); err != nil {
		return res, err
	}
	return res, ctx.Err()
}

type writeStdinIn struct {
	Session   float64 `json:"session_id" jsonschema:"the session id that exec_command gave"`
	Chars     string  `json:"chars,omitempty" jsonschema:"what to send; empty to wait for more output, U+0003 to end the command"`
	Yield     float64 `json:"yield_time_ms,omitempty" jsonschema:"how long to wait for output"`
	MaxTokens float64 `json:"max_output_tokens,omitempty" jsonschema:"the most output to return (default 10000)"`
}

func (in writeStdinIn) id() processID {
	return processID(strconv.FormatFloat(in.Session, 'f', -1, 64))
}

const interrupt = "\x03"

func (p processes) writeStdin() tool.Tool {
	spec := p.input.Spec()
	spec.Name, spec.Input, spec.Limit = "write_stdin", nil, codexLimit(0)
	spec.Description = "Send text to a running session, or wait for more of its output."
	return tool.New(spec, func(ctx context.Context, c *tool.Call, in writeStdinIn) []policy.Access {
		if in.Chars == "" || in.Chars == interrupt {
			return p.output.Access(ctx, with(c, outputIn{ID: in.id()}))
		}
		return p.input.Access(ctx, with(c, inputIn{ID: in.id(), Text: in.Chars}))
	}, func(ctx context.Context, c *tool.Call, in writeStdinIn) (tool.Result, error) {
		start := time.Now()
		res, err := p.send(ctx, c, in)
		if err != nil || res.Error != nil {
			return res, err
		}
		return codexOutput(c, string(in.id()), res, time.Since(start), in.MaxTokens), nil
	})
}

// send does what the characters ask for, and reads what the process printed.
func (p processes) send(ctx context.Context, c *tool.Call, in writeStdinIn) (tool.Result, error) {
	switch in.Chars {
	case "":
		return p.wait(ctx, c, in.id(), false, yieldTime(in.Yield, 5_000, 5_000, 60_000))
	case interrupt:
		return p.stop.Run(ctx, with(c, stopIn{ID: in.id()}))
	}
	wait := yieldTime(in.Yield, 250, 250, 30_000)
	return p.input.Run(ctx, with(c, inputIn{ID: in.id(), Text: in.Chars, WaitMS: &wait}))
}

// yieldTime is a number of milliseconds within bounds.
func yieldTime(ms, standard, least, most float64) int64 {
	if ms <= 0 {
		ms = standard
	}
	return int64(min(max(ms, least), most))
}

// codexLimit bounds the output to a number of tokens, of about four characters each.
func codexLimit(tokens float64) tool.Limit {
	if tokens <= 0 || tokens > 1e6 {
		tokens = 10_000
	}
	return tool.Limit{Chars: int(tokens) * 4, Lines: -1, Mode: tool.HeadTail}
}

// codexOutput gives the news of a process the form of codex. A command that failed is no failure
// of the call.
func codexOutput(c *tool.Call, id string, res tool.Result, took time.Duration, maxTokens float64) tool.Result {
	if res.Error != nil {
		return res
	}
	text := withoutState(tool.String(res.Output))
	state := "Process running with session ID " + id
	if code, exited := res.Fields["exit_code"].(int); exited {
		state = "Process exited with code " + strconv.Itoa(code)
	}
	h := fnv.New32a()
	fmt.Fprintf(h, "%s/%s/%d", c.ID, id, len(text))
	res.Output = tool.Text(fmt.Sprintf("Chunk ID: %06x\nWall time: %.4f seconds\n%s\nOriginal token count: %d\nOutput:\n%s",
		h.Sum32()&0xffffff, took.Seconds(), state, (len(text)+3)/4, text))
	if maxTokens > 0 {
		res.Limit = codexLimit(maxTokens)
	}
	return res
}

// withoutState is the news of a process without their last line, which says how it is.
func withoutState(news string) string { return news[:strings.LastIndexByte(news, '\n')+1] }
