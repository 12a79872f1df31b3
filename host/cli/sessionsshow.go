package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/host/show"
)

type sessionsShow struct {
	events bool
	asJSON bool
}

func newSessionsShow(h Host) *cobra.Command {
	var o sessionsShow
	cmd := &cobra.Command{
		Use:               "show ID",
		Short:             "Show a session: what is known of it, and the conversation",
		ValidArgsFunction: completeSessions(h, 1),
		Long: `Show what is known of a session, and then the conversation with its tool calls. A number
behind @ is that of the record, for "reins sessions fork ID@SEQ".`,
		Example: `  reins sessions show K3ZQ
  reins sessions show K3ZQ --events
  reins sessions show K3ZQ --json | jq -r 'select(.kind == "TOOL_CALL_START") | .data.name'`,
		Args: exactArgs(1, "one ID"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), h, args[0]) },
	}
	cmd.Flags().BoolVar(&o.events, "events", false, "list every record with its number instead of the conversation")
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "print every record as JSON, one per line")
	return cmd
}

// recordView shows the records of a session.
type recordView interface {
	show(r event.Record) error
	// damage shows that something could not be read.
	damage(err error) error
	end() error
}

func (o sessionsShow) run(ctx context.Context, h Host, name string) error {
	store, err := openStore(h)
	if err != nil {
		return err
	}
	m, err := findSession(ctx, store, name)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(h.Stdout)
	v, err := o.view(h, m, out)
	if err != nil {
		return err
	}
	damaged := false
	for r, err := range store.Load(ctx, m.ID, 0) {
		var corrupt *event.CorruptError
		switch {
		case errors.As(err, &corrupt):
			damaged = true
			err = v.damage(err)
		case err == nil:
			err = v.show(r)
		}
		if err != nil {
			return errors.Join(err, out.Flush())
		}
	}
	if err := errors.Join(v.end(), out.Flush()); err != nil {
		return err
	}
	if damaged {
		return quietError{exitFailed}
	}
	return nil
}

func (o sessionsShow) view(h Host, m event.Meta, out *bufio.Writer) (recordView, error) {
	colour := h.colours(h.Stdout)
	switch {
	case o.asJSON:
		return recordLines{h, out}, nil
	case o.events:
		return &eventList{out: out, clock: isTerminal(h.Stdout), width: screenWidth(h.Stdout)}, nil
	}
	return &transcript{out: out, colour: colour, calls: make(show.Calls)}, describeSession(h, out, m)
}

// describeSession prints what is known of a session.
func describeSession(h Host, out io.Writer, m event.Meta) error {
	parent := m.Parent
	if parent != "" {
		parent = fmt.Sprintf("%s@%d", show.OneLine(m.Parent), m.ForkedAt)
	}
	branch := ""
	if m.Branch != "" {
		branch = " (branch " + show.OneLine(m.Branch) + ")"
	}
	times := fmt.Sprintf("%s, last used %s", date(h, m.Created), date(h, m.Updated))
	used := fmt.Sprintf("%s, %s, %s tokens in, %s out, %s", show.Plural(int(m.Last), "record"), show.Plural(m.Turns, "turn"),
		show.Tokens(m.Usage.Input), show.Tokens(m.Usage.Output), show.Price(m.Cost))
	for _, line := range []struct{ name, value string }{
		{"session", m.ID}, {"title", show.OneLine(m.Title)}, {"summary", show.OneLine(m.Summary)}, {"tags", tagText(m)},
		{"directory", show.OneLine(shortDir(h, m.Dir)) + branch}, {"model", show.OneLine(m.Provider + " " + m.Model)},
		{"forked from", parent}, {"begun", times}, {"used", used},
	} {
		if line.value == "" {
			continue
		}
		name := fmt.Sprintf("%-12s", line.name)
		if h.colours(h.Stdout) {
			name = show.Paint(grey, name)
		}
		if _, err := fmt.Fprintf(out, "%s%s\n", name, line.value); err != nil {
			return err
		}
	}
	return nil
}

// recordLines prints records as JSON.
type recordLines struct {
	host Host
	out  *bufio.Writer
}

func (v recordLines) show(r event.Record) error { return printJSON(v.out, r) }

func (v recordLines) damage(err error) error {
	aside(v.host, "%v", err)
	return nil
}

func (recordLines) end() error { return nil }

// eventList prints one line for each record.
type eventList struct {
	out   io.Writer
	clock bool // times of the day are enough
	width int  // of the terminal; 0 is no bound
}

func (v *eventList) show(r event.Record) error {
	layout := time.RFC3339
	if v.clock {
		layout = time.TimeOnly
	}
	agent := ""
	if r.Agent != "" {
		agent = "[" + show.OneLine(r.Agent) + "] "
	}
	return v.line(fmt.Sprintf("%5d  %s  %-18s  %s%s", r.Seq, r.Time.Local().Format(layout), show.OneLine(string(r.Kind())), agent, show.Event(r.Data)))
}

func (v *eventList) damage(err error) error { return v.line("    ✗  " + oneLine(err)) }

func (*eventList) end() error { return nil }

func (v *eventList) line(text string) error {
	text = strings.TrimRight(text, " ")
	if v.width > 0 {
		text = show.Cut(text, v.width, false)
	}
	_, err := fmt.Fprintln(v.out, text)
	return err
}
