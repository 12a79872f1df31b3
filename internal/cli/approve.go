package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/config"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// asker asks the user on the terminal, for approvals and on behalf of the agent.
type asker struct {
	host Host
	view face
	dir  string // the directory that the agent works in; "" is the current one

	asking sync.Mutex // held while a question waits for its answer
	keys   keyboard

	mu      sync.Mutex
	refused []string                 // calls refused because nobody could be asked
	missing []string                 // rules that would have allowed them
	agents  map[string]string        // descriptions of the subagents, by path
	arrived map[string]chan struct{} // by call ID; closed when the view has reached its question
}

// newAsker returns an asker for a command that is not a run.
func newAsker(h Host) *asker {
	return &asker{host: h, view: &jsonView{questions: h.Stderr}, keys: keyboard{in: h.Stdin}}
}

// unattended reports whether there is no terminal to ask on.
func (a *asker) unattended() bool { return !isTerminal(a.host.Stdin) || !isTerminal(a.host.Stderr) }

// unanswered lists the calls that were refused because nobody could be asked, and rules that would allow them.
func (a *asker) unanswered() (calls, rules []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.refused, a.missing
}

// note records the descriptions of agents, and which questions the view has reached.
func (a *asker) note(r event.Record) {
	switch d := r.Data.(type) {
	case event.ApprovalRequested:
		a.arrive(d.ID)
	case event.SubagentStart:
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.agents == nil {
			a.agents = make(map[string]string)
		}
		what := show.Summary(d.Task)
		if d.Type != "" {
			what = show.OneLine(d.Type) + ": " + what
		}
		a.agents[d.ID] = what
	}
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

// refuse denies a call that no user can approve. It tells the model what to do instead.
func (a *asker) refuse(ctx context.Context, r tool.Request, why string) tool.Approval {
	with := "another --mode, or --yes"
	rules := narrowest(suggestions(ctx, r))
	if policy.LeavesSandbox(r.Accesses) {
		with = "--writable DIR, or --sandbox off"
	} else if len(rules) > 0 {
		with = "reins policy allow --personal " + quoteRules(rules) + ", " + with
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refused = append(a.refused, r.Spec.Name+": "+r.Decision.Reason)
	for _, rule := range rules {
		if !slices.Contains(a.missing, rule) {
			a.missing = append(a.missing, rule)
		}
	}
	return tool.Approval{Message: fmt.Sprintf("it needs approval (%s), but %s. Do not repeat it: use tools and commands that need no approval, "+
		"or finish without it and tell the user what is missing. The user can permit it with: %s", r.Decision.Reason, why, with)}
}

// approve asks the user about a call.
func (a *asker) approve(ctx context.Context, r tool.Request) (tool.Approval, error) {
	if a.unattended() {
		return a.refuse(ctx, r, "there is no terminal to ask on"), nil
	}
	select {
	case <-a.arrival(r.Call.ID):
	case <-ctx.Done():
		return tool.Approval{}, context.Cause(ctx)
	}
	a.asking.Lock()
	defer a.asking.Unlock()
	answer, err := a.askCall(ctx, a.question(ctx, r))
	if errors.Is(err, errNoAnswer) {
		return a.refuse(ctx, r, err.Error()), nil
	}
	return answer, err
}

// askCall shows a question page by page until the user decides.
func (a *asker) askCall(ctx context.Context, q *callQuestion) (answer tool.Approval, err error) {
	done := a.view.ask(q.page())
	defer func() { done(err == nil) }()
	for {
		line, err := a.keys.ask(ctx, q.prompt(), a.view.prompt)
		if err != nil {
			return tool.Approval{}, err
		}
		c, problem := q.parse(line)
		if problem == "" && len(c.save) > 0 {
			problem = a.save(c.layer, c.save)
		}
		switch {
		case problem != "":
			a.view.prompt("· " + problem + "\n")
		case c.more:
			a.view.prompt(q.page())
		default:
			return c.approval, nil
		}
	}
}

// save adds rules to one of the user's files and returns what went wrong.
func (a *asker) save(layer config.Layer, rules []string) (problem string) {
	file, err := a.host.configFileFor(a.dir, layer)
	for _, rule := range rules {
		if err == nil {
			err = file.Add("permissions.allow", rule)
		}
	}
	if err != nil {
		return "not saved, choose another answer: " + show.OneLine(err.Error())
	}
	return ""
}

// answer asks the user the agent's questions.
func (a *asker) answer(ctx context.Context, questions []event.Question) (answers []agent.Answer, err error) {
	a.asking.Lock()
	defer a.asking.Unlock()
	for _, q := range questions {
		for {
			line, err := a.ask(ctx, questionRows(q)+"> ")
			if err != nil {
				return nil, err
			}
			if given, ok := parseAnswer(q, line); ok {
				answers = append(answers, given)
				break
			}
		}
	}
	return answers, nil
}

// questionRows returns a question of the agent, with its options numbered.
func questionRows(q event.Question) string {
	var b strings.Builder
	b.WriteString("\n")
	if q.Header != "" {
		b.WriteString(show.OneLine(q.Header) + ": ")
	}
	b.WriteString(show.Visible(q.Question) + "\n")
	for i, o := range q.Options {
		fmt.Fprintf(&b, "  %d. %s\n", i+1, strings.TrimSuffix(show.OneLine(o.Label)+": "+show.OneLine(o.Description), ": "))
	}
	switch {
	case q.Multiple && len(q.Options) > 0:
		b.WriteString("Type numbers, such as 1,2, or another answer.\n")
	case len(q.Options) > 0:
		b.WriteString("Type a number, or another answer.\n")
	}
	return b.String()
}

// parseAnswer parses the numbers of options, or free text. It reports false if there is no answer.
func parseAnswer(q event.Question, line string) (agent.Answer, bool) {
	var chosen []string
	for _, word := range strings.FieldsFunc(line, func(r rune) bool { return r == ',' || r == ' ' }) {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 || n > len(q.Options) || len(chosen) > 0 && !q.Multiple {
			return agent.Answer{Text: line}, true
		}
		if label := q.Options[n-1].Label; !slices.Contains(chosen, label) {
			chosen = append(chosen, label)
		}
	}
	return agent.Answer{Chosen: chosen}, len(chosen) > 0
}

// confirm asks whether to do something, such as "remove a file". If the answer is no, it reports that nothing happened.
func confirm(ctx context.Context, h Host, action, declined string) error {
	a := newAsker(h)
	if a.unattended() {
		notef(h, "refusing to %s without confirmation; use --yes", action)
		return quietError{exitNeedsInput}
	}
	answer, err := a.ask(ctx, strings.ToUpper(action[:1])+show.OneLine(action[1:])+"? [y]es, [n]o: ")
	if err != nil && !errors.Is(err, errNoAnswer) {
		return err
	}
	switch strings.ToLower(answer) {
	case "y", "yes":
		return nil
	}
	notef(h, "%s", declined)
	return quietError{exitFailed}
}

// ask shows a question and waits for its answer. The last line of the question is shown once it accepts an answer.
func (a *asker) ask(ctx context.Context, question string) (answer string, err error) {
	i := strings.LastIndexByte(question, '\n') + 1
	done := a.view.ask(question[:i])
	defer func() { done(err == nil) }()
	return a.keys.ask(ctx, question[i:], a.view.prompt)
}
