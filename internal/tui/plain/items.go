package plain

import (
	"fmt"
	"strings"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/internal/tui/render"
	"github.com/reins-agent/reins/internal/tui/text"
	"github.com/reins-agent/reins/session"
	"github.com/reins-agent/reins/view"
)

// Maximum lines shown: an input from elsewhere, a diff, a failed command's output.
const (
	inputLines  = 20
	diffLines   = 100
	outputLines = 20
)

// items prints the items that are finished. While a question is asked, they wait.
func (f *face) items() {
	if f.asking != nil {
		return
	}
	for i := f.from; i < f.state.Len(); i++ {
		item := f.state.Item(i)
		finished := !item.Live() && (item.Tool == nil || item.Tool.State.Over())
		if finished && !f.printed[item.Key] {
			f.item(item)
		}
		switch {
		case !finished:
		case i == f.from:
			f.from++
			delete(f.printed, item.Key)
		default:
			f.printed[item.Key] = true
		}
	}
}

// item prints an item, unless the user has typed it here.
func (f *face) item(i view.Item) {
	if i.Kind == view.KindInput && i.Agent == "" && i.Origin == nil {
		for n, sent := range f.sent {
			if sent == i.Text && !f.o.Echo {
				f.sent = append(f.sent[:n], f.sent[n+1:]...)
				return
			}
		}
	}
	a, _ := f.state.Agent(i.Agent)
	if s := itemText(i, agentName(a)); s != "" {
		f.out.line(s)
	}
}

// agentName returns the prefix for a subagent's lines.
func agentName(a view.Agent) string {
	if a.Path == "" {
		return ""
	}
	return "Agent " + text.Clean(show.Cut(a.Label(), 24, false)) + ": "
}

// itemText returns an item as lines, or "" if it is not shown.
func itemText(i view.Item, agent string) string {
	switch {
	case i.Kind == view.KindInput:
		return agent + speaker(i) + ": " + firstLines(i.Text, inputLines)
	case i.Kind == view.KindTool:
		return agent + toolText(*i.Tool)
	case i.Notice == event.KindProcessingEnd: // reported when the work ends
		return ""
	case i.Kind == view.KindNotice:
		return agent + text.Clean(i.Text)
	case i.Kind == view.KindText || i.Said:
		if strings.TrimSpace(i.Text) == "" {
			return ""
		}
		s := agent + cleaned(i.Text)
		if i.Partial {
			s += " [interrupted]"
		}
		return s
	}
	return ""
}

// cleaned returns untrusted text as lines without control characters.
func cleaned(s string) string {
	var b strings.Builder
	for line := range text.CleanLines(strings.Trim(s, "\n")) {
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// firstLines returns the first n lines, and a note that counts the rest.
func firstLines(s string, n int) string {
	lines := strings.Split(cleaned(s), "\n")
	if len(lines) > n {
		lines = append(lines[:n], fmt.Sprintf("[%s more]", show.Plural(len(lines)-n, "line")))
	}
	return strings.Join(lines, "\n")
}

// speaker says who wrote an input.
func speaker(i view.Item) string {
	if o := i.Origin; o != nil {
		return text.Clean(strings.TrimSpace("From " + string(o.Kind) + " " + o.ID))
	}
	return "You"
}

// toolText returns a tool call that has ended.
func toolText(t view.Tool) string {
	if m := t.Message; m != nil {
		return cleaned(strings.TrimPrefix(m.Title+": "+m.Content, ": "))
	}
	state := map[view.ToolState]string{view.ToolDone: "Done", view.ToolFailed: "Failed", view.ToolRefused: "Refused"}[t.State]
	if state == "" {
		state = "Interrupted"
	}
	s := state + ": " + text.Clean(t.Title)
	if t.Ran > 0 {
		s += " (" + show.Duration(t.Ran) + ")"
	}
	if t.Outcome != "" {
		s += ": " + text.Clean(t.Outcome)
	}
	if t.Hidden != "" {
		s += "\n  The result has hidden characters: " + text.Clean(t.Hidden)
	}
	if t.Mode != "" {
		s += "\n  The permission mode is now " + text.Clean(string(t.Mode)) + "."
	}
	if t.State == view.ToolFailed || t.State == view.ToolInterrupted {
		s += lastLines(t.Output, outputLines)
	}
	if t.Diff != "" {
		added, removed := render.Counts(t.Diff)
		s += fmt.Sprintf(", %d added, %d removed\n", added, removed) + show.Diff(t.Diff, "  ", diffLines, false)
	}
	return strings.TrimRight(s, "\n")
}

// lastLines returns the last lines of output.
func lastLines(o view.Output, n int) string {
	head, tail := o.Lines()
	lines := tail
	if o.Omitted == 0 {
		lines = append(append([]string(nil), head...), tail...)
	}
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	var b strings.Builder
	for _, line := range lines {
		if line = strings.TrimRight(text.Clean(line), " "); line != "" {
			b.WriteString("\n  " + line)
		}
	}
	return b.String()
}

// activityText describes an agent's current work.
func activityText(a view.Activity, now time.Time) string {
	what := map[view.Doing]string{
		view.DoingWork:       "working",
		view.DoingRequest:    "waiting for the model",
		view.DoingRetry:      "waiting to ask the model again",
		view.DoingThink:      "thinking",
		view.DoingAnswer:     "writing the answer",
		view.DoingArguments:  "writing a tool call",
		view.DoingTool:       "running",
		view.DoingApproval:   "waiting for an approval",
		view.DoingCompaction: "summarizing the conversation",
	}[a.Doing]
	if a.Title != "" {
		what += ": " + text.Clean(a.Title)
	}
	if a.Count > 1 {
		what += fmt.Sprintf(" and %d more", a.Count-1)
	}
	return fmt.Sprintf("%s (%s)", what, show.Duration(now.Sub(a.Since)))
}

// stopText says why the work stopped before the task was done, or "".
func stopText(s view.Stop) string {
	switch {
	case s.Error != "":
		return "The work failed: " + text.Clean(s.Error) + "."
	case s.Limit != "":
		return "The work reached a limit: " + text.Clean(string(s.Limit)) + "."
	case s.Outcome == event.StatusInterrupted:
		return "Interrupted."
	}
	if why := show.Stop(s.Outcome); why != "" {
		return text.Clean(why) + "."
	}
	return ""
}

// resultText returns a command's result as text.
func resultText(r session.Result) string {
	var b strings.Builder
	if r.Text != "" {
		b.WriteString(cleaned(r.Text) + "\n")
	}
	for _, t := range r.Tables {
		if t.Title != "" {
			b.WriteString(text.Clean(t.Title) + ":\n")
		}
		b.WriteString(tableText(t))
	}
	if r.Diff != "" {
		b.WriteString(show.Diff(r.Diff, "", -1, false))
	}
	return strings.TrimRight(b.String(), "\n")
}

// tableText returns a table as aligned columns. A table without titles has names and values.
func tableText(t session.Table) string {
	var b strings.Builder
	if strings.Join(t.Columns, "") == "" {
		for _, row := range t.Rows {
			b.WriteString(text.Clean(strings.Join(row, ": ")) + "\n")
		}
		return b.String()
	}
	table := show.Table{}
	for _, c := range t.Columns {
		table.Columns = append(table.Columns, show.Column{Title: c})
	}
	for _, row := range t.Rows {
		table.Add(row...)
	}
	_ = table.Print(&b, 0, false) // a builder never fails
	return b.String()
}
