package tui

import (
	"strings"
	"time"

	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/internal/tui/keys"
	"github.com/reins-agent/reins/internal/tui/screen"
	"github.com/reins-agent/reins/internal/tui/text"
	"github.com/reins-agent/reins/view"
)

// Placeholder is what an empty draft shows. It never changes.
const Placeholder = "What should Reins do?"

// paint shows the application.
func (a *app) paint() {
	now := time.Now()
	finished := a.finishedLines()
	a.fitRegion()
	var b []byte
	if f := a.frame(now); len(finished) > 0 {
		b = a.screen.Print(finished, f)
	} else {
		b = a.screen.Paint(f)
	}
	if len(b) > 0 {
		_, _ = a.term.Write(b)
	}
	a.dirty, a.painted = false, time.Now()
	a.paints++
	q := &a.questions
	if q.shown && !q.painted && a.panel == nil {
		q.painted = true
		q.guard.Painted(a.painted)
	}
}

// frame lays out the application.
func (a *app) frame(now time.Time) screen.Frame {
	w, h := a.w, a.rows()
	if a.panel != nil {
		f := a.panel.view(a, w, h-1)
		f.Lines = append(fit(f.Lines, h-1), a.statusLine(w))
		return f
	}
	draft := a.draft(w, a.draftRoom(h))
	rest := h - len(draft.lines)
	above := min(3, rest/4) // rows for the conversation
	if h < 16 {
		above = 0
	}
	ask := a.questionLines(w, rest-above)
	rest -= len(ask.lines)
	lines := append(a.conversation(w, rest, now), ask.lines...)
	f := screen.Frame{Lines: append(lines, draft.lines...), X: draft.x, Y: rest + len(ask.lines) + draft.y, Cursor: draft.cursor}
	if ask.cursor {
		f.X, f.Y, f.Cursor = ask.x, rest+ask.y, true
	}
	return f
}

// draftRoom returns the height on which the draft's layout depends.
func (a *app) draftRoom(h int) int {
	if a.o.Inline { // the region is as high as the draft needs
		return max(h, min(workRows, a.h-1))
	}
	return h
}

// area is a screen area, with the caret if it is there.
type area struct {
	lines  []text.Line
	x, y   int
	cursor bool
}

// fit returns a number of lines.
func fit(lines []text.Line, h int) []text.Line {
	for len(lines) < h {
		lines = append(lines, nil)
	}
	return lines[:h]
}

// conversation lays out the conversation, or the greeting in an empty session.
func (a *app) conversation(w, h int, now time.Time) []text.Line {
	switch {
	case h <= 0:
		return nil
	case a.o.Inline:
		return a.liveLines(w, h, now)
	case a.live == nil || a.live.state.Len() == 0:
		return fit(a.welcome(w), h)
	}
	v := a.live.view
	v.Resize(w, h)
	return a.mark(v.Lines(now))
}

// mark marks the selected item while the conversation has the focus.
func (a *app) mark(lines []text.Line) []text.Line {
	if !a.browse.on || a.browse.searching {
		return lines
	}
	selected := a.current()
	for y := range lines {
		if key, ok := a.live.view.At(y); ok && key == selected && a.rule.LineWidth(lines[y]) < a.w {
			l := make(text.Line, 0, len(lines[y])+2)
			gap := text.Blank(max(a.w-1-a.rule.LineWidth(lines[y]), 0))
			lines[y] = append(append(l, lines[y]...), text.Span{Text: gap}, text.Span{Text: "▐", Style: text.Style{Role: text.Accent}})
		}
	}
	return lines
}

// draft lays out everything below the conversation: activity, queue, notices, draft and status line.
func (a *app) draft(w, h int) area {
	field := a.field(w, max(h/3, 1))
	room := h - len(field.lines) - 1 - 3
	var above []text.Line
	add := func(lines []text.Line) {
		n := max(min(len(lines), room), 0)
		above, room = append(above, lines[:n]...), room-n
	}
	add(a.activity(w))
	add(a.queueLines(w, min(h/6, 4)))
	add(a.shellLines(w, min(h/3, 12)))
	add(a.noticeLines(w, min(h/3, few+2)))
	add(a.popupLines(w, min(h/3, 10)))
	if room > 2 && h >= 12 {
		above = append(above, text.Line{{Text: strings.Repeat("─", w), Style: text.Style{Role: text.Border}}})
	}
	out := area{lines: append(above, field.lines...), x: field.x, y: field.y + len(above), cursor: field.cursor}
	out.lines = append(out.lines, a.statusLine(w))
	return out
}

// field lays out the draft itself.
func (a *app) field(w, rows int) area {
	if a.browse.on && a.live != nil {
		l, x := a.browseLine(w)
		return area{lines: []text.Line{l}, x: x, cursor: x >= 0}
	}
	mark := text.Span{Text: "> ", Style: text.Style{Role: text.User, Attr: text.Bold}}
	if query, ok := a.edit.Searching(); ok {
		l := text.Line{{Text: "History: ", Style: text.Style{Role: text.Accent}}, {Text: a.rule.CutText(text.Clean(query), max(w-10, 1))}}
		return area{lines: []text.Line{l}, x: a.rule.LineWidth(l), cursor: true}
	}
	v := a.edit.View(w-2, rows)
	out := area{x: v.X + 2, y: v.Y, cursor: true}
	for i, l := range v.Lines {
		m := mark
		if i > 0 || v.Above > 0 {
			m.Text = "  "
		}
		if i == 0 && v.Above > 0 {
			m.Text = "↑ "
		}
		if i == len(v.Lines)-1 && v.Below > 0 {
			m.Text = "↓ "
		}
		out.lines = append(out.lines, append(text.Line{m}, l...))
	}
	if a.edit.Empty() {
		out.lines = []text.Line{{mark, {Text: a.rule.CutText(a.placeholder(), w-2), Style: text.Style{Role: text.Dim}}}}
	}
	return out
}

func (a *app) placeholder() string {
	if a.working() {
		return Working
	}
	return Placeholder
}

// Working is what an empty draft shows while the agent works. It never changes.
const Working = "Add to the work; tab queues a message for later"

// questionLines lays out the question.
func (a *app) questionLines(w, rows int) area {
	q := &a.questions
	if q.dialog == nil || !q.shown {
		return area{}
	}
	border := a.questionBorder(w)
	room := rows - 1
	var more []text.Line
	if n := len(q.list); n > 1 && q.local == nil {
		room--
		next := q.list[1]
		s := show.Plural(n-1, "more question") + " · " + a.keys.Key(keys.QuestionOther) + ": " + next.Who + ": " + next.Title
		more = []text.Line{{{Text: a.rule.CutText(text.Clean(s), w), Style: text.Style{Role: text.Dim}}}}
	}
	lines, x, y, cursor := q.dialog.View(w, max(room, 1))
	return area{lines: append(append([]text.Line{border}, lines...), more...), x: x, y: y + 1, cursor: cursor}
}

// Ready is shown above a question once it takes keys. Until then they are for the draft. It never changes.
const Ready = "letter or arrow, then enter"

// questionBorder is the line above a question.
func (a *app) questionBorder(w int) text.Line {
	style := text.Style{Role: text.Warning}
	if takes, _ := a.questions.guard.Takes(time.Now()); !takes {
		return text.Line{{Text: strings.Repeat("─", w), Style: style}}
	}
	s := a.rule.CutText("── "+Ready+" ", w)
	return text.Line{{Text: s + strings.Repeat("─", max(w-a.rule.Width(s), 0)), Style: style}}
}

// popupLines lays out the completions.
func (a *app) popupLines(w, rows int) []text.Line {
	p := a.edit.Popup()
	if p == nil || rows < 1 {
		return nil
	}
	var lines []text.Line
	from := max(min(p.Selected-rows/2, len(p.Items)-rows), 0)
	for i := from; i < min(from+rows, len(p.Items)); i++ {
		item := p.Items[i]
		style, dim, mark := text.Style{}, text.Style{Role: text.Dim}, "  "
		if i == p.Selected {
			style, dim, mark = text.Style{Role: text.Selected}, text.Style{Role: text.Selected}, "› "
		}
		label := a.rule.CutText(mark+item.Label, w)
		gap := text.Blank(max(min(34, w/2)-a.rule.Width(label), 2))
		l := text.Line{{Text: label, Style: style}}
		if item.Detail != "" {
			l = append(l, text.Span{Text: gap + item.Detail, Style: dim})
		}
		lines = append(lines, a.rule.Cut(l, w))
	}
	return lines
}

// activity is the line that describes the agent's work.
func (a *app) activity(w int) []text.Line {
	switch {
	case a.opening && len(a.first) > 0:
		return []text.Line{{{Text: "● opening the session", Style: text.Style{Role: text.Dim}}}}
	case a.questions.shown:
		return nil
	case a.live == nil || !a.working():
		return a.waitingHint(w)
	}
	root, _ := a.live.state.Agent("")
	act := root.Activity
	s := "● " + doing(act)
	if d := time.Since(act.Since).Truncate(time.Second); !act.Since.IsZero() && d > 0 {
		s += " " + show.Duration(d)
	}
	hint := " · " + a.keys.Key(keys.Interrupt) + " stops"
	if q := &a.questions; q.waits() && !q.shown {
		hint = " · a question waits until you stop typing"
	}
	return []text.Line{{
		{Text: a.rule.CutText(s, w), Style: text.Style{Role: text.Accent}},
		{Text: a.rule.CutText(hint, max(w-a.rule.Width(s), 0)), Style: text.Style{Role: text.Dim}},
	}}
}

// waitingHint tells that a question waits although nothing works.
func (a *app) waitingHint(w int) []text.Line {
	if q := &a.questions; !q.waits() || q.shown {
		return nil
	}
	return []text.Line{{{Text: a.rule.CutText("● a question waits until you stop typing", w), Style: text.Style{Role: text.Warning}}}}
}

// doing describes an activity.
func doing(act view.Activity) string {
	s := string(act.Doing)
	switch act.Doing {
	case view.DoingTool, view.DoingArguments:
		if act.Title != "" {
			s += " " + text.Clean(act.Title)
		}
		if act.Count > 1 {
			s += " and " + show.Plural(act.Count-1, "other call")
		}
	case view.DoingApproval:
		s = "waiting for your decision"
	case view.DoingQuestion:
		s = "waiting for your answer"
	case view.DoingRetry:
		if act.Retry != nil {
			s = show.Retry(*act.Retry, time.Until(act.Until))
		}
	case view.DoingThink:
		if act.Tokens > 0 {
			s += " " + show.Tokens(act.Tokens) + " tokens"
		}
	}
	return s
}
