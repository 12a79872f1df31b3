package cli

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/internal/coder"
	"github.com/reins-agent/reins/project"
	"github.com/reins-agent/reins/tool"
)

// coderRun holds the flags of "reins coder".
type coderRun struct {
	run                           // only its connection fields are used
	request                       coder.Request
	sandbox, contract, guardrails string
	timeout, maxDuration          int
}

func newCoder(h Host) *cobra.Command {
	var o coderRun
	cmd := &cobra.Command{
		Use:   "coder [flags] [PROMPT] [-]",
		Short: "Run a coding task for a program",
		Long: `Run a coding task for a program, such as another agent. It prints one JSON
object that says whether the task succeeded, and the answer or the kind of
error. The exit code is 0 or 1. Progress goes to standard error.

It never asks for approval. With the sandbox workspace-write, the agent may
change files in the directory and run commands inside the sandbox. Everything
else is refused, unless a rule allows it.`,
		Example: `  reins coder --cwd ~/project "Add a --version flag" | jq -r .result
  reins coder --session ID "Now add a test for it"
  reins coder --contract ai/contract.md --allow-file 'src/**' - < task.md`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.parsed = cmd.Flags()
			return o.do(cmd.Context(), h, args)
		},
	}
	o.connection.flags(h, cmd)
	f, q := cmd.Flags(), &o.request
	f.StringVar(&q.Dir, "cwd", ".", "work in directory `DIR`")
	f.StringVar(&q.Dir, "cd", ".", "the same as --cwd")
	_ = f.MarkHidden("cd") // cannot fail: the flag exists
	f.StringVar(
		&o.sandbox,
		"sandbox",
		string(coder.WorkspaceWrite),
		"what the agent can change: read-only, workspace-write or danger-full-access, which the configuration must permit",
	)
	f.StringVar(&q.Session, "session", "", "continue session `ID`, or start a new one if it does not exist")
	f.IntVar(&o.timeout, "timeout", 300, "maximum `SECONDS` without output")
	f.IntVar(&o.maxDuration, "max-duration", 1800, "maximum `SECONDS` for the whole run, 0 for no limit")
	f.IntVar(&q.MaxRetries, "max-retries", 0, "retry up to `N` times if the run fails before it changes anything")
	f.BoolVar(&q.AllMessages, "return-all-messages", false, "add everything that was recorded to the result")
	f.BoolVar(&q.Metrics, "return-metrics", false, "add metrics to the result")
	f.BoolVar(&q.LogMetrics, "log-metrics", false, "print metrics to standard error")
	f.StringVar(&o.contract, "contract", "", "read constraints that take precedence over the task from `FILE`")
	f.StringVar(&o.guardrails, "guardrails", "", "read additional constraints from `FILE`")
	f.StringArrayVar(
		&q.AllowedFiles,
		"allow-file",
		nil,
		"fail if the run changes files that do not match `GLOB`, such as 'src/**'; can be repeated to allow more files",
	)
	_ = f.SetAnnotation("sandbox", ownMeaning, []string{}) // cannot fail: the flag exists
	completeWords(cmd, "sandbox", string(coder.ReadOnly), string(coder.WorkspaceWrite), string(coder.FullAccess))
	completeFlag(cmd, "session", completeSessions(h, anyNumber))
	return cmd
}

// do runs the task and prints the result.
func (o *coderRun) do(ctx context.Context, h Host, args []string) error {
	q := o.request
	for _, f := range []struct {
		flag, file string
		text       *string
	}{{"contract", o.contract, &q.Contract}, {"guardrails", o.guardrails, &q.Guardrails}} {
		if f.file == "" {
			continue
		}
		b, err := os.ReadFile(f.file)
		if err != nil {
			return usagef("--%s: %w", f.flag, err)
		}
		*f.text = string(b)
	}
	if o.timeout < 1 || o.maxDuration < 0 {
		return usagef("--timeout must be positive, and --max-duration must not be negative")
	}
	prompt, err := readPrompt(ctx, h, args)
	if err != nil {
		return err
	}
	q.Prompt, q.Sandbox = flagHidden(h, prompt), coder.Sandbox(o.sandbox)
	q.IdleTimeout, q.MaxDuration = time.Duration(o.timeout)*time.Second, coder.Seconds(o.maxDuration)
	c, err := o.coder(h, q.Dir)
	if err != nil { // let the run report it as JSON
		c = coder.Config{Session: func(context.Context, string, coder.Sandbox) (coding.Config, error) { return coding.Config{}, err }}
	}
	c.Progress = func(line string) { fmt.Fprintln(h.Stderr, "· "+hostSecrets().Text(line)) }
	res := coder.Run(ctx, c, q)
	if err := printJSON(h.Stdout, res); err != nil {
		return err
	}
	return failIf(!res.Success)
}

// coder returns the configuration of coder runs. The flags and the user's configuration select the agent.
func (o run) coder(h Host, dir string) (coder.Config, error) {
	options, err := o.connection.options(h, o.dir)
	if err != nil {
		return coder.Config{}, err
	}
	options.Rules, options.Writable = o.rules, o.boxed.writable
	options.Servers = o.mcpConfig
	if o.trust {
		options.Trust = project.TrustYes
	}
	a := newAsker(h)
	c, err := coder.Of(options, dir, func(c *coding.Config) {
		c.ToolConfig.DefaultTimeout = o.timeout
		c.Session.Allow, c.Session.Deny = o.allow, o.deny
		c.Session.Approve = func(ctx context.Context, q tool.Request) (tool.Approval, error) {
			return a.refuse(ctx, q, "this run cannot ask for approval"), nil
		}
	})
	c.Log = func(m coder.Metrics) {
		if line, err := marshal(m); err == nil {
			fmt.Fprintf(h.Stderr, "reins: coder metrics %s\n", line)
		}
	}
	return c, err
}
