package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/session"
	"github.com/reins-agent/reins/view"
)

// agents returns the commands about what works and what waits.
func agents() []Command {
	return []Command{
		{
			Name:      "agents",
			Arguments: "[steer AGENT TEXT|stop AGENT]",
			Summary:   "List the agents, send a message to one, or stop it",
			Complete:  completeAgents,
			Run:       runAgents,
		},
		{
			Name:    "tasks",
			Aliases: []string{"todos"},
			Summary: "Show the agent's plan and the tasks that the agents share",
			Run:     runTasks,
		},
		jobs(),
		{
			Name:      "queue",
			Arguments: "[now N|edit N TEXT|remove N|clear]",
			Summary:   "List the messages that wait, or change them",
			Complete:  fixed("now", "edit", "remove", "clear"),
			Run:       runQueue,
		},
	}
}

func completeAgents(ctx context.Context, t Target, args []string) ([]string, error) {
	switch len(args) {
	case 0:
		return []string{"steer", "stop"}, nil
	case 1:
		list, err := t.Agents(ctx)
		var names []string
		for _, a := range list {
			if a.Path != "" {
				names = append(names, cmp.Or(a.Name, a.Path))
			}
		}
		return names, err
	}
	return nil, nil
}

func runAgents(ctx context.Context, t Target, args string) (session.Result, error) {
	verb, rest, _ := strings.Cut(args, " ")
	name, text, _ := strings.Cut(strings.TrimSpace(rest), " ")
	text = strings.TrimSpace(text)
	switch {
	case args == "":
		return listAgents(ctx, t)
	case verb == "stop" && name != "" && text == "":
		return session.Result{Text: "Stopped agent " + name + "."}, t.StopAgent(ctx, name)
	case verb == "steer" && text != "":
		return session.Result{Text: "Sent to agent " + name + "."}, t.SteerAgent(ctx, name, session.Input{Text: text, Plain: true})
	}
	return session.Result{}, errors.New("use /agents, /agents steer AGENT TEXT or /agents stop AGENT")
}

func listAgents(ctx context.Context, t Target) (session.Result, error) {
	list, err := t.Agents(ctx)
	table := session.Table{Columns: []string{"AGENT", "STATUS", "TURNS", "TOKENS", "MODEL", "TASK"}}
	for _, a := range list {
		status := cmp.Or(string(a.Status), strings.ToLower(string(a.State)))
		name := cmp.Or(strings.TrimSpace(a.Path+" "+cmp.Or(a.Name, a.Type)), "main")
		tokens := show.Tokens(a.Usage.Input + a.Usage.Output)
		table.Rows = append(table.Rows, []string{name, status, strconv.Itoa(a.Turns), tokens, a.Model, show.Summary(a.Task)})
	}
	return session.Result{Tables: []session.Table{table}}, err
}

func runTasks(ctx context.Context, t Target, _ string) (session.Result, error) {
	s, err := t.Snapshot(ctx)
	if err != nil {
		return session.Result{}, err
	}
	r := session.Result{Tables: tasks(s.Plan(), s.Tasks())}
	if len(r.Tables) == 0 {
		r.Text = "No tasks."
	}
	return r, nil
}

func tasks(plan []view.Step, shared []event.Task) (list []session.Table) {
	steps := session.Table{Title: "Plan", Columns: []string{"STATUS", "STEP"}}
	for _, p := range plan {
		steps.Rows = append(steps.Rows, []string{p.Status, p.Text})
	}
	board := session.Table{Title: "Tasks", Columns: []string{"ID", "STATUS", "OWNER", "TASK"}}
	for _, task := range shared {
		board.Rows = append(board.Rows, []string{task.ID, string(task.Status), task.Owner, task.Subject})
	}
	for _, table := range []session.Table{steps, board} {
		if len(table.Rows) > 0 {
			list = append(list, table)
		}
	}
	return list
}

func runQueue(ctx context.Context, t Target, args string) (session.Result, error) {
	list, err := t.Queue(ctx)
	if err != nil || args == "" {
		return queueTable(list), err
	}
	verb, rest, _ := strings.Cut(args, " ")
	number, text, _ := strings.Cut(strings.TrimSpace(rest), " ")
	if verb == "clear" && rest == "" {
		for _, q := range list {
			err = errors.Join(err, t.Withdraw(ctx, q.Seq))
		}
		return session.Result{Text: "Removed " + show.Plural(len(list), "message") + "."}, err
	}
	if !slices.Contains([]string{"now", "edit", "remove"}, verb) {
		return session.Result{}, fmt.Errorf("/queue does not know %q; use now, edit, remove or clear", verb)
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > len(list) {
		return session.Result{}, fmt.Errorf("no message %q waits; /queue lists them", number)
	}
	q := list[n-1]
	switch verb {
	case "remove":
		err = t.Withdraw(ctx, q.Seq)
	case "now":
		err = t.Requeue(ctx, []session.Edit{{Seq: q.Seq, Now: true}})
	case "edit":
		if text = strings.TrimSpace(text); text == "" {
			return session.Result{}, errors.New("use /queue edit N TEXT")
		}
		err = t.Requeue(ctx, edited(list, n-1, text))
	}
	if err != nil {
		return session.Result{}, err
	}
	list, err = t.Queue(ctx)
	return queueTable(list), err
}

// edited returns the edits that replace the text of a message and keep the order.
func edited(list []view.Queued, n int, text string) (edits []session.Edit) {
	for i, q := range list {
		e := session.Edit{Seq: q.Seq, Now: !q.FollowUp}
		if i == n {
			e.Text = text
		}
		edits = append(edits, e)
	}
	return edits
}

func queueTable(list []view.Queued) session.Result {
	if len(list) == 0 {
		return session.Result{Text: "No messages wait."}
	}
	table := session.Table{Columns: []string{"N", "WHEN", "MESSAGE"}}
	for i, q := range list {
		when := "now"
		if q.FollowUp {
			when = "after the work"
		}
		table.Rows = append(table.Rows, []string{strconv.Itoa(i + 1), when, q.Text})
	}
	return session.Result{Tables: []session.Table{table}}
}
