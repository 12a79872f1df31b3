package tui

import (
	"strings"
	"time"

	"github.com/reins-agent/reins/internal/tui/pager"
	"github.com/reins-agent/reins/internal/tui/text"
	"github.com/reins-agent/reins/session"
)

// notice is a remark of the application above the draft. It goes away when the user types, or after a while.
type notice struct {
	lines []text.Line
	until time.Time // zero: until a key
	keys  int       // typed since then
}

func (n *notice) shown() bool { return len(n.lines) > 0 }

// key notes a key. A remark stays for the first few, so that a key that was typed blindly does not hide it.
func (n *notice) key() {
	if n.keys++; n.keys > 3 && n.until.IsZero() {
		*n = notice{}
	}
}

// say shows a remark.
func (a *app) say(s string) { a.note(s, text.Dim, 0) }

// sayError shows an error, if there is one.
func (a *app) sayError(err error) {
	if err != nil && a.ctx.Err() == nil {
		a.note(err.Error(), text.Failure, 0)
	}
}

// hint shows a remark for a while.
func (a *app) hint(s string, d time.Duration) { a.note(s, text.Dim, d) }

func (a *app) note(s string, role text.Role, d time.Duration) {
	a.notice = notice{}
	if d > 0 {
		a.notice.until = time.Now().Add(d)
	}
	for l := range text.CleanLines(strings.TrimRight(s, "\n")) {
		a.notice.lines = append(a.notice.lines, text.Line{{Text: l, Style: text.Style{Role: role}}})
	}
	a.dirty = true
}

// noticeLines lays out the remark.
func (a *app) noticeLines(width, rows int) []text.Line {
	if !a.notice.until.IsZero() && !time.Now().Before(a.notice.until) {
		a.notice = notice{}
	}
	var lines []text.Line
	for _, l := range a.notice.lines {
		lines = append(lines, a.rule.Wrap(l, width)...)
	}
	return lines[:min(len(lines), rows)]
}

// few is how many lines of a command's result are shown above the draft. More go to the pager.
const few = 6

// show shows the result of a command.
func (a *app) show(line string, r session.Result) {
	var sections []pager.Section
	var short strings.Builder
	if r.Text != "" {
		short.WriteString(r.Text + "\n")
		sections = append(sections, pager.Text(line, r.Text))
	}
	for _, t := range r.Tables {
		s := tableText(t)
		short.WriteString(s)
		sections = append(sections, pager.Text(t.Title, s))
	}
	if r.Diff != "" {
		sections = append(sections, pager.Diff(r.Diff)...)
	}
	switch {
	case len(sections) == 0:
	case r.Diff == "" && strings.Count(short.String(), "\n") <= few:
		a.say(short.String())
	default:
		a.panel = newPagerView(line, pager.New(sections...))
	}
}

// tableText lays out a table as text.
func tableText(t session.Table) string {
	rows := append([][]string{t.Columns}, t.Rows...)
	widths := make([]int, 0, len(t.Columns))
	var rule text.Rule
	for _, r := range rows {
		for i, c := range r {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], rule.Width(text.Clean(c)))
		}
	}
	var b strings.Builder
	if t.Title != "" {
		b.WriteString(t.Title + "\n")
	}
	for _, r := range rows {
		line := ""
		for i, c := range r {
			c = text.Clean(c)
			line += c + text.Blank(max(widths[i]-rule.Width(c), 0)+2)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}
