package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/session"
	"github.com/reins-agent/reins/view"
)

// jobTail is how much of a command's output /jobs shows, in bytes: its end.
const jobTail = 8 << 10

// jobs is the command about background commands.
func jobs() Command {
	return Command{
		Name:      "jobs",
		Aliases:   []string{"ps", "bashes"},
		Arguments: "[ID|stop ID]",
		Summary:   "List the background commands, show the end of one's output, or stop it",
		Complete:  completeJobs,
		Run:       runJobs,
	}
}

func completeJobs(ctx context.Context, t Target, args []string) ([]string, error) {
	if len(args) > 1 || len(args) == 1 && args[0] != "stop" {
		return nil, nil
	}
	s, err := t.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	var words []string
	for _, b := range s.Background() {
		if b.State == view.BackgroundRunning || len(args) == 0 {
			words = append(words, b.ID)
		}
	}
	if len(args) == 0 {
		words = append(words, "stop")
	}
	return words, nil
}

func runJobs(ctx context.Context, t Target, args string) (session.Result, error) {
	s, err := t.Snapshot(ctx)
	if err != nil {
		return session.Result{}, err
	}
	words := strings.Fields(args)
	switch {
	case len(words) == 0:
		return jobTable(s.Background()), nil
	case len(words) == 2 && words[0] == "stop":
		if err := t.StopBackground(ctx, words[1]); err != nil {
			return session.Result{}, err
		}
		return session.Result{Text: "Stopped background command " + words[1] + "."}, nil
	case len(words) == 1 && words[0] != "stop":
		return jobOutput(ctx, t, s.Background(), words[0])
	}
	return session.Result{}, errors.New("use /jobs, /jobs ID or /jobs stop ID")
}

// jobOutput returns the end of a command's output.
func jobOutput(ctx context.Context, t Target, list []view.Background, id string) (session.Result, error) {
	slices.Reverse(list) // in an imported session, an earlier command can have the same ID
	i := slices.IndexFunc(list, func(b view.Background) bool { return b.ID == id })
	if i < 0 {
		return session.Result{}, fmt.Errorf("no background command has the ID %q; /jobs lists them", id)
	}
	b := list[i]
	if b.State == view.BackgroundLost {
		return session.Result{}, fmt.Errorf("the output of command %s is lost, because the process that ran it has ended", id)
	}
	out, err := t.ReadBackground(ctx, id, -jobTail)
	if err != nil {
		return session.Result{}, err
	}
	text := show.OneLine(b.Command) + "\n" + b.Describe()
	if left := out.Size - int64(len(out.Text)); left > 0 {
		text += fmt.Sprintf("\n… %d bytes before …", left)
	}
	return session.Result{Text: text + "\n\n" + strings.TrimRight(out.Text, "\n")}, nil
}

func jobTable(list []view.Background) session.Result {
	if len(list) == 0 {
		return session.Result{Text: "There are no background commands."}
	}
	table := session.Table{Columns: []string{"ID", "STATE", "TIME", "AGENT", "COMMAND"}}
	now := time.Now()
	for _, b := range list {
		took := ""
		if d := b.Took(now); d > 0 {
			took = show.Duration(d)
		}
		table.Rows = append(table.Rows, []string{b.ID, b.Describe(), took, b.Agent, show.Summary(b.Command)})
	}
	return session.Result{Tables: []session.Table{table}}
}
