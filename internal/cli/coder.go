package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/config"
	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/env/sandbox"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/coder"
	"github.com/reins-agent/reins/internal/realpath"
	"github.com/reins-agent/reins/policy"
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
	f.StringVar(&o.sandbox, "sandbox", string(coder.WorkspaceWrite), "what the agent can change: read-only, workspace-write or danger-full-access, which the configuration must permit")
	f.StringVar(&q.Session, "session", "", "continue session `ID`, or start a new one if it does not exist")
	f.IntVar(&o.timeout, "timeout", 300, "maximum `SECONDS` without output")
	f.IntVar(&o.maxDuration, "max-duration", 1800, "maximum `SECONDS` for the whole run, 0 for no limit")
	f.IntVar(&q.MaxRetries, "max-retries", 0, "retry up to `N` times if the run fails before it changes anything")
	f.BoolVar(&q.AllMessages, "return-all-messages", false, "add everything that was recorded to the result")
	f.BoolVar(&q.Metrics, "return-metrics", false, "add metrics to the result")
	f.BoolVar(&q.LogMetrics, "log-metrics", false, "print metrics to standard error")
	f.StringVar(&o.contract, "contract", "", "read constraints that take precedence over the task from `FILE`")
	f.StringVar(&o.guardrails, "guardrails", "", "read additional constraints from `FILE`")
	f.StringArrayVar(&q.AllowedFiles, "allow-file", nil, "fail if the run changes files that do not match `GLOB`, such as 'src/**'; can be repeated to allow more files")
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
	quiet := h
	quiet.Stderr = io.Discard // each run prints the notes about its configuration
	s, err := quiet.settings(dir, false, overrides(o.parsed))
	if err != nil {
		return coder.Config{}, err
	}
	state, err := stateDir(h)
	if err != nil {
		return coder.Config{}, err
	}
	c := coder.Config{State: string(state), FullAccess: s.Coder.FullAccess, Log: func(m coder.Metrics) {
		if line, err := marshal(m); err == nil {
			fmt.Fprintf(h.Stderr, "reins: coder metrics %s\n", line)
		}
	}}
	if s.Coder.Backend != "command" {
		c.Session = func(ctx context.Context, dir string, box coder.Sandbox) (coding.Config, error) {
			return o.coderSession(ctx, h, dir, box)
		}
		return c, nil
	}
	c.Command = &coder.Command{
		Args: s.Coder.Command, ResumeFlag: s.Coder.ResumeFlag, SystemFlag: s.Coder.SystemFlag,
		Env: func(dir string, box coder.Sandbox) (env.Environment, error) { return o.coderEnv(h, dir, box) },
	}
	return c, nil
}

// coderSession returns the configuration of a session for a coder run.
func (o run) coderSession(ctx context.Context, h Host, dir string, box coder.Sandbox) (coding.Config, error) {
	if err := o.configureCoder(h, dir, box); err != nil {
		return coding.Config{}, err
	}
	k, err := o.connection.open(ctx, h)
	if err != nil {
		return coding.Config{}, err
	}
	r := newRunner(h, &jsonView{questions: io.Discard}, o)
	c, err := r.config(k, saved{})
	if err != nil {
		return c, err
	}
	c.Session.Approve = func(ctx context.Context, q tool.Request) (tool.Approval, error) {
		return r.asker.refuse(ctx, q, "this run cannot ask for approval"), nil
	}
	return c, o.checkModels(h, c.Connect.Catalogue, k.Provider, k.Model)
}

// coderEnv returns the environment for the command of a coder run. It has network access, because the command calls a
// model.
func (o run) coderEnv(h Host, dir string, box coder.Sandbox) (env.Environment, error) {
	if err := o.configureCoder(h, dir, box); err != nil {
		return nil, err
	}
	s := o.settings
	if box != coder.FullAccess && o.box.Mode == "" && s.Sandbox.Mode != string(sandbox.Off) {
		return nil, usagef("the sandbox is not available, so the command cannot be confined; set sandbox.mode to off to run it without a sandbox")
	}
	for _, dir := range s.CoderWritable() {
		if fi, err := os.Stat(dir); err != nil || !fi.IsDir() {
			return nil, usagef("coder.writable: %s does not exist or is not a directory", dir)
		}
		o.box.Writable = append(o.box.Writable, dir)
	}
	o.box.Network = len(o.box.Hosts) == 0
	for _, name := range []string{".claude", ".claude.json", ".codex", ".gemini", ".config/opencode", ".local/share/opencode"} { // its own credentials
		o.box.Readable = append(o.box.Readable, realpath.Resolve(filepath.Join(h.Getenv("HOME"), name)))
	}
	if state, err := stateDir(h); err == nil && o.box.Mode == sandbox.WorkspaceWrite {
		o.box.Cache = state.Cache(dir)
	}
	return local.New(local.Config{Dir: dir, Pass: slices.Concat(o.pass, s.Coder.Pass), Sandbox: o.box})
}

// configureCoder applies the configuration to a coder run. The sandbox determines what the agent may do without asking,
// within the limits of the configuration.
func (o *run) configureCoder(h Host, dir string, box coder.Sandbox) error {
	o.trust = o.trust && realpath.Same(cmp.Or(o.dir, "."), dir)
	o.dir, o.yes = dir, false
	if err := o.configure(h, event.Meta{}); err != nil {
		return err
	}
	s, mode := o.settings, sandbox.Mode(o.settings.Sandbox.Mode)
	if !o.parsed.Changed("provider") && !o.parsed.Changed("model") {
		o.useModel(s.Coder)
	}
	switch {
	case box == coder.FullAccess && mode != "" && mode != sandbox.Off:
		return usagef("the sandbox danger-full-access is not permitted: the configured sandbox is %s", mode)
	case box == coder.FullAccess:
		o.box, o.permitted.mode = sandbox.Config{}, policy.ModeBypass
		return nil
	case box == coder.ReadOnly:
		o.permitted.mode = policy.ModePlan
	case mode == sandbox.ReadOnly || o.permitted.mode == policy.ModePlan:
		return usagef("the sandbox workspace-write is not permitted: the configuration permits only reading; use read-only")
	case o.permitted.mode != policy.ModeDontAsk:
		o.permitted.mode = policy.ModeAuto
	}
	if ok, _ := sandbox.Available(); ok {
		confined := *s
		confined.Sandbox.Mode = string(box)
		return o.useBox(h, &confined)
	}
	return nil
}

// useModel applies the provider and model that are configured for coder runs.
func (c *connection) useModel(s config.Coder) {
	if s.Provider != "" && s.Provider != c.provider {
		c.provider, c.model, c.baseURL = s.Provider, "", ""
	}
	c.model = cmp.Or(s.Model, c.model)
}
