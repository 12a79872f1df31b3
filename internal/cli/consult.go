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
	// system replaces the system prompt. The model then has no tools. Otherwise it can use the tools that only read.
	system string
}

// flags adds the flags of the connection and those that limit the run.
func (c *consultation[T]) flags(h Host, cmd *cobra.Command) {
	c.run.flags(h, &cobra.Command{}) // sets the defaults
	c.connection.flags(h, cmd)
	cmd.Flags().StringVar(&c.effort, "effort", "", effortHelp)
	cmd.Flags().Float64Var(&c.budget, "budget", 0, "spending limit in US dollars (default: no limit)")
}

// ask returns the model's answer, and how the run went. What the model does is shown on standard error. An error of the run
// was reported already.
func (c consultation[T]) ask(ctx context.Context, h Host) (answer T, res result, err error) {
	form, err := objects.FormOf[T]()
	if err != nil {
		return answer, res, err
	}
	format := form.Output()
	if !isTerminal(h.Stdin) {
		h.Stdin = strings.NewReader("") // it is not a part of the task
	}
	c.reads = true
	if c.system != "" {
		c.allow = []string{}
	}
	text := newObjectView(h)
	text.object = io.Discard
	view := &resultView{textView: text}
	r := newRunner(h, view, c.run)
	r.attached, r.format, r.system = c.parts, &format, c.system
	if err := r.run(ctx, []string{c.task}); err != nil && view.got.Object == nil {
		return answer, view.got, err
	}
	if view.got.Object == nil {
		return answer, view.got, fmt.Errorf("the model gave no result: %s", view.got.Outcome)
	}
	return answer, view.got, json.Unmarshal(view.got.Object, &answer)
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
