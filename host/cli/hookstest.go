package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/agent/step"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/hook"
	"github.com/reins-agent/reins/host/show"
)

type hooksTest struct{ tool, input, prompt string }

func newHooksTest(h Host) *cobra.Command {
	var o hooksTest
	cmd := &cobra.Command{
		Use:   "test [flags] EVENT",
		Short: "Run the hooks of an event with a sample input",
		Long: `Run the active hooks of an event with a sample input, and print what each of them
answers and what would happen. The exit code is 0 if the work would go its way, 4 if
a call would need approval, and 1 if a hook would block or stop it.`,
		Example: `  reins hooks test PreToolUse --tool Bash --input '{"command":"rm -rf /"}'
  reins hooks test UserPromptSubmit --prompt "Deploy to production"`,
		Args:      wantArgs(1, 1, "one EVENT"),
		ValidArgs: eventNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), h, hook.Event(args[0]))
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.tool, "tool", "", "the `NAME` of a tool, for events of tool calls")
	f.StringVar(&o.input, "input", "{}", "arguments of the tool as `JSON`")
	f.StringVar(&o.prompt, "prompt", "test", "prompt for UserPromptSubmit")
	return cmd
}

func eventNames() (names []string) {
	for _, e := range hook.Events() {
		names = append(names, string(e))
	}
	return names
}

func (o hooksTest) run(ctx context.Context, h Host, e hook.Event) error {
	calls, err := o.check(e)
	if err != nil {
		return err
	}
	s, err := h.settings(".", h.trusted("."), nil)
	if err != nil {
		return err
	}
	set, err := h.hooks(s, ".", h.trusted("."))
	if err != nil {
		return err
	}
	place, err := local.New(local.Config{})
	if err != nil {
		return err
	}
	defer place.Close()
	if set == nil {
		set, _ = hook.New()
	}
	set = set.Translating(coding.HookCalls(place.Info().Paths()))
	var all hook.Output
	t := &show.Table{Columns: []show.Column{{Title: "HOOK", Colour: show.Cyan}, {Title: "OUTCOME"}, {Title: "TIME"}, {Title: "ANSWER"}}}
	rows := 0
	for i, in := range calls(set, place.Info().Dir) {
		in.Dir = place.Info().Dir
		r := set.Run(ctx, place, in)
		for _, d := range step.Ran(in, r) {
			t.Add(d.Name, string(d.Outcome), show.Duration(d.Duration), show.OneLine(hookAnswer(d)))
			rows++
		}
		if i == 0 || stricterThan(all, r.Output) {
			all = r.Output
		}
	}
	if rows == 0 {
		notef(h, "no active hook matches; see \"reins hooks list\"")
		return nil
	}
	if err := printTable(h, t); err != nil {
		return err
	}
	return o.conclude(h, e, all)
}

// check returns the inputs that the flags ask for.
func (o hooksTest) check(e hook.Event) (func(*hook.Set, string) []hook.Input, error) {
	if !e.Fires() {
		return nil, usagef("unknown event %q%s", e, didYouMean(string(e), eventNames()))
	}
	in := sampleInput(e, o.prompt)
	if !ofTool(e) {
		if o.tool != "" {
			return nil, usagef("%s is not about a tool call: leave out --tool", e)
		}
		return func(*hook.Set, string) []hook.Input { return []hook.Input{in} }, nil
	}
	if o.tool == "" {
		return nil, usagef("%s needs --tool, such as --tool Bash", e)
	}
	args, err := validJSON(o.input)
	if err != nil {
		return nil, err
	}
	return func(set *hook.Set, dir string) (list []hook.Input) {
		for _, c := range set.Calls(dir, o.tool, args) {
			list = append(list, toolInput(in, o.tool, c))
		}
		return list
	}, nil
}

// hookAnswer returns everything that a hook said.
func hookAnswer(d event.Hook) string {
	var parts []string
	for _, p := range []struct{ what, text string }{{"", d.Reason}, {"input: ", string(d.Input)}, {"for the user: ", d.Message}, {"for the model: ", d.Context}} {
		if p.text != "" {
			parts = append(parts, p.what+p.text)
		}
	}
	return strings.Join(parts, "; ")
}

// stricterThan reports whether b is stricter than a.
func stricterThan(a, b hook.Output) bool {
	return b.Stop && !a.Stop || b.Decision == hook.Deny && a.Decision != hook.Deny || b.Decision.Restricts() && !a.Decision.Restricts()
}

// conclude prints what would happen.
func (o hooksTest) conclude(h Host, e hook.Event, out hook.Output) error {
	text, err := "nothing changes", error(nil)
	switch denied := out.Decision == hook.Deny; {
	case out.Stop:
		text, err = "the work would stop: "+out.StopReason, failIf(true)
	case denied && (e == hook.Stop || e == hook.SubagentStop):
		text, err = "the agent would continue: "+out.Reason, failIf(true)
	case denied && e == hook.UserPromptSubmit:
		text, err = "the prompt would be refused: "+out.Reason, failIf(true)
	case denied && e.Blocks():
		text, err = "the call would be refused: "+out.Reason, failIf(true)
	case denied:
		text = "the model would be told: " + out.Reason
	case out.Decision == hook.Ask && e == hook.PreToolUse:
		text, err = "the call would need approval: "+cmp.Or(out.Reason, "no reason given"), quietError{exitNeedsInput}
	case out.Input != nil:
		text = "the call would be judged with this input: " + string(out.Input)
	case out.Context != "":
		text = "the model would be told: " + out.Context
	}
	if _, err := fmt.Fprintln(h.Stdout, show.OneLine(text)); err != nil {
		return err
	}
	return err
}
