package coding

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strings"
	"time"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

type shellIn struct {
	Command     string `json:"command" jsonschema:"the command line to run"`
	TimeoutMS   int64  `json:"timeout_ms,omitempty" jsonschema:"how long the command may run, in milliseconds"`
	Description string `json:"description,omitempty" jsonschema:"what the command does, in a few words"`
	Workdir     string `json:"workdir,omitempty" jsonschema:"the directory to run it in (default: the working directory)"`
	Background  bool   `json:"background,omitempty" jsonschema:"leave it running and return at once; see shell_output, shell_input and shell_stop"`
	TTY         bool   `json:"tty,omitempty" jsonschema:"give it a terminal"`
}

func (s *shell) shell() tool.Tool {
	return tool.New(tool.Spec{
		Name: "shell", Version: "1.0.0",
		Description: "Execute a shell command. Returns stdout, stderr, and exit code. Standard input is empty. " +
			fmt.Sprintf("The command is ended after timeout_ms (default %d, at most %d). ", s.config.DefaultTimeout.Milliseconds(), s.config.MaxTimeout.Milliseconds()) +
			"Each command starts in the working directory, in a shell of its own. One in the background runs until it is stopped, or ended by a timeout_ms of its own.",
		Permissions: []tool.Permission{tool.ProcExec}, SideEffects: "runs a command, which may do anything", Destructive: true, OpenWorld: true,
		Output: payload("exit_code integer", "timed_out boolean", "duration_ms integer", "signal string", "background_processes integer", "dropped_bytes integer",
			"id string", "pid integer", "started string"),
		Limit: shellLimit(),
	}, func(ctx context.Context, c *tool.Call, in shellIn) []policy.Access {
		return []policy.Access{{Kind: policy.Exec, Target: in.Command, Dir: touches(ctx, c, policy.Exec, orHere(in.Workdir)).Target}}
	}, s.run)
}

func (s *shell) run(ctx context.Context, c *tool.Call, in shellIn) (tool.Result, error) {
	switch {
	case strings.TrimSpace(in.Command) == "":
		return tool.Failure(tool.ValidationError, "command is empty."), nil
	case strings.ContainsRune(in.Command, 0):
		return tool.Failure(tool.ValidationError, "command contains a NUL character, which no command line can have."), nil
	case in.TimeoutMS < 0:
		return tool.Failure(tool.ValidationError, "timeout_ms must not be negative."), nil
	}
	if refused := checkDir(ctx, c.Env, in.Workdir); refused != nil {
		return *refused, nil
	}
	if in.Background {
		return s.background(ctx, c, in), nil
	}
	limits := c.Timeouts.Or(tool.Timeouts{Default: s.config.DefaultTimeout, Max: s.config.MaxTimeout})
	timeout := limits.Default
	if in.TimeoutMS > 0 {
		timeout = millis(in.TimeoutMS, limits.Max)
	}
	cmd := env.Command{Line: in.Command, Dir: in.Workdir, PTY: in.TTY, Timeout: timeout}
	if c.Output != nil {
		cmd.OnOutput = func(_ env.Stream, p []byte) { c.Output(p) }
	}
	p, err := c.Env.Start(ctx, cmd)
	if err != nil {
		return startFailed(err), nil
	}
	// The end of ctx ends the process, and what it printed until then is worth having.
	exit, err := p.Wait(context.WithoutCancel(ctx))
	if err != nil {
		return tool.Result{}, err
	}
	res := tool.Result{Output: outputOf(p, exit), Fields: exitFields(exit), Artifacts: tool.Artifacts{CommandsRun: []string{in.Command}}}
	res.Error = exitError(ctx, exit, timeout, limits.Max)
	return res, nil
}

// millis is a number of milliseconds as a duration of at most so much.
func millis(n int64, most time.Duration) time.Duration {
	if n > most.Milliseconds() {
		return most
	}
	return time.Duration(n) * time.Millisecond
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
		return tool.Failure(tool.ValidationError, "The command is too long for one command line. Write it to a script with write_file and run that.")
	case errors.Is(err, fs.ErrPermission), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return failed(err, "the command")
	}
	return tool.Failure(tool.IOError, "The command could not be started: %s", brief(err.Error()))
}

func exitFields(exit env.Exit) map[string]any {
	fields := map[string]any{"exit_code": exit.Code, "timed_out": exit.TimedOut, "duration_ms": exit.Duration.Milliseconds()}
	if exit.Signal != "" {
		fields["signal"] = exit.Signal
	}
	if exit.Orphans > 0 {
		fields["background_processes"] = exit.Orphans
	}
	if exit.Dropped > 0 {
		fields["dropped_bytes"] = exit.Dropped
	}
	return fields
}

// exitError says how a command failed, or is nil.
func exitError(ctx context.Context, exit env.Exit, timeout, most time.Duration) *tool.Error {
	switch {
	case exit.TimedOut:
		advice := "You can retry with a longer timeout by setting the timeout_ms parameter."
		if timeout >= most {
			advice = "This is the maximum timeout. Set background for commands that take longer."
		}
		message := fmt.Sprintf("[ERROR: Command timed out after %dms. Partial output is shown above.\n%s]", timeout.Milliseconds(), advice)
		return &tool.Error{Code: tool.ShellTimeout, Message: message}
	case ctx.Err() != nil && exit.Code != 0:
		return &tool.Error{Code: tool.Cancelled, Message: "The command was interrupted. Its output until then is shown above."}
	case exit.Signal != "":
		return &tool.Error{Code: tool.ShellExitError, Message: fmt.Sprintf("The command was ended by %s (exit code %d).", exit.Signal, exit.Code)}
	case exit.Code != 0:
		return &tool.Error{Code: tool.ShellExitError, Message: fmt.Sprintf("The command exited with code %d.", exit.Code)}
	}
	return nil
}
