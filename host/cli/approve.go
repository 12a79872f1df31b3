package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/host/show"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// asker asks the user on the terminal: whether a call may run, and what the agent wants to know.
type asker struct {
	host Host
	view view

	asking sync.Mutex // held while a question waits for its answer
	keys   keyboard
	all    bool // everything is approved

	mu      sync.Mutex
	refused []string                 // what there was nobody to ask about
	arrived map[string]chan struct{} // closed when the view has got to a call's question
}

// nobody reports whether there is nobody to ask.
func (a *asker) nobody() bool { return !isTerminal(a.host.Stdin) || !isTerminal(a.host.Stderr) }

// unanswered lists what was refused because there was nobody to ask.
func (a *asker) unanswered() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.refused
}

// arrival is closed when everything that happened before a call's question was shown.
func (a *asker) arrival(id string) chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.arrived == nil {
		a.arrived = make(map[string]chan struct{})
	}
	if a.arrived[id] == nil {
		a.arrived[id] = make(chan struct{})
	}
	return a.arrived[id]
}

// arrive says that the view has got to the question about a call.
func (a *asker) arrive(id string) {
	select {
	case <-a.arrival(id): // a call of another agent had the same id
	default:
		close(a.arrival(id))
	}
}

// refuse is the answer where there is nobody to give one.
func (a *asker) refuse(r tool.Request, why string) tool.Approval {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refused = append(a.refused, r.Spec.Name+": "+r.Decision.Reason)
	return tool.Approval{Message: "it needs an approval (" + r.Decision.Reason + "), and " + why}
}

func (a *asker) approve(ctx context.Context, r tool.Request) (tool.Approval, error) {
	if a.nobody() {
		return a.refuse(r, "there is no terminal to ask on (--yes allows everything)"), nil
	}
	select {
	case <-a.arrival(r.Call.ID):
	case <-ctx.Done():
		return tool.Approval{}, context.Cause(ctx)
	}
	a.asking.Lock()
	defer a.asking.Unlock()
	if a.all {
		return tool.Approval{Allow: true}, nil
	}
	answer, err := a.ask(ctx, a.question(ctx, r))
	switch {
	case errors.Is(err, errNoAnswer):
		return a.refuse(r, err.Error()), nil
	case err != nil:
		return tool.Approval{}, err
	}
	c := readChoice(answer)
	a.all = c.all
	return tool.Approval{Allow: c.allow, Scope: c.scope, Message: c.message}, nil
}

// question shows what a call will do: the diff of its changes, the command, or what it touches.
func (a *asker) question(ctx context.Context, r tool.Request) string {
	var b strings.Builder
	colour := a.host.colours(a.host.Stderr)
	b.WriteString(callHead(r.Agent, r.Spec.Name, r.Call.Args, r.Accesses))
	diff := ""
	switch p, ok, err := r.Preview(ctx); {
	case err != nil:
		fmt.Fprintf(&b, "  this call would fail: %s\n", show.Summary(err.Error()))
	case ok:
		const most = 400
		if diff = coding.PreviewDiff(r.Call.Env, p); diff != "" {
			b.WriteString(showDiff(diff, "  ", most, colour))
			a.view.saw(diff)
		}
	}
	for _, access := range r.Accesses {
		if diff != "" && access.Kind != policy.Delete {
			continue
		}
		b.WriteString(accessText(access))
	}
	if len(r.Accesses) == 0 {
		fmt.Fprintf(&b, "  %s\n", show.Visible(string(r.Call.Args)))
	}
	b.WriteString(choices)
	return b.String()
}

// answer asks the user what the agent wants to know.
func (a *asker) answer(ctx context.Context, question string) (string, error) {
	a.asking.Lock()
	defer a.asking.Unlock()
	return a.ask(ctx, "\n"+show.Visible(question)+"\n> ")
}

// ask shows a question and waits for its answer.
func (a *asker) ask(ctx context.Context, question string) (string, error) {
	if a.keys.in == nil {
		a.keys.in = a.host.Stdin
	}
	return a.keys.ask(ctx, func() func(bool) { return a.view.ask(question) })
}
