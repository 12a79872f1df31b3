package step_test

import (
	"context"
	"errors"
	"time"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/agent/step"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/hook"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/tool"
)

// driver is a driver that keeps only records, as written, and rebuilds the state from them before every step.
type driver struct {
	config agent.Config
	log    [][]byte
}

func (d *driver) append(data event.Data) {
	at := time.Unix(int64(len(d.log)), 0).UTC()
	b, err := event.AppendRecord(nil, event.Record{Seq: event.Seq(len(d.log) + 1), Time: at, Session: d.config.ID, Data: data})
	if err != nil {
		panic(err)
	}
	d.log = append(d.log, b)
}

func (d *driver) state() *step.State { return d.tree().Agent("") }

func (d *driver) tree() *step.Tree {
	t := step.NewTree()
	for _, b := range d.log {
		r, err := event.DecodeRecord(b)
		if err != nil {
			panic(err)
		}
		t.Apply(r)
	}
	return t
}

// submit accepts input, if there is any, and works until the state returns Stop.
func (d *driver) submit(ctx context.Context, input func(*step.State) event.Data) {
	for data, ok := d.state().Settle(); ok; data, ok = d.state().Settle() {
		d.append(data)
	}
	if data := input(d.state()); data != nil {
		d.append(data)
	}
	for {
		if s := d.state(); ctx.Err() != nil && !s.Halting() {
			d.append(event.Interrupted{Reason: "interrupted"})
		}
		switch a := d.state().Next().(type) {
		case step.Append:
			d.append(a.Data)
		case step.CallModel:
			d.call(ctx, a)
		case step.RunTools:
			d.run(ctx, a.Calls[0])
		case step.RunHooks:
			d.fire(ctx, hook.Input{Event: hook.Stop, StopActive: &a.Active, Answer: a.Answer})
		case step.Await:
			d.append(a.End)
			return
		case step.Stop:
			return
		}
	}
}

// fire runs an event's hooks.
func (d *driver) fire(ctx context.Context, in hook.Input) hook.Output {
	r := d.config.Hooks.Run(ctx, d.config.Env, in)
	for _, data := range step.Ran(in, r) {
		d.append(data)
	}
	return r.Output
}

func (d *driver) call(ctx context.Context, a step.CallModel) {
	set, call := d.state().Effective(), d.state().Called()+1
	r := &llm.Request{
		Provider: set.Provider, Model: set.Model, Effort: set.Effort, ThinkingBudget: set.ThinkingBudget, Messages: a.Messages,
		Tools: d.config.Tools.Definitions(), ToolChoice: a.Choice, Output: a.Output, MaxTokens: d.config.MaxOutput, CacheKey: d.config.ID,
	}
	d.append(event.ModelCallStart{Call: call, Provider: r.Provider, Model: r.Model, Effort: r.Effort, Choice: a.Choice, Object: a.Output != nil, Purpose: a.Purpose})
	end := event.ModelCallEnd{Call: call, Model: r.Model, Cost: new(float64)}
	resp, err := llm.Collect(d.config.Client.Stream(ctx, r))
	switch {
	case err != nil:
		var e *llm.Error
		end.Error = &event.Error{Class: string(llm.KindOf(err)), Message: err.Error()}
		if errors.As(err, &e) {
			end.Error.Retryable, end.Error.Item, end.Error.Window = e.Retryable(), e.Item, e.Window
		}
	case a.Purpose == event.PurposeSummary:
		end.Usage, end.Finish, end.Summary = resp.Usage, resp.Finish.Reason, step.SummaryOf(resp)
	default:
		end.Usage, end.Finish = resp.Usage, resp.Finish.Reason
		d.append(event.TextEnd{Call: call, ID: resp.ID, Message: d.state().Distinct(step.Whole(resp))})
	}
	d.append(end)
}

func (d *driver) run(ctx context.Context, c step.Call) {
	if q := question(c.ToolCall); q != "" {
		d.append(event.ToolCallStart{ID: c.ID, Name: c.Name, Question: q})
		return
	}
	d.append(event.ToolCallStart{ID: c.ID, Name: c.Name})
	p := &tool.Pipeline{Registry: d.config.Tools, Policy: d.config.Policy, Mode: d.tree().Mode(), Middleware: d.config.Middleware, Limits: d.config.ToolLimits, Approve: d.config.Approve, Hooks: []tool.Hook{toolHook{d}}}
	out := p.Run(ctx, tool.Call{ID: c.ID, Name: c.Name, Args: d.config.Tools.Arguments(c.ToolCall), Env: d.config.Env, Vision: d.config.Vision})
	spec, _ := d.config.Tools.Spec(c.Name)
	d.append(event.ToolCallEnd{
		ID: c.ID, Name: c.Name, Output: out.Result.Output, Model: out.Model, Images: out.Result.Images, Error: out.Result.Error,
		Artifacts: out.Result.Artifacts, Accesses: out.Accesses, Decision: out.Decision, Plan: spec.Plan, Mode: d.tree().Switched(spec, out.Result.Error),
	})
}

// toolHook runs PostToolUse hooks.
type toolHook struct{ *driver }

func (toolHook) BeforeTool(context.Context, tool.Call) (tool.HookResult, error) {
	return tool.HookResult{}, nil
}

func (h toolHook) AfterTool(ctx context.Context, c tool.Call, res *tool.Result) error {
	if res.Error == nil {
		h.fire(ctx, hook.Input{Event: hook.PostToolUse, Tool: c.Name, Call: c.ID})
	}
	return nil
}
