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

	confirm  *dialog.Dialog
	answered func(choice string)
	writing  *writing
}

// writing is a text that the user writes below a panel.
type writing struct {
	title string
	field *edit.Editor
	send  func(s string)
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

func (b *base) Title() string      { return b.title }
func (b *base) Running() bool      { return false }
func (b *base) Changed([]view.Key) {}
func (b *base) Close()             { b.stop() }

// Paste inserts into the text that the user writes.
func (b *base) Paste(s string) Outcome {
	switch {
	case b.confirm != nil:
		return Outcome{Handled: b.confirm.Paste(s).Typed == ""}
	case b.writing != nil:
		b.writing.field.Paste(s)
	default:
		return Outcome{}
	}
	return handled
}

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

// ask asks before something is done that cannot be undone. Rows give the details.
func (b *base) ask(title, yes, no string, rows []string, agreed func()) {
	choices := []ask.Choice{{Key: "y", Text: yes, Allow: true}, {Key: "n", Text: no}}
	b.choose(title, choices, rows, func(choice string) {
		if choice == "y" {
			agreed()
		}
	})
}

// choose lets the user choose. The last choice is to do nothing.
func (b *base) choose(title string, choices []ask.Choice, rows []string, answered func(choice string)) {
	q := ask.Question{Who: "Reins", Title: title, Choices: choices}
	for _, r := range rows {
		q.Rows = append(q.Rows, ask.Row{Kind: ask.RowText, Text: r})
	}
	b.confirm, b.answered = dialog.New(q, b.dialog()), answered
}

// write lets the user write a text.
func (b *base) write(title, s string, send func(s string)) {
	b.writing = &writing{title, b.field(), send}
	b.writing.field.SetText(s)
}

// question handles a key while a question is open or the user writes a text.
func (b *base) question(k keys.Key) (Outcome, bool) {
	b.notice = ""
	if b.writing != nil {
		return b.written(k), true
	}
	if b.confirm == nil {
		return Outcome{}, false
	}
	out := b.confirm.Handle(k)
	if out.Answer != nil {
		b.confirm = nil
		b.answered(out.Answer.Choice)
	}
	return Outcome{Handled: out.Handled}, true
}

// written handles a key while the user writes a text.
func (b *base) written(k keys.Key) Outcome {
	w := b.writing
	out := w.field.Handle(k)
	if out.Action == keys.Submit {
		if s := strings.TrimSpace(w.field.Message().Text); s != "" {
			b.writing = nil
			w.send(s)
		}
		return handled
	}
	if a, _ := b.o.Keys.Find(k, keys.List); a == keys.ListCancel && !out.Handled {
		b.writing = nil
		return handled
	}
	if out.Action == keys.ExternalEditor {
		return Outcome{Handled: true, External: w.field}
	}
	return Outcome{Handled: out.Handled}
}

// lines lays out the text and returns the caret's cell.
func (w *writing) lines(b *base, width, rows int) (lines []text.Line, x, y int) {
	title := text.Line{{Text: text.Clean(w.title), Style: text.Style{Role: text.Warning, Attr: text.Bold}}}
	v := w.field.View(max(width-2, 1), min(max(rows-1, 1), 8))
	lines = append(lines, b.o.Rule.Cut(title, width))
	for i, l := range v.Lines {
		mark := "  "
		if i == 0 {
			mark = "> "
		}
		lines = append(lines, append(text.Line{{Text: mark, Style: text.Style{Role: text.Accent}}}, l...))
	}
	return lines, v.X + 2, v.Y + 1
}

// below returns the question or the text at the bottom, its hints, and the caret's cell if there is one.
func (b *base) below(width, rows int) (lines []text.Line, hints []hint, x, y int, cursor bool) {
	switch {
	case b.confirm != nil:
		lines, x, y, cursor = b.confirm.View(width, rows)
		return lines, []hint{{keys.QuestionChoose, "answer"}, {keys.QuestionRefuse, "cancel"}}, x, y, cursor
	case b.writing != nil:
		lines, x, y = b.writing.lines(b, width, rows)
		hints = []hint{{keys.Submit, "send"}, {keys.ListCancel, "cancel"}, {keys.Newline, "new line"}, {keys.ExternalEditor, "editor"}}
		return lines, hints, x, y, true
	}
	return nil, nil, 0, 0, false
}

// hint is a key to show at the bottom.
type hint struct {
	action keys.Action
	does   string
}

// airy is the height from which a blank line follows the title.
const airy = 20

// body lays out the part between title and hints. Without a cursor, x is negative.
type body func(width, rows int) (lines []text.Line, x, y int)

// frame lays out a panel.
func (b *base) frame(width, height int, status string, hints []hint, content body) screen.Frame {
	width, height = max(width, 1), max(height, 1)
	head := []text.Line{b.head(width, status)}
	if height >= airy {
		head = append(head, nil)
	}
	room := height - len(head)
	if height >= 4 {
		room-- // for the keys
	}
	asked, others, x, y, cursor := b.below(width, max(room-2, 1))
	if asked != nil {
		hints = others
	}
	rows := max(room-len(asked), 0)
	f := screen.Frame{Lines: head, X: x, Y: len(head) + rows + y, Cursor: cursor}
	if rows > 0 {
		lines, cx, cy := content(width, rows)
		f.Lines = append(f.Lines, lines[:min(len(lines), rows)]...)
		if asked == nil && cx >= 0 && cy < rows {
			f.X, f.Y, f.Cursor = cx, len(head)+cy, true
		}
	}
	for len(f.Lines) < len(head)+rows {
		f.Lines = append(f.Lines, nil)
	}
	f.Lines = append(f.Lines, asked...)
	if height >= 4 {
		f.Lines = append(f.Lines, b.foot(width, hints))
	}
	f.Lines = f.Lines[:min(len(f.Lines), height)]
	for i, l := range f.Lines {
		f.Lines[i] = b.o.Rule.Cut(l, width)
	}
	f.X, f.Y = min(f.X, width-1), min(f.Y, height-1)
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
		l = append(l,
			text.Span{Text: between, Style: dim},
			text.Span{Text: key, Style: text.Style{Role: text.Accent}},
			text.Span{Text: " " + h.does, Style: dim})
	}
	return l
}
