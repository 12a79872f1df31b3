package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/agent/step"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/hook"
	"github.com/reins-agent/reins/internal/show"
)

type hooksTest struct{ tool, input, prompt string }

func newHooksTest(h Host) *cobra.Command {
	var o hooksTest
	cmd := &cobra.Command{
		Use:   "test [flags] EVENT",
		Short: "Run the hooks of an event with a sample input",
		Long: `Run the active hooks of an event with a sample input, and print the answer of
each hook and what would happen. The exit code is 1 if a hook would block or
stop something, 4 if a call would need approval, and 0 otherwise.`,
		Example: `  reins hooks test PreToolUse --tool Bash --input '{"command":"rm -rf /"}'
  reins hooks test UserPromptSubmit --prompt "Deploy to production"`,
		Args:      wantArgs(1, 1, "one EVENT"),
		ValidArgs: eventNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), h, hook.Event(args[0]))
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.tool, "tool", "", "`NAME` of the tool, for events about tool calls")
	f.StringVar(&o.input, "input", "{}", "arguments of the tool as `JSON`")
	f.StringVar(&o.prompt, "prompt", "test", "prompt for UserPromptSubmit")
	return cmd
}

// eventNames lists the events that sessions fire.
func eventNames() (names []string) {
	for _, e := range hook.Events() {
		names = append(names, string(e))
	}
	return names
}

func (o hooksTest) run(ctx context.Context, h Host, e hook.Event) error {
	in, err := o.sample(e)
	if err != nil {
		return err
	}
	p, err := h.load(".")
	if err != nil {
		return err
	}
	set, err := p.Hooks()
	if err != nil {
		return err
	}
	box, err := p.Sandbox()
	if err != nil {
		return err
	}
	place, err := p.Env(box)
	if err != nil {
		return err
	}
	defer place.Close()
	if set == nil {
		set, _ = hook.New()
	}
	set = set.Translating(coding.HookCalls(place.Info().Paths()))
	in.Dir = place.Info().Dir
	r := set.Run(ctx, place, in)
	t := &show.Table{Columns: []show.Column{{Title: "HOOK", Colour: show.Cyan}, {Title: "OUTCOME"}, {Title: "TIME"}, {Title: "ANSWER"}}}
	for _, d := range step.Ran(in, r) {
		t.Add(d.Name, string(d.Outcome), show.Duration(d.Duration), show.OneLine(hookAnswer(d)))
	}
	if len(r.Runs) == 0 {
		notef(h, "no active hook matches; see \"reins hooks list\"")
		return nil
	}
	if err := printTable(h, t); err != nil {
		return err
	}
	return conclude(h, e, r.Output)
}

// sample returns the input that the flags describe.
func (o hooksTest) sample(e hook.Event) (hook.Input, error) {
	in := sampleInput(e, o.prompt)
	switch ofTool := in.Call != ""; {
	case !slices.Contains(hook.Events(), e):
		return in, usagef("unknown event %q%s", e, useInstead(string(e), eventNames()))
	case ofTool && o.tool == "":
		return in, usagef("%s needs --tool, such as --tool Bash", e)
	case !ofTool && o.tool != "":
		return in, usagef("%s is not about a tool call: omit --tool", e)
	case !ofTool:
		return in, nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(o.input), &object); err != nil {
		return in, usagef("--input must be a JSON object: %w", err)
	}
	in.Tool, in.ToolInput = o.tool, json.RawMessage(o.input)
	return in, nil
}

// sampleInput returns the input of an event.
func sampleInput(e hook.Event, prompt string) hook.Input {
	in := hook.Input{Event: e, Session: "test", Mode: "default"}
	switch e {
	case hook.UserPromptSubmit:
		in.Prompt = prompt
	case hook.SessionStart:
		in.Source = "startup"
	case hook.SessionEnd:
		in.Reason = "other"
	case hook.PreCompact, hook.PostCompact:
		in.Trigger = "auto"
	case hook.Notification:
		in.Kind, in.Message = "permission_prompt", "test"
	case hook.PreToolUse, hook.PermissionRequest, hook.PermissionDenied:
		in.Call = "test"
	case hook.PostToolUse:
		in.Call, in.Response = "test", map[string]any{"success": true, "output": "", "stdout": ""}
	case hook.PostToolUseFailure:
		in.Call, in.Error = "test", "test"
	case hook.StopFailure:
		in.Error = "test"
	case hook.CwdChanged:
		in.OldDir, in.NewDir = "/old", "/new"
	case hook.TaskCreated, hook.TaskCompleted:
		in.Task, in.Subject = "task-1", "test"
	case hook.TeammateIdle:
		in.Teammate, in.Team = "test", "test"
	case hook.WorktreeCreate, hook.WorktreeRemove:
		in.WorktreeName, in.Worktree = "test", "/worktree"
	case hook.Stop, hook.SubagentStop:
		in.StopActive, in.Answer = new(bool), "Done."
	}
	if e == hook.SubagentStart || e == hook.SubagentStop {
		in.Agent, in.AgentType = "1", "Explore"
	}
	return in
}

// hookAnswer returns everything that a hook said.
func hookAnswer(d event.Hook) string {
	var parts []string
	for _, p := range []struct{ what, text string }{
		{"", d.Reason},
		{"input: ", string(d.Input)},
		{"for the user: ", strings.TrimPrefix(d.Title+": "+d.Message, ": ")},
		{"for the model: ", d.Context},
	} {
		if p.text != "" {
			parts = append(parts, p.what+p.text)
		}
	}
	return strings.Join(parts, "; ")
}

// conclude prints what would happen.
func conclude(h Host, e hook.Event, out hook.Output) error {
	text, err := "nothing changes", error(nil)
	switch denied := out.Decision == hook.Deny; {
	case out.Stop:
		text, err = "the work would stop: "+out.StopReason, failIf(true)
	case denied && (e == hook.Stop || e == hook.SubagentStop):
		text, err = "the agent would continue: "+out.Reason, failIf(true)
	case denied && e == hook.UserPromptSubmit:
		text, err = "the prompt would be refused: "+out.Reason, failIf(true)
	case denied && (e == hook.TaskCreated || e == hook.TaskCompleted):
		text, err = "the change of the task would be refused: "+out.Reason, failIf(true)
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
