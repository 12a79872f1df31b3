package panel

import (
	"context"
	"strings"
	"time"

	"github.com/reins-agent/reins/ask"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/internal/tui/dialog"
	"github.com/reins-agent/reins/internal/tui/edit"
	"github.com/reins-agent/reins/internal/tui/keys"
	"github.com/reins-agent/reins/internal/tui/screen"
	"github.com/reins-agent/reins/internal/tui/text"
	"github.com/reins-agent/reins/view"
)

// base is what all panels share: the frame around them, work in the background, and a question before something is
// removed.
type base struct {
	o     Options
	title string
	ctx   context.Context
	stop  context.CancelFunc

	loading int    // how much runs in the background
	notice  string // at the bottom, until the next key
	failed  bool   // the notice is an error

	confirm *dialog.Dialog
	agreed  func()
}

func newBase(title string, o Options) base {
	if o.Keys == nil {
		o.Keys = keys.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.State == nil {
		empty := &view.State{}
		o.State = func() *view.State { return empty }
	}
	b := base{o: o, title: title}
	b.ctx, b.stop = context.WithCancel(context.Background())
	return b
}

func (b *base) Title() string        { return b.title }
func (b *base) Paste(string) Outcome { return Outcome{} }
func (b *base) Changed([]view.Key)   {}
func (b *base) Close()               { b.stop() }

// dialog returns the options of lists and questions.
func (b *base) dialog() dialog.Options { return dialog.Options{Keys: b.o.Keys, Rule: b.o.Rule} }

// say shows a notice until the next key.
func (b *base) say(s string) { b.notice, b.failed = show.OneLine(s), false }

// fail shows an error until the next key.
func (b *base) fail(err error) { b.notice, b.failed = show.OneLine(err.Error()), true }

// field returns an empty field, without vim mode.
func (b *base) field() *edit.Editor {
	m := *b.o.Keys
	m.Vim = false
	return edit.New(edit.Options{Keys: &m, Rule: b.o.Rule})
}

// load runs a function in the background. On the loop, it shows an error or passes the result to done. A panel that was
// closed meanwhile gets neither.
func load[T any](b *base, f func(ctx context.Context) (T, error), done func(T) Outcome) {
	b.loading++
	ctx := b.ctx
	go func() {
		v, err := f(ctx)
		b.o.Post(func() Outcome {
			if ctx.Err() != nil {
				return Outcome{}
			}
			if b.loading--; err != nil {
				b.fail(err)
				return handled
			}
			return done(v)
		})
	}()
}

// act does something in the background, even if the panel is closed meanwhile.
func (b *base) act(f func(ctx context.Context) error, done func() Outcome) {
	load(b, func(ctx context.Context) (struct{}, error) { return struct{}{}, f(context.WithoutCancel(ctx)) },
		func(struct{}) Outcome { return done() })
}

// ask asks before something is done that cannot be undone. Rows tell what it is about.
func (b *base) ask(title, yes, no string, rows []string, agreed func()) {
	q := ask.Question{
		Who:     "Reins",
		Title:   title,
		Choices: []ask.Choice{{Key: "y", Text: yes, Allow: true}, {Key: "n", Text: no}},
	}
	for _, r := range rows {
		q.Rows = append(q.Rows, ask.Row{Kind: ask.RowText, Text: r})
	}
	b.confirm, b.agreed = dialog.New(q, b.dialog()), agreed
}

// question handles a key while a question is open.
func (b *base) question(k keys.Key) (Outcome, bool) {
	b.notice = ""
	if b.confirm == nil {
		return Outcome{}, false
	}
	out := b.confirm.Handle(k)
	if out.Answer != nil {
		b.confirm = nil
		if out.Answer.Choice == "y" {
			b.agreed()
		}
	}
	return Outcome{Handled: out.Handled}, true
}

// hint is a key to show at the bottom.
type hint struct {
	action keys.Action
	does   string
}

// body is what a panel shows between its title and its hints. Without a cursor, x is negative.
type body func(width, rows int) (lines []text.Line, x, y int)

// frame lays out a panel.
func (b *base) frame(width, height int, status string, hints []hint, content body) screen.Frame {
	width, height = max(width, 1), max(height, 1)
	head := []text.Line{b.head(width, status)}
	var foot []text.Line
	if b.confirm != nil {
		hints = []hint{{keys.QuestionChoose, "answer"}, {keys.QuestionRefuse, "cancel"}}
	}
	if height >= 4 {
		foot = []text.Line{b.foot(width, hints)}
	}
	var asked []text.Line
	x, y, cursor := 0, 0, false
	if b.confirm != nil {
		asked, x, y, cursor = b.confirm.View(width, max(height-len(head)-len(foot)-2, 1))
	}
	rows := max(height-len(head)-len(foot)-len(asked), 0)
	var lines []text.Line
	if rows > 0 {
		cx, cy := -1, 0
		lines, cx, cy = content(width, rows)
		lines = lines[:min(len(lines), rows)]
		if b.confirm == nil && cx >= 0 && cy < rows {
			x, y, cursor = min(cx, width-1), cy+len(head), true
		} else if b.confirm != nil {
			y += len(head) + rows
		}
	}
	for len(lines) < rows {
		lines = append(lines, nil)
	}
	f := screen.Frame{X: x, Y: y, Cursor: cursor}
	for _, part := range [][]text.Line{head, lines, asked, foot} {
		f.Lines = append(f.Lines, part...)
	}
	f.Lines = f.Lines[:min(len(f.Lines), height)]
	for i, l := range f.Lines {
		f.Lines[i] = b.o.Rule.Cut(l, width)
	}
	f.Y = min(f.Y, height-1)
	return f
}

// head returns the first line: the title, and the status at the right.
func (b *base) head(width int, status string) text.Line {
	rule := b.o.Rule
	if b.loading > 0 {
		status = strings.TrimPrefix(status+" · loading…", " · ")
	}
	title := rule.CutText(text.Clean(b.title), width)
	l := text.Line{{Text: title, Style: text.Style{Role: text.Heading, Attr: text.Bold}}}
	room := width - rule.Width(title) - 2
	if status = rule.CutText(text.Clean(status), room); status == "" || room < 4 {
		return l
	}
	return append(l, text.Span{Text: text.Blank(room + 2 - rule.Width(status))}, text.Span{Text: status, Style: text.Style{Role: text.Dim}})
}

// foot returns the last line: the notice, or the keys.
func (b *base) foot(width int, hints []hint) text.Line {
	if b.notice != "" {
		role := text.Success
		if b.failed {
			role = text.Failure
		}
		return text.Line{{Text: b.o.Rule.CutText(text.Clean(b.notice), width), Style: text.Style{Role: role}}}
	}
	var l text.Line
	used := 0
	for _, h := range hints {
		key := b.o.Keys.Key(h.action)
		if key == "" {
			continue
		}
		between := ""
		if used > 0 {
			between = " · "
		}
		w := b.o.Rule.Width(between + key + " " + h.does)
		if used+w > width {
			continue
		}
		used += w
		dim := text.Style{Role: text.Dim}
		l = append(l, text.Span{Text: between, Style: dim}, text.Span{Text: key, Style: text.Style{Role: text.Accent}}, text.Span{Text: " " + h.does, Style: dim})
	}
	return l
}
