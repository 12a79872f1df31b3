package cli

import (
	"errors"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
)

// run is the flags of the command.
type run struct {
	connection
	effort       string
	dir          string
	profile      string
	toolset      string
	maxRounds    int
	maxTurns     int
	timeout      time.Duration
	deadline     time.Duration
	budget       float64
	system       string
	appendSystem string
	allow, deny  []string
	output       string
	yes          bool

	resume, fork string
	continueLast bool
	id           string
	wrong        error // in the flags themselves, such as one that names a session with no name
	noSave       bool
	skipDamaged  bool
	fallback     []string
	compactAt    float64
	noModel      bool // compact without a summary
}

func newRun(h Host) *cobra.Command {
	var o run
	cmd := &cobra.Command{
		Use:   "run [flags] [PROMPT] [-]",
		Short: "Give a coding task to an agent and see it through",
		Long: `Give a coding task to an agent, which reads, edits and runs code in the working directory
until it is done. What it says goes to standard output, what it does to standard error.

Reading inside the working directory is allowed. Everything else is asked about on the
terminal, or refused if there is none; --yes allows it all.

The session is saved as it goes, and so are the files before they are changed: --resume and
--continue continue where it ended, however it ended, and "reins undo" takes the last prompt back.

What is piped in joins the prompt, after it. Without a prompt it is the prompt. "-" waits for
standard input however long it takes; otherwise one that stays silent is left out after 5 seconds.
Lines that are typed on the terminal while the agent works are sent to it as further instructions.`,
		Example: `  reins run "Find out why TestParse fails and fix it"
  reins run --yes --output stream-json "Update the dependencies" > events.jsonl
  git diff | reins run "Review this diff. Change nothing."
  reins run --continue "Now update the changelog"
  reins run --resume 4TKZ                       # continue interrupted work
  reins run --fork 4TKZ@57 "Try it another way"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			v, err := newView(h, o.output)
			if err != nil {
				return err
			}
			o.wrong = emptyFlag(cmd, "session-id", "resume", "fork")
			if cmd.Flags().Changed("budget") && o.budget == 0 {
				o.wrong = usagef("--budget 0 allows no model call at all: give an amount in US dollars, such as 0.50, or leave --budget out for no limit")
			}
			r := newRunner(h, v, o)
			return r.run(cmd.Context(), args)
		},
	}
	o.connection.flags(cmd)
	o.flags(h, cmd)
	return cmd
}

func (o *run) flags(h Host, cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.effort, "effort", "", "reasoning effort: low, medium, high, or another level that the model takes")
	f.StringVar(&o.dir, "cwd", "", "working directory (default: the current one)")
	f.StringVar(&o.profile, "profile", "", "tools and instructions of openai, anthropic, gemini or generic (default: the model's own)")
	f.StringVar(&o.toolset, "toolset", string(coding.Standard), "standard, or native for the tools of the vendor's own agent")
	f.IntVar(&o.maxRounds, "max-rounds", 0, "maximum tool rounds per prompt (default 200)")
	f.IntVar(&o.maxTurns, "max-turns", 0, "maximum model calls in the session, earlier runs included (default: no limit)")
	f.DurationVar(&o.timeout, "timeout", 0, "default timeout of a command (default: the profile's, 10s or 2m); the model can ask for up to 10m")
	f.DurationVar(&o.deadline, "deadline", 0, "timeout of the whole run")
	f.Float64Var(&o.budget, "budget", 0, "spending limit for the session in US dollars, subagents and earlier runs included")
	f.StringVar(&o.system, "system", "", "a file with the system prompt, instead of the built-in one")
	f.StringVar(&o.appendSystem, "append-system", "", "instructions to add to the system prompt")
	f.StringSliceVar(&o.allow, "tool-allow", nil, "tools that may be used (default: all of the profile)")
	f.StringSliceVar(&o.deny, "tool-deny", nil, "tools that may not be used")
	f.StringVar(&o.output, "output", "text", "text, json (the result) or stream-json (every event, then the result)")
	f.BoolVar(&o.yes, "yes", false, "allow everything without asking")
	f.StringVar(&o.resume, "resume", "", "continue the session with this `ID`, or the beginning of one; \"latest\" is the last of all")
	f.BoolVar(&o.continueLast, "continue", false, "continue the last session of this directory, or of the nearest one above it")
	f.StringVar(&o.fork, "fork", "", "continue a copy of the session `ID[@SEQ]`, up to a record if one is given")
	f.StringVar(&o.id, "session-id", "", "the id of the new session (default: a random one)")
	f.BoolVar(&o.noSave, "no-save", false, "do not save the session; it cannot be resumed or undone")
	f.BoolVar(&o.skipDamaged, "skip-damaged", false, "resume a session without the records that cannot be read")
	f.Float64Var(&o.compactAt, "compact-at", compactAt, "the share of the context window at which the conversation is compacted; 0 is never")
	f.StringSliceVar(&o.fallback, "fallback", nil, "models to continue with, in this order, if the model cannot be reached")
	completeSessionFlag(h, cmd, "resume", "fork")
	completeWords(cmd, "profile", "openai", "anthropic", "gemini", "generic")
	completeWords(cmd, "toolset", string(coding.Standard), string(coding.Native))
	completeWords(cmd, "output", "text", "json", "stream-json")
	completeModels(cmd, &o.connection, "fallback")
}

// check refuses values that make no sense.
func (o run) check() error {
	problems := []error{o.wrong, o.checkSaved()}
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
		problems = append(problems, usagef("--budget is not a number"))
	}
	if !(o.compactAt >= 0 && o.compactAt <= 1) {
		problems = append(problems, usagef("--compact-at is a share of the context window: give a number from 0 to 1, such as 0.8"))
	}
	return errors.Join(problems...)
}

func (o run) limits() agent.Limits {
	return agent.Limits{ToolRounds: o.maxRounds, Turns: o.maxTurns, TreeCost: o.budget}
}
