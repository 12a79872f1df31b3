package cli

import (
	"cmp"
	"errors"
	"math"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/project"
)

// run holds the flags of "reins run".
type run struct {
	connection
	effort       string
	cacheTTL     string
	service      string // the service tier
	thinking     string // how it is shown
	dir          string
	profile      string
	toolset      string
	tier         string
	maxRounds    int
	maxTurns     int
	timeout      time.Duration
	deadline     time.Duration
	budget       float64
	system       string
	appendSystem string
	allow, deny  []string
	files        []string // attached to the prompt
	schema       string   // file with the JSON Schema of the result
	inTree       bool     // work in a new worktree, and leave a branch
	tree         string   // the name of the worktree; "" means none
	attempts     attempts
	output       string
	yes          bool
	reads        bool // deny what changes something
	trust        bool
	asksLater    bool // the session asks what the user must decide about the project
	mode, rules  string
	boxed        boxFlags
	project      *project.Project // loaded by configure

	resume, fork string
	continueLast bool
	id           string
	wrong        error // a mistake found while parsing the flags
	noSave       bool
	noMCP        bool
	mcpConfig    []string
	skipDamaged  bool
	fallback     []string
	compactAt    float64
	pastStep     bool // let the conversation reach higher prices
	noModel      bool // compact without a summary
	deferCalls   bool // end with calls that need an approval pending
	waitForCalls bool // wait for approvals without a terminal
	stay         bool // keep running after the prompt is done
	listen       string
	secretEnv    string
}

func newRun(h Host) *cobra.Command {
	var o run
	cmd := &cobra.Command{
		Use:   "run [flags] [PROMPT] [-]",
		Short: "Run a coding task with an agent",
		Long: `Run a coding task with an agent. It reads, edits and runs code in the working
directory until the task is done. Its answer goes to standard output, its
progress to standard error.

The agent may read files in the working directory, and run commands that only
read there. For anything else, Reins asks on the terminal, or refuses if there
is none. Use --mode and rules ("reins policy") to be asked less often, or --yes
to approve everything.

Without a terminal, --wait-for-approvals waits for "reins approve" in another
process, and --defer-approvals ends the run until then. "reins attach" shows a
run in another terminal.

Every run is saved as a session. Use --continue or --resume to continue it, even
after a crash, and "reins undo" to undo its last prompt, including file changes.

A prompt "/NAME ARGS" uses a skill or a command; see "reins skills list". Files
are attached with --file, or by @PATH in the prompt.

Piped input is added to the prompt, unless nothing arrives within 5 seconds. Use
"-" to wait for it. Lines that you type while the agent works are sent to it as
further instructions.`,
		Example: `  reins run "Find out why TestParse fails and fix it"
  reins run --yes --output stream-json "Update the dependencies" > events.jsonl
  git diff | reins run "Review this diff. Change nothing."
  reins run --continue "Now update the changelog"
  reins run -f error.png "Why does @src/login.go show this?"
  reins run "/review main..HEAD"                  # use a skill
  reins run --resume 4TKZ                         # continue interrupted work
  reins run --fork 4TKZ@57 "Try another approach"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			v, err := o.view(h)
			if err != nil {
				return err
			}
			if o.inTree {
				o.tree = newTreeName()
			}
			o.wrong = cmp.Or(o.level.check(), emptyFlag(cmd, "session-id", "resume", "fork"))
			if cmd.Flags().Changed("budget") && o.budget == 0 {
				o.wrong = usagef("--budget 0 allows no model calls: give an amount such as 0.50, or omit --budget for no limit")
			}
			if o.attempts.given() {
				return o.attempts.run(cmd, h, o, args)
			}
			r := newRunner(h, v, o)
			r.words = typed(args)
			return r.run(cmd.Context(), args)
		},
	}
	o.connection.flags(h, cmd)
	o.flags(h, cmd)
	return cmd
}

// view returns how the run is shown.
func (o run) view(h Host) (face, error) {
	v, err := newView(h, o.output)
	if o.schema != "" && o.output == "text" {
		v = newObjectView(h)
	}
	if text, ok := v.(*textView); ok {
		text.level = o.level
	}
	return v, err
}

const tierHelp = "tools that the model sees from the start: lean (only four, with a short prompt), core, advanced or all; " +
	"from core on, it can search for the others"

// flags defines the flags of "reins run".
func (o *run) flags(h Host, cmd *cobra.Command) {
	f := cmd.Flags()
	o.modelFlags(f)
	o.workFlags(f)
	o.resultFlags(f)
	o.permissionFlags(f)
	o.sessionFlags(f)
	o.boxed.flags(cmd)
	o.complete(h, cmd)
}

// modelFlags define how the model is called.
func (o *run) modelFlags(f *pflag.FlagSet) {
	f.StringVar(&o.effort, "effort", "", effortHelp)
	f.StringVar(
		&o.cacheTTL,
		"cache-ttl",
		"",
		"how long the provider keeps the prompt cache, such as 1h, if the model supports it (default: the provider's)",
	)
	f.StringVar(
		&o.service,
		"service-tier",
		"",
		"service `TIER` of the provider, such as flex or priority, which has its own prices (default: the provider's)",
	)
	f.StringVar(
		&o.thinking,
		"thinking",
		"",
		"what the provider shows of the model's thinking: summarized, omitted, or updates (default: summaries, if the provider has them)",
	)
	f.StringSliceVar(
		&o.fallback,
		"fallback",
		nil,
		"models to switch to, in this order, if the model fails three times, does not exist or refuses to answer",
	)
}

// workFlags define where and with what the agent works, and its limits.
func (o *run) workFlags(f *pflag.FlagSet) {
	f.StringVar(&o.dir, "cwd", "", "run in directory `DIR` (default: the current directory)")
	f.StringArrayVar(&o.mcpConfig, "mcp-config", nil, "also use the MCP servers in `FILE`; can be repeated")
	f.BoolVar(&o.noMCP, "no-mcp", false, "do not use MCP servers")
	f.StringVar(
		&o.profile,
		"profile",
		"",
		"use the tools and instructions for openai, anthropic, gemini or generic models (default: chosen by model)",
	)
	f.StringVar(&o.toolset, "toolset", string(coding.Standard), toolsetHelp)
	f.StringVar(&o.tier, "tool-tier", string(coding.CoreTier), tierHelp)
	f.IntVar(&o.maxRounds, "max-rounds", 200, "maximum tool rounds per prompt")
	f.IntVar(&o.maxTurns, "max-turns", 0, "maximum model calls in the session, including earlier runs (default: no limit)")
	f.DurationVar(&o.timeout, "timeout", 0, "default command timeout, at most 10m (default: depends on the profile)")
	f.DurationVar(&o.deadline, "deadline", 0, "time limit for the whole run (default: no limit)")
	f.Float64Var(
		&o.budget,
		"budget",
		0,
		"spending limit in US dollars for the session, including subagents and earlier runs (default: no limit)",
	)
	f.StringVar(&o.system, "system", "", "read the system prompt from `FILE` instead of using the built-in one")
	f.StringVar(&o.appendSystem, "append-system", "", "append `TEXT` to the system prompt")
	f.StringArrayVarP(&o.files, "file", "f", nil, "attach the text or image in `FILE` to the prompt; can be repeated")
	f.StringSliceVar(&o.allow, "tool-allow", nil, "offer only these tools (default: all tools of the profile)")
	f.StringSliceVar(&o.deny, "tool-deny", nil, "do not offer these tools")
}

// resultFlags define what the run leaves and prints.
func (o *run) resultFlags(f *pflag.FlagSet) {
	o.level.flags(f)
	f.StringVar(&o.output, "output", "text", "output format: text, json (the result) or stream-json (every event, then the result)")
	f.StringVar(&o.schema, "json-schema", "", "require a result that matches the JSON Schema in `FILE`, and print only that as JSON")
	f.BoolVar(&o.inTree, "worktree", false, "work in a new git worktree of the last commit, and leave the changes as a branch")
	o.attempts.flags(f)
}

// permissionFlags define what the agent may do, and who is asked.
func (o *run) permissionFlags(f *pflag.FlagSet) {
	f.StringVar(&o.mode, "mode", string(policy.ModeDefault), modeHelp)
	f.StringVar(&o.rules, "rules", "", rulesHelp+", in addition to the configuration")
	f.BoolVar(&o.yes, "yes", false, "approve everything that needs approval; deny rules, protected paths and the sandbox still apply")
	f.BoolVar(
		&o.deferCalls,
		"defer-approvals",
		false,
		"end the run when calls need approval, with exit code 4; answer them with \"reins approve\" and continue with --resume",
	)
	f.BoolVar(
		&o.waitForCalls,
		"wait-for-approvals",
		false,
		"without a terminal, wait until \"reins approve\" or \"reins attach\" answers, instead of refusing the call",
	)
	f.BoolVar(&o.trust, "trust", false, "trust the project for this run, regardless of \"reins trust\"")
}

// sessionFlags define which session the run continues, and how long it stays.
func (o *run) sessionFlags(f *pflag.FlagSet) {
	f.StringVar(&o.resume, "resume", "", "continue the session `ID`, which can be a unique prefix or \"latest\"")
	f.BoolVar(&o.continueLast, "continue", false, "continue the last session of this directory, or else of the nearest parent directory")
	f.StringVar(&o.fork, "fork", "", "continue a copy of the session `ID[@SEQ]`, up to record SEQ if given")
	f.StringVar(&o.id, "session-id", "", "use `ID` for the new session (default: a random ID)")
	f.BoolVar(&o.noSave, "no-save", false, "do not save the session; it cannot be resumed or undone")
	f.BoolVar(&o.skipDamaged, "skip-damaged", false, "skip unreadable records when resuming or forking a session")
	f.Float64Var(&o.compactAt, "compact-at", compactAt, "compact the conversation at this share of the context window, 0 to disable")
	f.BoolVar(
		&o.pastStep,
		"past-price-step",
		false,
		"let the conversation grow past the length above which tokens cost more, instead of compacting it before",
	)
	f.BoolVar(&o.stay, "keep-running", false, "keep running after the prompt is done, for jobs that the agent schedules, until interrupted")
	f.StringVar(
		&o.listen,
		"listen",
		"",
		"accept signed webhooks at `ADDR`, such as 127.0.0.1:8080, as messages to the agent; implies --keep-running",
	)
	f.StringVar(
		&o.secretEnv, "webhook-secret-env", "REINS_WEBHOOK_SECRET",
		"environment variable `VAR` with the webhook secret for --listen",
	)
}

// complete defines how shells complete the flags.
func (o *run) complete(h Host, cmd *cobra.Command) {
	completeFlag(cmd, "resume", completeSessions(h, anyNumber))
	completeFlag(cmd, "fork", completeSessions(h, anyNumber))
	completeWords(cmd, "profile", "openai", "anthropic", "gemini", "generic")
	completeWords(cmd, "toolset", string(coding.Standard), string(coding.Native))
	completeWords(cmd, "tool-tier", string(coding.LeanTier), string(coding.CoreTier), string(coding.AdvancedTier), string(coding.AllTiers))
	completeWords(cmd, "thinking", "summarized", "omitted", "updates")
	completeWords(cmd, "output", "text", "json", "stream-json")
	completeWords(cmd, "mode", modeNames()...)
	completeModels(h, cmd, &o.connection, "fallback")
	completeModels(h, cmd, &connection{}, "judge")
	completeEfforts(h, cmd, &o.connection)
}

// check rejects invalid flag values.
func (o run) check() error {
	problems := []error{o.wrong, o.checkSaved(), o.checkApprovals(), checkProfile(o.profile)}
	_, toolset := coding.ParseToolset(o.toolset)
	_, tier := coding.ParseTier(o.tier)
	for _, err := range []error{toolset, tier} {
		if err != nil {
			problems = append(problems, usageError{err})
		}
	}
	for _, n := range []struct {
		flag string
		bad  bool
	}{
		{"max-rounds", o.maxRounds < 0}, {"max-turns", o.maxTurns < 0}, {"timeout", o.timeout < 0},
		{"deadline", o.deadline < 0}, {"budget", o.budget < 0},
	} {
		if n.bad {
			problems = append(problems, usagef("--%s must not be negative", n.flag))
		}
	}
	if math.IsNaN(o.budget) {
		problems = append(problems, usagef("--budget must be a number"))
	}
	if !(o.compactAt >= 0 && o.compactAt <= 1) {
		problems = append(problems, usagef("--compact-at must be between 0 and 1, such as 0.8"))
	}
	return errors.Join(problems...)
}

// checkApprovals rejects flags about approvals that contradict others.
func (o run) checkApprovals() error {
	switch {
	case o.deferCalls && o.waitForCalls:
		return usagef("--defer-approvals and --wait-for-approvals cannot be combined")
	case o.noSave && o.deferCalls:
		return usagef("--no-save cannot be combined with --defer-approvals: the session could not be continued")
	case o.noSave && o.waitForCalls:
		return usagef("--no-save cannot be combined with --wait-for-approvals: other processes cannot reach the session")
	}
	return nil
}

// higherTier reports whether the tier has the tools for teams.
func (o run) higherTier() bool {
	return o.tier == string(coding.AdvancedTier) || o.tier == string(coding.AllTiers)
}
