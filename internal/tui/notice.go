package tui

import (
	"strings"
	"time"

	"github.com/reins-agent/reins/internal/tui/panel"
	"github.com/reins-agent/reins/internal/tui/text"
	"github.com/reins-agent/reins/session"
)

// notice is a short remark above the draft. It goes away when the user types, or after a while.
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

// few is how many result lines fit above the draft. A longer result opens a view.
const few = 6

// show shows a command's result.
func (a *app) show(line string, r session.Result) {
	switch {
	case r.Text == "" && len(r.Tables) == 0 && r.Diff == "":
	case len(r.Tables) == 0 && r.Diff == "" && strings.Count(r.Text, "\n") < few:
		a.say(r.Text)
	default:
		a.push(panel.NewResult(line, r, a.panelOptions()))
	}
}
