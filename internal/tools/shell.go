package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// shell implements the tools that run commands.
type shell struct {
	config Config
	*State
}

func (s *shell) foreground() Op[Command, Ran] {
	return Op[Command, Ran]{Spec: s.spec(), Access: commandAccess, Do: s.execute}
}

func (s *shell) background() Op[Command, Started] {
	return Op[Command, Started]{Spec: s.spec(), Access: commandAccess, Do: s.start}
}

func (s *shell) spec() tool.Spec {
	return tool.Spec{
		Name:    "shell",
		Version: "1.0.0",

		Description: "Execute a shell command. Standard input is empty. " +
			fmt.Sprintf(
				"The command is stopped after timeout_ms (default %d, at most %d). ",
				s.config.DefaultTimeout.Milliseconds(), s.config.MaxTimeout.Milliseconds(),
			) +
			"Each command runs in a new shell in the working directory. A background command runs until it is stopped or its " +
			"timeout_ms has passed.",

		Permissions: commandPermissions(),
		SideEffects: "runs a command, which may do anything",
		Destructive: true,
		OpenWorld:   true,

		Output: payload(
			"exit_code integer",
			"timed_out boolean",
			"duration_ms integer",
			"signal string",
			"background_processes integer",
			"dropped_bytes integer",
			"blocked array",
			"id string",
			"pid integer",
			"started string",
		),

		Limit: shellLimit(),
	}
}

func commandAccess(ctx context.Context, c *tool.Call, in Command) []policy.Access {
	return []policy.Access{
		{Kind: policy.Exec, Target: in.Command, Dir: touches(ctx, c, policy.Exec, OrHere(in.Workdir)).Target, Outside: in.Outside},
	}
}

// commandPermissions returns all permissions, because a command may use any of them.
func commandPermissions() []tool.Permission {
	return []tool.Permission{tool.ProcExec, tool.FSRead, tool.FSWrite, tool.FSDelete, tool.NetConnect, tool.GitWrite}
}

// shellLimit returns the limit for the output of commands.
func shellLimit() tool.Limit { return tool.Limit{Chars: 30_000, Lines: 256, Mode: tool.HeadTail} }

// tool returns the standard tool.
func (s *shell) tool() tool.Tool {
	return Over(s.spec(), s.foreground(), same[Command], func(ctx context.Context, c *tool.Call, in Command) (tool.Result, error) {
		if in.Background {
			return presented(s.start, showStarted)(ctx, c, in)
		}
		return presented(s.execute, showRan)(ctx, c, in)
	})
}

// check rejects invalid commands.
func (s *shell) check(ctx context.Context, c *tool.Call, in Command) error {
	switch {
	case strings.TrimSpace(in.Command) == "":
		return tool.Errorf(tool.ValidationError, "command is empty.")
	case strings.ContainsRune(in.Command, 0):
		return tool.Errorf(tool.ValidationError, "command contains a NUL character.")
	case in.TimeoutMS < 0:
		return tool.Errorf(tool.ValidationError, "The timeout must not be negative.")
	case in.Workdir == "":
		return nil
	}
	info, err := c.Env.Stat(ctx, in.Workdir)
	switch {
	case errors.Is(err, env.ErrSpecial), err == nil && !info.IsDir():
		return tool.Errorf(tool.NotADirectory, "workdir %s is not a directory.", in.Workdir)
	case err != nil:
		return failed(err, in.Workdir)
	}
	return nil
}

// execute runs a command and waits for it.
func (s *shell) execute(ctx context.Context, c *tool.Call, in Command) (Ran, error) {
	if err := s.check(ctx, c, in); err != nil {
		return Ran{}, err
	}
	limits := c.Timeouts.Or(s.config.timeouts())
	ran := Ran{Timeout: limits.Default, Max: limits.Max}
	if in.TimeoutMS > 0 {
		ran.Timeout = millis(in.TimeoutMS, limits.Max)
	}
	cmd := env.Command{
		Line:    in.Command,
		Dir:     in.Workdir,
		Env:     in.Env,
		PTY:     in.TTY,
		Merge:   true,
		Timeout: ran.Timeout,
	}
	// The environment searches for descendants when the context of a command ends. Only a command with an
	// idle timeout gets its own context, so that this does not happen after every command.
	running, printed := ctx, func() {}
	var silent atomic.Bool
	if in.Idle {
		var end context.CancelFunc
		running, end = context.WithCancel(ctx)
		defer end()
		quiet := time.AfterFunc(ran.Timeout, func() { silent.Store(true); end() })
		defer quiet.Stop()
		cmd.Timeout, printed = 0, func() { quiet.Reset(ran.Timeout) }
	}
	cmd.OnOutput = func(_ env.Stream, p []byte) {
		printed()
		if c.Output != nil {
			c.Output(p)
		}
	}
	p, err := c.Env.Start(running, cmd)
	if err != nil {
		return ran, startFailed(err)
	}
	// When ctx is done, the process is stopped. Its output so far is still returned.
	if ran.Exit, err = p.Wait(context.WithoutCancel(ctx)); err != nil {
		return ran, err
	}
	ran.PID, ran.Output = p.PID(), outputOf(p, ran.Exit)
	ran.Silent, ran.Interrupted = silent.Load(), ctx.Err() != nil
	return ran, nil
}

// showRan formats a finished command for shell.
func showRan(in Command, ran Ran) tool.Result {
	res := tool.Result{
		Output: ran.Output,
		Fields: ran.Fields(),
		Error:  ran.Err(),

		Artifacts: tool.Artifacts{CommandsRun: []string{in.Command}},

		Present: func(o tool.Output, l tool.Limit) (string, error) {
			text, err := tool.Truncate(o, l)
			if text != "" {
				text = "\n" + text
			}
			return exitLine(ran.Exit) + text, err
		},
	}
	if res.Error == nil {
		return res
	}
	switch res.Error.Code {
	case tool.ShellExitError:
		res.Error.Shown = ran.Exit.Signal == "" // the first line shows the exit code
	case tool.ShellTimeout:
		advice := "You can retry with a longer timeout by setting the timeout_ms parameter."
		if ran.Timeout >= ran.Max {
			advice = "This is the maximum timeout. Set background for commands that take longer."
		}
		res.Error.Message = fmt.Sprintf(
			"[ERROR: Command timed out after %dms. Partial output is shown above.\n%s]",
			ran.Timeout.Milliseconds(), advice,
		)
	}
	return res
}

// exitLine reports how a command ended and how long it ran. It uses whole seconds, so that quick commands give the same
// text in every run; the fields of the result contain the exact time.
func exitLine(exit env.Exit) string {
	took := "under 1 s"
	if exit.Duration >= time.Second {
		took = fmt.Sprintf("%d s", exit.Duration/time.Second)
	}
	return fmt.Sprintf("[exit code %d, %s]", exit.Code, took)
}
