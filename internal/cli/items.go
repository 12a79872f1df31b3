package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/tool"
	"github.com/reins-agent/reins/view"
)

// sheetWidth is the width of text that does not go to a terminal.
const sheetWidth = 160

// itemText formats the items of a session for people, the same in a run and in "reins sessions show".
type itemText struct {
	colour bool
	width  int // of the terminal; 0 means no limit
}

func (f itemText) paint(colour, text string) string { return paint(f.colour, colour, text) }

// agentPrefix returns what lines about an agent begin with.
func agentPrefix(a view.Agent) string {
	if a.Path == "" {
		return ""
	}
	return "[" + show.OneLine(show.Cut(a.Label(), 24, false)) + "] "
}

// toolLine formats a tool call on one line: its mark, its title, how long it ran and how it ended.
func (f itemText) toolLine(t view.Tool) string {
	if t.Message != nil {
		return strings.TrimSuffix(f.message("", *t.Message), "\n")
	}
	mark, colour, took := "✓", show.Green, show.Duration(t.Ran)
	switch {
	case t.State == view.ToolDone:
	case t.State.Over():
		mark, colour = "✗", show.Red
	default:
		mark, colour, took = "…", show.Grey, string(t.State)
	}
	line := fmt.Sprintf("%s %s %s", f.paint(colour, mark), t.Title, f.paint(show.Grey, took))
	switch {
	case t.Outcome == "":
	case t.State == view.ToolDone:
		line += " " + f.paint(show.Grey, t.Outcome)
	default:
		line += " " + t.Outcome
	}
	return line
}

// toolNotices formats what the user should know about the result of a call, one line each.
func toolNotices(t view.Tool) (list []string) {
	if t.Hidden != "" {
		list = append(list, "the result has hidden characters: "+t.Hidden)
	}
	if t.Mode != "" {
		list = append(list, "the permission mode is now "+show.OneLine(string(t.Mode)))
	}
	return list
}

// output formats at most so many of the first and of the last lines of an output.
func (f itemText) output(indent string, o view.Output, first, last int) string {
	head, tail := o.Lines()
	omitted := o.Omitted
	if omitted == 0 { // it is whole
		all := slices.Concat(head, tail)
		n := min(len(all), first)
		head, tail = all[:n], all[n:]
	}
	if cut := len(head) - first; cut > 0 {
		head, omitted = head[:first], omitted+cut
	}
	if cut := len(tail) - last; cut > 0 {
		tail, omitted = tail[cut:], omitted+cut
	}
	var b strings.Builder
	line := func(text string) {
		if text = strings.TrimRight(show.Visible(text), " \t\n"); text != "" {
			b.WriteString(indent + f.paint(show.Grey, show.Cut(strings.ReplaceAll(text, "\t", "    "), f.room(indent), false)) + "\n")
		}
	}
	for _, text := range head {
		line(text)
	}
	switch {
	case omitted == 0:
	case last == 0:
		line("… " + show.Plural(omitted, "more line"))
	default:
		line("… " + show.Plural(omitted, "line") + " not shown …")
	}
	for _, text := range tail {
		line(text)
	}
	return b.String()
}

// room returns the width that is left after an indentation.
func (f itemText) room(indent string) int {
	const minimum = 20
	return max(cmp.Or(f.width, sheetWidth)-show.Width(indent), minimum)
}

// speaker returns who said an input.
func speaker(i view.Item) string {
	who := "user"
	if o := i.Origin; o != nil {
		who = show.OneLine(strings.TrimSpace(string(o.Kind) + " " + o.ID))
	}
	if i.Steered {
		who += ", while the agent worked"
	}
	return who
}

// notice formats a notice, which may have been repeated.
func notice(i view.Item) string {
	if i.Count < 2 || i.Notice == event.KindModelRetry {
		return i.Text
	}
	return fmt.Sprintf("%s (%d times)", i.Text, i.Count)
}

// message formats a message of the agent to the user.
func (f itemText) message(prefix string, m tool.Message) string {
	mark, colour := show.MessageMark(m.Level)
	text := m.Content
	if m.Title != "" {
		text = m.Title + ": " + text
	}
	var b strings.Builder
	for i, row := range show.Rows(text, 0) {
		if i > 0 {
			mark = " "
		}
		fmt.Fprintf(&b, "%s%s %s\n", prefix, f.paint(colour, mark), row)
	}
	for _, more := range append([]string{m.Thought}, m.Evidence...) {
		if more != "" {
			fmt.Fprintf(&b, "%s  %s\n", prefix, f.paint(show.Grey, "· "+show.OneLine(more)))
		}
	}
	return b.String()
}
