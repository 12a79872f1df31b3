package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
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
		Short:             "Show the conversation of a session",
		ValidArgsFunction: completeSessions(h, 1),
		Long: `Show the details of a session and its conversation with tool calls. @N is a
record number, for use in "reins sessions fork ID@N".`,
		Example: `  reins sessions show K3ZQ
  reins sessions show K3ZQ --events
  reins sessions show K3ZQ --json | jq -r 'select(.kind == "TOOL_CALL_START") | .data.name'`,
		Args: wantArgs(1, 1, "one ID"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), h, args[0]) },
	}
	cmd.Flags().BoolVar(&o.events, "events", false, "list every record instead of the conversation")
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "print every record as JSON, one per line")
	return cmd
}

// recordView shows the records of a session.
type recordView interface {
	show(r event.Record) error
	damage(err error) error // shows an unreadable record
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
	return cmp.Or(errors.Join(v.end(), out.Flush()), failIf(damaged))
}

func (o sessionsShow) view(h Host, m event.Meta, out *bufio.Writer) (recordView, error) {
	switch {
	case o.asJSON:
		return recordLines{h, out}, nil
	case o.events:
		return &eventList{out: out, clock: isTerminal(h.Stdout), width: screenWidth(h.Stdout)}, nil
	}
	return &transcript{out: out, colour: h.colours(h.Stdout), calls: make(show.Calls)}, describeSession(h, out, m)
}

// describeSession prints the details of a session.
func describeSession(h Host, out io.Writer, m event.Meta) error {
	parent := m.Parent
	if parent != "" {
		parent = fmt.Sprintf("%s@%d", show.OneLine(m.Parent), m.ForkedAt)
	}
	branch := ""
	if m.Branch != "" {
		branch = " (branch " + show.OneLine(m.Branch) + ")"
	}
	times := fmt.Sprintf("%s, last used %s", fullTime(h, m.Created), fullTime(h, m.Updated))
	used := fmt.Sprintf("%s, %s, %s tokens in, %s out, %s", show.Plural(int(m.Last), "record"), show.Plural(m.Turns, "turn"),
		show.Tokens(m.Usage.Input), show.Tokens(m.Usage.Output), show.Price(m.Cost))
	for _, line := range []struct{ name, value string }{
		{"session", m.ID}, {"title", show.OneLine(m.Title)}, {"summary", show.OneLine(m.Summary)}, {"tags", tagText(m)},
		{"directory", show.OneLine(shortDir(h, m.Dir)) + branch}, {"model", show.OneLine(m.Provider + " " + m.Model)},
		{"forked from", parent}, {"created", times}, {"usage", used},
	} {
		if line.value == "" {
			continue
		}
		name := paint(h.colours(h.Stdout), show.Grey, fmt.Sprintf("%-12s", line.name))
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
	notef(v.host, "%v", err)
	return nil
}

func (recordLines) end() error { return nil }

// eventList prints one line per record.
type eventList struct {
	out   io.Writer
	clock bool // print only the time of day
	width int  // of the terminal; 0 means no limit
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

// transcript prints a conversation for people to read.
type transcript struct {
	out    io.Writer
	colour bool
	calls  show.Calls
	model  show.Speaker // of the main agent
	drops  bool         // it was shown that the server left out thinking
	err    error
}

func (v *transcript) show(r event.Record) error {
	indent := agentIndent(r.Agent)
	v.calls.Note(r)
	if r.Agent == "" {
		v.model.Note(r.Data)
	}
	switch d := r.Data.(type) {
	case event.UserInput:
		if r.Agent == "" {
			v.said(show.Cyan, "user", r.Seq, show.MessageText(d.Message))
		}
	case event.TextEnd:
		if text := v.model.Words(d.Message); r.Agent == "" && text != "" {
			v.said(show.Green, "agent", r.Seq, text)
		}
	case event.SteeringInjected:
		if r.Agent == "" && d.Source == event.SourceHost {
			v.said(show.Cyan, "user, while the agent worked", r.Seq, show.MessageText(d.Message))
			break
		}
		v.note(indent, show.Notice(d))
	case event.ToolCallEnd:
		title, took := v.calls.End(r.Agent, d)
		v.tool(indent, title, took, d)
	case event.ModelCallEnd:
		if d.Error != nil {
			v.note(indent, "model call failed: "+show.Summary(d.Error.Message))
		}
		if text := show.Dropped(d); text != "" && !v.drops {
			v.drops = true
			v.note(indent, text)
		}
		v.note(indent, show.Refusal(d))
	case event.ProcessingEnd:
		if d.Outcome != agent.StatusDone && d.Outcome != agent.StatusAwaitingInput {
			v.note(indent, "ended: "+show.OneLine(string(d.Outcome)))
		}
	default:
		v.note(indent, show.Notice(d))
	}
	return v.err
}

func (v *transcript) damage(err error) error {
	v.printf("%s\n", v.paint(show.Red, "✗ "+oneLine(err)))
	return v.err
}

func (v *transcript) end() error {
	if n := len(v.calls); n > 0 {
		v.note("", "the session ends during "+show.Plural(n, "tool call"))
	}
	return v.err
}

func (v *transcript) said(colour, who string, seq event.Seq, text string) {
	v.printf("\n%s\n%s\n", v.paint(colour, fmt.Sprintf("%s @%d", who, seq)), strings.TrimRight(show.Visible(text), "\n"))
}

func (v *transcript) note(indent, text string) {
	if text != "" {
		v.printf("%s%s\n", indent, v.paint(show.Grey, "· "+text))
	}
}

// tool prints a tool call on one line, followed by its diff or the start of its result. The output of a command that
// failed is shown too.
func (v *transcript) tool(indent, title string, took time.Duration, d event.ToolCallEnd) {
	sign, colour, note := "✓", show.Green, ""
	if d.Error != nil {
		sign, colour, note = "✗", show.Red, " "+show.Summary(d.Error.Message)
	}
	v.printf("%s%s %s %s%s\n", indent, v.paint(colour, sign), title, v.paint(show.Grey, show.Duration(took)), note)
	if diff, ok := d.Fields[coding.DiffField].(string); ok {
		const maxLines = 30
		v.printf("%s", show.Diff(diff, indent+"    ", maxLines, v.colour))
		return
	}
	if d.Error == nil || len(d.Artifacts.CommandsRun) > 0 {
		v.result(indent+"    ", d.Model)
	}
}

// result prints the start of a result.
func (v *transcript) result(indent, text string) {
	const maxLines, maxWidth = 4, 160
	lines := strings.Split(strings.TrimSpace(show.Visible(text)), "\n")
	for i, line := range lines {
		if i == maxLines {
			v.printf("%s%s\n", indent, v.paint(show.Grey, "… "+show.Plural(len(lines)-maxLines, "more line")))
			return
		}
		if line != "" {
			v.printf("%s%s\n", indent, v.paint(show.Grey, show.Cut(line, maxWidth, false)))
		}
	}
}

func (v *transcript) paint(colour, text string) string { return paint(v.colour, colour, text) }

func (v *transcript) printf(format string, args ...any) {
	if v.err == nil {
		_, v.err = fmt.Fprintf(v.out, format, args...)
	}
}
