package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/host/show"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// asker asks the user on the terminal: for approvals, and the agent's own questions.
type asker struct {
	host Host
	view view

	asking sync.Mutex // held while a question waits for its answer
	keys   keyboard
	all    bool // everything is approved

	mu      sync.Mutex
	refused []string                 // calls refused because nobody could be asked
	arrived map[string]chan struct{} // by call ID; closed when the view has reached its question
}

// newAsker returns an asker for a command that is not a run.
func newAsker(h Host) *asker {
	return &asker{host: h, view: &jsonView{questions: h.Stderr}, keys: keyboard{in: h.Stdin}}
}

// unattended reports whether there is no terminal to ask on.
func (a *asker) unattended() bool { return !isTerminal(a.host.Stdin) || !isTerminal(a.host.Stderr) }

// unanswered lists the calls that were refused because nobody could be asked.
func (a *asker) unanswered() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.refused
}

// arrival returns a channel that is closed when everything before a call's question was shown.
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

// arrive records that the view has reached the question about a call.
func (a *asker) arrive(id string) {
	select {
	case <-a.arrival(id): // a call of another agent had the same ID
	default:
		close(a.arrival(id))
	}
}

// refuse answers for a user who cannot be asked.
func (a *asker) refuse(r tool.Request, why string) tool.Approval {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refused = append(a.refused, r.Spec.Name+": "+r.Decision.Reason)
	return tool.Approval{Message: "it needs approval (" + r.Decision.Reason + "), but " + why}
}

func (a *asker) approve(ctx context.Context, r tool.Request) (tool.Approval, error) {
	if a.unattended() {
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
	c := parseChoice(answer)
	a.all = c.all
	return tool.Approval{Allow: c.allow, Scope: c.scope, Message: c.message}, nil
}

// question describes a call to the user: its diff, its command, or what it accesses.
func (a *asker) question(ctx context.Context, r tool.Request) string {
	var b strings.Builder
	b.WriteString(callHead(r.Agent, r.Spec.Name, r.Call.Args, r.Accesses))
	diff := ""
	switch p, ok, err := r.Preview(ctx); {
	case err != nil:
		fmt.Fprintf(&b, "  this call would fail: %s\n", show.Summary(err.Error()))
	case ok:
		const maxLines = 400
		if diff = coding.PreviewDiff(r.Call.Env, p); diff != "" {
			b.WriteString(show.Diff(diff, "  ", maxLines, a.host.colours(a.host.Stderr)))
			a.view.sawDiff(diff)
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

// callHead returns the first line of a question: the call, and the agent that asks unless it is the
// main one. Commands are shown in full below.
func callHead(agent, name string, args json.RawMessage, accesses []policy.Access) string {
	title := show.Title(name, args)
	for _, a := range accesses {
		if a.Kind == policy.Exec {
			title = show.Summary(name)
		}
	}
	if agent != "" {
		title = "agent " + show.OneLine(agent) + " asks: " + title
	}
	return "\n" + title + "\n"
}

// accessText describes one access in full, because the user decides on it.
func accessText(a policy.Access) string {
	text := show.Visible(a.String())
	if a.Kind == policy.Exec {
		text = "runs: " + show.Visible(a.Target)
	}
	text = fmt.Sprintf("  %s\n", strings.ReplaceAll(text, "\n", "\n    "))
	if a.Dir != "" {
		text += fmt.Sprintf("    in %s\n", show.OneLine(a.Dir))
	}
	return text
}

// answer asks the user a question of the agent.
func (a *asker) answer(ctx context.Context, question string) (string, error) {
	a.asking.Lock()
	defer a.asking.Unlock()
	return a.ask(ctx, "\n"+show.Visible(question)+"\n> ")
}

// ask shows a question and waits for its answer.
func (a *asker) ask(ctx context.Context, question string) (string, error) {
	return a.keys.ask(ctx, func() func(bool) { return a.view.ask(question) })
}

// choices ends every question about a call. parseChoice parses the answer.
const choices = "Allow? [y]es, [s]ession (don't ask again for this), [a]llow everything this run, [n]o, or type instructions: "

// choice is the answer to a question about a call.
type choice struct {
	allow   bool
	scope   tool.Scope
	all     bool   // allow every later call too
	message string // for the model, if the call is refused
}

// parseChoice parses an answer. Text that is not one of the choices refuses the call and goes to the
// model.
func parseChoice(answer string) choice {
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return choice{allow: true}
	case "s", "session":
		return choice{allow: true, scope: tool.ForSession}
	case "a", "all":
		return choice{allow: true, all: true}
	case "", "n", "no":
		return choice{message: "the user said no"}
	}
	return choice{message: "the user said: " + answer}
}
