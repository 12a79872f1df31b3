package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/llm"
	objects "github.com/reins-agent/reins/llm/object"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/policy/rules"
)

// consultation is a run that another command starts to get a T from a model.
type consultation[T any] struct {
	run
	task  string
	parts []llm.Part // what the task is about
	// system replaces the system prompt. The model then has no tools and answers at once. Otherwise it can use the tools that
	// only read, and is asked for the answer when its work is done.
	system string
}

// flags adds the flags of the connection and those that limit the run.
func (c *consultation[T]) flags(h Host, cmd *cobra.Command) {
	c.run.flags(h, &cobra.Command{}) // sets the defaults
	c.connection.flags(h, cmd)
	cmd.Flags().StringVar(&c.effort, "effort", "", effortHelp)
	completeEfforts(h, cmd, &c.connection)
	c.level.flags(cmd.Flags())
	cmd.Flags().Float64Var(&c.budget, "budget", 0, "spending limit in US dollars (default: no limit)")
}

// ask returns the model's answer, and how the run went. What the model does is shown on standard error. An error of the run
// was reported already.
func (c consultation[T]) ask(ctx context.Context, h Host) (answer T, res result, err error) {
	form, err := objects.FormOf[T]()
	if err != nil {
		return answer, res, err
	}
	if c.system != "" || !isTerminal(h.Stdin) {
		h.Stdin = strings.NewReader("") // it is not a part of the task
	}
	if err := c.level.check(); err != nil {
		return answer, res, err
	}
	c.reads = true
	if c.system != "" {
		return c.askAtOnce(ctx, h, form)
	}
	format := form.Output()
	res, err = c.carryOut(ctx, h, c.task, &format)
	switch {
	case len(res.Object) > 0:
		err = json.Unmarshal(res.Object, &answer)
	case err == nil:
		err = fmt.Errorf("the model gave no result: %s", res.Outcome)
	}
	return answer, res, err
}

// askAtOnce gets the answer in one model call, or in a second one if the first answer is not valid.
func (c consultation[T]) askAtOnce(ctx context.Context, h Host, form *objects.Form) (answer T, res result, err error) {
	c.allow = []string{}
	task := c.task + "\n\n" + form.Ask()
	for range 2 {
		if res, err = c.carryOut(ctx, h, task, nil); err != nil {
			return answer, res, err
		}
		err = form.Decode(form.Extract(llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text{Text: res.Text}}}), &answer)
		if err == nil {
			return answer, res, nil
		}
	}
	return answer, res, fmt.Errorf("the model's answer cannot be used: %w", err)
}

// carryOut runs a task and returns the result.
func (c consultation[T]) carryOut(ctx context.Context, h Host, task string, format *llm.OutputFormat) (result, error) {
	text := newObjectView(h)
	text.object, text.muted, text.level = io.Discard, format == nil, c.level
	view := &resultView{textView: text}
	r := newRunner(h, view, c.run)
	r.attached, r.format, r.system = c.parts, format, c.system
	err := r.run(ctx, []string{task})
	return view.got, err
}

// resultView is a textView that also keeps the result.
type resultView struct {
	*textView
	got result
}

func (v *resultView) finish(r result) error {
	v.got = r
	return v.textView.finish(r)
}

// reading denies what changes something. Otherwise the rules decide.
type reading struct{ rules rules.Policy }

// PolicyRules implements rules.Ruled.
func (p reading) PolicyRules() rules.Policy { return p.rules }

// DeniesRead implements policy.Hiding.
func (p reading) DeniesRead(w policy.Workspace) func(path string) bool { return p.rules.DeniesRead(w) }

// Decide implements policy.Policy.
func (p reading) Decide(ctx context.Context, q policy.Query) policy.Decision {
	d := p.rules.Decide(ctx, q)
	if d.Verdict != policy.Deny {
		if only := rules.ReadOnly().Decide(ctx, q); only.Verdict == policy.Deny {
			return only
		}
	}
	return d
}
