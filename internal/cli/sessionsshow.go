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

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/view"
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
  reins sessions show K3ZQ --json | jq -r 'select(.kind == "WARNING") | .data'`,
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
	sessions, err := openSessions(h)
	if err != nil {
		return err
	}
	m, err := sessions.Find(ctx, name)
	if err != nil {
		return explain(err)
	}
	out := bufio.NewWriter(h.Stdout)
	v, err := o.format(h, m, out)
	if err != nil {
		return err
	}
	damaged := false
	for r, err := range sessions.Store.Load(ctx, m.ID, 0) {
		var corrupt *event.CorruptError
		switch {
		case errors.As(err, &corrupt):
			damaged = true
			err = v.damage(err)
		case err == nil:
			err = v.show(r)
		}
		if err != nil {
			return errors.Join(err, v.end(), out.Flush())
		}
	}
	return cmp.Or(errors.Join(v.end(), out.Flush()), failIf(damaged))
}

func (o sessionsShow) format(h Host, m event.Meta, out *bufio.Writer) (recordView, error) {
	switch {
	case o.asJSON:
		return recordLines{h, out}, nil
	case o.events:
		return &eventList{out: out, clock: isTerminal(h.Stdout), width: screenWidth(h.Stdout)}, nil
	}
	return newTranscript(out, itemText{h.colours(h.Stdout), screenWidth(h.Stdout)}), describeSession(h, out, m)
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
	return v.line(
		fmt.Sprintf(
			"%5d  %s  %-18s  %s%s",
			r.Seq,
			r.Time.Local().Format(layout),
			show.OneLine(string(r.Kind())),
			agent,
			show.Event(r.Data),
		),
	)
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

// transcript prints a conversation for people to read, when all records are known.
type transcript struct {
	itemText
	out     io.Writer
	state   view.State
	damages map[int][]string // by the number of items before them
	err     error
}

func newTranscript(out io.Writer, f itemText) *transcript {
	return &transcript{itemText: f, out: out, damages: make(map[int][]string)}
}

func (v *transcript) show(r event.Record) error {
	v.state.Apply(r)
	return nil
}

func (v *transcript) damage(err error) error {
	n := v.state.Len()
	v.damages[n] = append(v.damages[n], oneLine(err))
	return nil
}

func (v *transcript) end() error {
	n := v.state.Len()
	for i := range n + 1 {
		for _, text := range v.damages[i] {
			v.printf("%s\n", v.paint(show.Red, "✗ "+text))
		}
		if i < n && !v.onlyUndoes(i) {
			v.item(v.state.Item(i))
		}
	}
	if n := v.state.Open(); n > 0 {
		v.note("", "the session ends during "+show.Plural(n, "tool call"))
	}
	return v.err
}

// onlyUndoes reports whether an item says that the session was resumed, and nothing but an undo or redo follows.
func (v *transcript) onlyUndoes(i int) bool {
	return i+1 < v.state.Len() && v.state.Item(i).Notice == event.KindSessionResume && v.state.Item(i+1).Notice == event.KindRewind
}

// item prints an item. Of subagents only what they do is shown.
func (v *transcript) item(i view.Item) {
	a, _ := v.state.Agent(i.Agent)
	prefix := agentPrefix(a)
	switch {
	case i.Kind == view.KindTool:
		v.tool(prefix, *i.Tool)
	case i.Kind == view.KindNotice:
		v.note(prefix, notice(i))
	case i.Agent != "":
	case i.Kind == view.KindInput:
		v.said(show.Cyan, speaker(i), i)
	case i.Partial:
		v.said(show.Green, "agent, interrupted", i)
	case i.Kind == view.KindText, i.Said:
		v.said(show.Green, "agent", i)
	}
}

func (v *transcript) said(colour, who string, i view.Item) {
	head := fmt.Sprintf("%s @%d", who, i.Seq)
	if i.Undone != 0 {
		head += " (undone)"
	}
	text := strings.TrimRight(show.Visible(i.Text), "\n")
	if v.colour && i.Kind != view.KindInput {
		text = new(show.Markdown).Text(text)
	}
	v.printf("\n%s\n%s\n", v.paint(colour, head), text)
}

func (v *transcript) note(prefix, text string) {
	v.printf("%s%s\n", prefix, v.paint(show.Grey, "· "+text))
}

// tool prints a tool call on one line, followed by its diff or its output: all that is known of a failure, the end of
// a command's, and the start of others.
func (v *transcript) tool(prefix string, t view.Tool) {
	const indent = "    "
	v.printf("%s%s\n", prefix, v.toolLine(t))
	for _, text := range toolNotices(t) {
		v.note(prefix, text)
	}
	switch {
	case t.Message != nil:
	case t.Diff != "":
		const maxLines = 30
		v.printf("%s", show.Diff(t.Diff, indent, maxLines, v.colour))
	case t.State == view.ToolFailed, t.State == view.ToolInterrupted:
		v.printf("%s", v.output(indent, t.Output, 20, 60))
	case t.Command:
		v.printf("%s", v.output(indent, t.Output, 4, 20))
	case t.State == view.ToolDone:
		v.printf("%s", v.output(indent, t.Output, 4, 0))
	}
}

func (v *transcript) printf(format string, args ...any) {
	if v.err == nil {
		_, v.err = fmt.Fprintf(v.out, format, args...)
	}
}
