package cli

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/agent"
)

// run is the flags of the command.
type run struct {
	connection
	effort       string
	dir          string
	profile      string
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
}

func newRun(h Host) *cobra.Command {
	var o run
	cmd := &cobra.Command{
		Use:   "run [flags] [PROMPT|-]",
		Short: "Give a coding task to an agent and see it through",
		Long: `Give a coding task to an agent, which reads, edits and runs code in the working directory
until it is done. What it says goes to standard output, what it does to standard error.

Reading inside the working directory is allowed. Everything else is asked about on the
terminal, or refused if there is none; --yes allows it all.`,
		Example: `  reins run "Find out why TestParse fails and fix it"
  reins run --yes --output stream-json "Update the dependencies" > events.jsonl
  git diff | reins run - --append-system "Review this diff. Change nothing."`,
		RunE: func(cmd *cobra.Command, args []string) error {
			v, err := newView(h, o.output)
			if err != nil {
				return err
			}
			r := newRunner(h, v, o)
			return r.run(cmd.Context(), args)
		},
	}
	o.connection.flags(cmd)
	o.flags(cmd)
	return cmd
}

func (o *run) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.effort, "effort", "", "how hard the model thinks: low, medium, high, or what else it takes")
	f.StringVar(&o.dir, "cwd", "", "the directory to work in (default: this one)")
	f.StringVar(&o.profile, "profile", "", "tools and instructions of openai, anthropic, gemini or generic (default: the model's own)")
	f.IntVar(&o.maxRounds, "max-rounds", 0, "the most rounds of tools (default 200)")
	f.IntVar(&o.maxTurns, "max-turns", 0, "the most calls of the model (default: no limit)")
	f.DurationVar(&o.timeout, "timeout", 0, "how long a command may run that asks for no time of its own")
	f.DurationVar(&o.deadline, "deadline", 0, "how long the whole run may take")
	f.Float64Var(&o.budget, "budget", 0, "the most money to spend, in US dollars, subagents included")
	f.StringVar(&o.system, "system", "", "a file with the system prompt, instead of the built-in one")
	f.StringVar(&o.appendSystem, "append-system", "", "instructions that are added to the system prompt")
	f.StringSliceVar(&o.allow, "tool-allow", nil, "the tools that may be used (default: all of the profile)")
	f.StringSliceVar(&o.deny, "tool-deny", nil, "tools that may not be used")
	f.StringVar(&o.output, "output", "text", "text, json (the result) or stream-json (every event, then the result)")
	f.BoolVar(&o.yes, "yes", false, "allow everything without asking")
}

// check refuses values that make no sense.
func (o run) check() error {
	var problems []error
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
	return errors.Join(problems...)
}

func (o run) limits() agent.Limits {
	return agent.Limits{ToolRounds: o.maxRounds, Turns: o.maxTurns, TreeCost: o.budget}
}
