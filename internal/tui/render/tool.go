package render

import (
	"strconv"
	"strings"
	"time"

	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/internal/tui/text"
	"github.com/reins-agent/reins/view"
)

// Output rows in a folded tool call.
const (
	runningRows = 5
	doneRows    = 3
	failedRows  = 10
)

var indent = prefix{text.Line{{Text: "  "}}, text.Line{{Text: "  "}}}

// tool adds a tool call's blocks.
func (b *Body) tool(t view.Tool, o Layout) {
	b.add(titleOf(t, o.Now))
	if t.Error != "" && o.Expanded {
		b.rest = append(b.rest, plainParts(indent, t.Error, role(text.Failure), false)...)
	} else if t.Outcome != "" && !t.Command {
		b.add(&plain{prefix: indent, text: t.Outcome, style: role(outcomeRole(t.State))})
	}
	if t.Hidden != "" {
		b.add(&plain{prefix: indent, text: "the result has invisible characters: " + t.Hidden, style: role(text.Warning)})
	}
	for _, s := range t.Plan {
		b.add(step(s))
	}
	if t.Diff != "" {
		b.rest = append(b.rest, diffBlocks(indent, t.Diff, o)...)
	} else if len(t.Plan) == 0 {
		b.output(t, o)
	}
	if m := t.Message; m != nil {
		b.message(m.Level, m.Title, m.Content, m.Evidence)
	}
	for _, q := range t.Asks {
		b.add(&plain{prefix: indent, text: q.Question, style: text.Style{Role: text.Accent, Attr: text.Bold}})
		for _, opt := range q.Options {
			p := prefix{text.Line{{Text: "  • ", Style: role(text.Accent)}}, text.Line{{Text: "    "}}}
			b.add(&plain{prefix: p, text: strings.TrimSuffix(opt.Label+": "+opt.Description, ": ")})
		}
	}
}

func outcomeRole(s view.ToolState) text.Role {
	switch s {
	case view.ToolFailed:
		return text.Failure
	case view.ToolRefused, view.ToolInterrupted:
		return text.Warning
	}
	return text.Dim
}

// mark returns a state's mark, and words if the mark does not explain the state.
func mark(s view.ToolState) (mark string, r text.Role, words string) {
	switch s {
	case view.ToolDone:
		return "✓", text.Success, ""
	case view.ToolFailed:
		return "✗", text.Failure, ""
	case view.ToolRefused:
		return "⊘", text.Warning, "refused"
	case view.ToolInterrupted:
		return "⊘", text.Warning, "interrupted"
	case view.ToolRunning:
		return "●", text.Accent, ""
	case view.ToolWaiting:
		return "?", text.Warning, "waits for approval"
	case view.ToolAsking:
		return "?", text.Warning, "asks"
	case view.ToolWriting:
		return "○", text.Dim, "is being written"
	}
	return "○", text.Dim, "queued"
}

// titleOf returns a tool call's first lines: mark, title, state, duration.
func titleOf(t view.Tool, now time.Time) Part {
	m, r, words := mark(t.State)
	details := []string{}
	if words != "" {
		details = append(details, words)
	}
	if t.State == view.ToolWriting && t.Bytes > 0 {
		details = append(details, show.Plural(int(t.Bytes), "byte"))
	}
	if d := Took(t, now); d != "" {
		details = append(details, d)
	}
	if t.Diff != "" {
		added, removed := Counts(t.Diff)
		details = append(details, "+"+strconv.Itoa(added)+" −"+strconv.Itoa(removed))
	}
	if n := t.Output.Omitted + count(t.Output.Head) + count(t.Output.Tail); n > 0 && t.State.Over() && t.Diff == "" {
		details = append(details, show.Plural(n, "line"))
	}
	return &title{
		prefix: prefix{text.Line{{Text: m + " ", Style: role(r)}}, text.Line{{Text: "  "}}},
		title:  t.Title,
		detail: strings.Join(details, " · "),
	}
}

// Took returns how long a call ran, for its title.
func Took(t view.Tool, now time.Time) string {
	switch d := t.Took(now); {
	case t.State.Over() && d >= time.Millisecond:
		return show.Duration(d)
	case t.State == view.ToolRunning && d >= time.Second:
		return d.Truncate(time.Second).String()
	}
	return ""
}

func count(s string) int {
	if s == "" {
		return 0
	}
	return strings.Count(s, "\n") + 1
}

// title is a tool call's title.
type title struct {
	prefix
	title, detail string
}

func (t *title) Rows(o Layout) int { return rows(len(t.title)+len(t.detail), 1, t.width(o)) }

func (t *title) Lines(o Layout) []text.Line {
	l := one(text.Clean(t.title), text.Style{Attr: text.Bold})
	if t.detail != "" {
		l = append(l, text.Span{Text: "  " + text.Clean(t.detail), Style: role(text.Dim)})
	}
	return t.put(o, o.Rule.Wrap(l, t.width(o)))
}

// output adds a call's output: the last lines if the call is folded, or everything that the view has.
func (b *Body) output(t view.Tool, o Layout) {
	head, tail := text.Unstyled(t.Output.Head), text.Unstyled(t.Output.Tail)
	omitted := t.Output.Omitted
	if !o.Expanded {
		limit := 0
		switch {
		case !t.State.Over():
			limit = runningRows
		case t.State == view.ToolFailed:
			limit = failedRows
		case t.Command:
			limit = doneRows
		}
		all := tail
		omitted += count(head)
		if limit == 0 || all == "" {
			return
		}
		lines := strings.Split(all, "\n")
		if n := len(lines) - limit; n > 0 {
			omitted += n
			lines = lines[n:]
		}
		head, tail = "", strings.Join(lines, "\n")
	}
	if head != "" {
		b.rest = append(b.rest, plainParts(indent, head, role(text.Dim), true)...)
	}
	if omitted > 0 {
		b.add(fixed{one("  … "+show.Plural(omitted, "more line"), role(text.Dim))})
	}
	if tail != "" {
		b.rest = append(b.rest, plainParts(indent, tail, role(text.Dim), true)...)
	}
}

// message adds a message for the user.
func (b *Body) message(level, heading, content string, evidence []string) {
	m, _ := show.MessageMark(level)
	r := text.Accent
	switch level {
	case "success":
		r = text.Success
	case "warning":
		r = text.Warning
	case "error":
		r = text.Failure
	case "progress":
		r = text.Dim
	}
	p := prefix{text.Line{{Text: "  " + m + " ", Style: role(r)}}, text.Line{{Text: "    "}}}
	if heading != "" {
		b.add(&plain{prefix: p, text: heading, style: text.Style{Role: r, Attr: text.Bold}})
		p.first = p.rest
	}
	for _, block := range Parse(content) {
		b.rest = append(b.rest, Block{Part: &inset{p, block.Part}})
		p.first = p.rest
	}
	for _, e := range evidence {
		b.add(&plain{prefix: p, text: e, style: role(text.Dim)})
	}
}

// inset is a part with a prefix.
type inset struct {
	prefix
	part Part
}

func (p *inset) Rows(o Layout) int {
	o.Width = p.width(o)
	return p.part.Rows(o)
}

func (p *inset) Lines(o Layout) []text.Line {
	inner := o
	inner.Width = p.width(o)
	return p.put(o, p.part.Lines(inner))
}

// step lays out a plan step.
func step(s view.Step) Part {
	box, style := "☐ ", text.Style{}
	switch s.Status {
	case "completed", "done":
		box, style = "☑ ", role(text.Dim)
	case "in_progress", "active":
		box, style = "▸ ", text.Style{Role: text.Accent, Attr: text.Bold}
	}
	p := prefix{text.Line{{Text: "  " + box, Style: style}}, text.Line{{Text: "    "}}}
	return &plain{prefix: p, text: oneLine(s.Text), style: style}
}
