package coding

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strings"
	"sync/atomic"
	"time"

	"github.com/reins-agent/reins/coding/engine"
	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

type shellIn = engine.Command

func (s *shell) shell() tool.Tool {
	return tool.New(tool.Spec{
		Name: "shell", Version: "1.0.0",
		Description: "Execute a shell command. Returns stdout, stderr, exit code and duration. Standard input is empty. " +
			fmt.Sprintf("The command is ended after timeout_ms (default %d, at most %d). ", s.config.DefaultTimeout.Milliseconds(), s.config.MaxTimeout.Milliseconds()) +
			"Each command starts in the working directory, in a shell of its own. One in the background runs until it is stopped, or ended by a timeout_ms of its own.",
		Permissions: commandPermissions(), SideEffects: "runs a command, which may do anything", Destructive: true, OpenWorld: true,
		Output: payload("exit_code integer", "timed_out boolean", "duration_ms integer", "signal string", "background_processes integer", "dropped_bytes integer",
			"id string", "pid integer", "started string"),
		Limit: shellLimit(),
	}, func(ctx context.Context, c *tool.Call, in shellIn) []policy.Access {
		return []policy.Access{{Kind: policy.Exec, Target: in.Command, Dir: touches(ctx, c, policy.Exec, orHere(in.Workdir)).Target}}
	}, s.run)
}

// commandPermissions are those that a command may use: any.
func commandPermissions() []tool.Permission {
	return []tool.Permission{tool.ProcExec, tool.FSRead, tool.FSWrite, tool.FSDelete, tool.NetConnect, tool.GitWrite}
}

func (s *shell) run(ctx context.Context, c *tool.Call, in shellIn) (tool.Result, error) {
	if in.Background {
		return presented(s.start, showStarted)(ctx, c, in)
	}
	return presented(s.execute, showRan)(ctx, c, in)
}

// check refuses what cannot be a command.
func (s *shell) check(ctx context.Context, c *tool.Call, in shellIn) error {
	switch {
	case strings.TrimSpace(in.Command) == "":
		return engine.Fail(tool.ValidationError, "command is empty.")
	case strings.ContainsRune(in.Command, 0):
		return engine.Fail(tool.ValidationError, "command contains a NUL character, which no command line can have.")
	case in.TimeoutMS < 0:
		return engine.Fail(tool.ValidationError, "The timeout must not be negative.")
	}
	if refused := checkDir(ctx, c.Env, in.Workdir); refused != nil {
		return refused.Error
	}
	return nil
}

// execute runs a command to its end.
func (s *shell) execute(ctx context.Context, c *tool.Call, in shellIn) (engine.Ran, error) {
	if err := s.check(ctx, c, in); err != nil {
		return engine.Ran{}, err
	}
	limits := c.Timeouts.Or(s.config.timeouts())
	ran := engine.Ran{Timeout: limits.Default, Max: limits.Max}
	if in.TimeoutMS > 0 {
		ran.Timeout = engine.Millis(in.TimeoutMS, limits.Max)
	}
	cmd := env.Command{Line: in.Command, Dir: in.Workdir, Env: in.Env, PTY: in.TTY, Timeout: ran.Timeout}
	// A context of the command's own would have the environment look for its descendants when it ends,
	// after every command.
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
		return ran, startFailed(err).Error
	}
	// The end of ctx ends the process, and what it printed until then is worth having.
	if ran.Exit, err = p.Wait(context.WithoutCancel(ctx)); err != nil {
		return ran, err
	}
	ran.PID, ran.Output = p.PID(), outputOf(p, ran.Exit)
	ran.Silent, ran.Interrupted = silent.Load(), ctx.Err() != nil
	return ran, nil
}

// showRan presents a command as shell does.
func showRan(in shellIn, ran engine.Ran) tool.Result {
	res := tool.Result{
		Output: ran.Output, Fields: ran.Fields(), Error: ran.Err(),
		Artifacts: tool.Artifacts{CommandsRun: []string{in.Command}},
		Present: func(o tool.Output, l tool.Limit) (string, error) {
			text, err := tool.Truncate(o, l)
			if text != "" {
				text = "\n" + text
			}
			return exitLine(ran.Exit) + text, err
		},
	}
	if res.Error != nil && res.Error.Code == tool.ShellExitError && ran.Exit.Signal == "" {
		res.Error.Shown = true // by the first line
	}
	if res.Error != nil && res.Error.Code == tool.ShellTimeout {
		advice := "You can retry with a longer timeout by setting the timeout_ms parameter."
		if ran.Timeout >= ran.Max {
			advice = "This is the maximum timeout. Set background for commands that take longer."
		}
		res.Error.Message = fmt.Sprintf("[ERROR: Command timed out after %dms. Partial output is shown above.\n%s]", ran.Timeout.Milliseconds(), advice)
	}
	return res
}

// exitLine tells how a command ended and how long it ran, in whole seconds: a quick command then reads
// the same in every run. The fields of the result have the exact time.
func exitLine(exit env.Exit) string {
	took := "under 1 s"
	if exit.Duration >= time.Second {
		took = fmt.Sprintf("%d s", exit.Duration/time.Second)
	}
	return fmt.Sprintf("[exit code %d, %s]", exit.Code, took)
}

// endLine ends the last line of a text, if it has one.
func endLine(text string) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}

// forever is longer than any process runs.
const forever = time.Duration(math.MaxInt64)

// checkDir refuses a directory that commands cannot start in.
func checkDir(ctx context.Context, e env.Environment, dir string) *tool.Result {
	if dir == "" {
		return nil
	}
	var refused tool.Result
	info, err := e.Stat(ctx, dir)
	switch {
	case errors.Is(err, env.ErrSpecial), err == nil && !info.IsDir():
		refused = tool.Failure(tool.NotADirectory, "workdir %s is not a directory.", dir)
	case err != nil:
		refused = failed(err, dir)
	default:
		return nil
	}
	return &refused
}

// startFailed is the result for a command that the environment did not start.
func startFailed(err error) tool.Result {
	switch {
	case errors.Is(err, env.ErrReadOnly):
		return tool.Failure(tool.PermissionDenied, "Permission denied: the environment is read-only and runs no commands.")
	case errors.Is(err, env.ErrNoCommands):
		return tool.Failure(tool.PermissionDenied, "This environment runs no commands. Use the file tools instead.")
	case errors.Is(err, env.ErrTooLong):
		return tool.Failure(tool.ValidationError, "The command is too long for one command line. Write it to a script and run that.")
	case errors.Is(err, fs.ErrPermission), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return failed(err, "the command")
	}
	return tool.Failure(tool.IOError, "The command could not be started: %s", brief(err.Error()))
}
