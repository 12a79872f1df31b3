// Package dialog has questions, forms and lists as models: keys and pastes in, lines and answers out, without I/O and
// without a clock.
package dialog

import (
	"strings"

	"github.com/reins-agent/reins/ask"
	"github.com/reins-agent/reins/internal/tui/edit"
	"github.com/reins-agent/reins/internal/tui/keys"
	"github.com/reins-agent/reins/internal/tui/text"
)

// Phrase is the first line of each approval.
const Phrase = "Allow this?"

// Options configure a dialog. All are optional.
type Options struct {
	Keys *keys.Map
	Rule text.Rule
}

// Outcome is what a key did.
type Outcome struct {
	Handled bool
	Answer  *ask.Answer
	// Typed is text that the user is writing, rather than an answer. It belongs into the draft.
	Typed string
}

var handled = Outcome{Handled: true}

// Dialog asks a question. Nothing is selected at first: a choice's letter or an arrow selects, and enter answers with
// the selection. So no single key agrees to anything, while esc refuses. Free text is taken only where the user moved to
// it; all other text is for the draft.
type Dialog struct {
	q     ask.Question
	opts  Options
	keys  *keys.Map
	body  body
	parts []part // the answers to give, one after the other
	at    int
	first string       // a letter that selected a choice, and may be the first letter of a text
	note  *edit.Editor // for the message to a refused call
	edits bool         // the field has the command to allow, in place of a message
	cause string       // why the last answer was not accepted
}

// part is a set of things to choose from or to fill in.
type part interface {
	// key handles a key.
	key(d *Dialog, k keys.Key, a keys.Action) Outcome
	// paste inserts a text, and reports whether a field has the focus.
	paste(s string) bool
	// leave takes the focus from a field, and reports whether one had it.
	leave() bool
	// lines returns the lines, and the caret in them; its column is negative without a field.
	lines(d *Dialog, width int) (lines []text.Line, x, y int)
}

// New returns the dialog for a question.
func New(q ask.Question, o Options) *Dialog {
	d := &Dialog{q: q, opts: o, keys: o.Keys}
	if d.keys == nil {
		d.keys = keys.Default()
	}
	d.body = newBody(q)
	switch {
	case len(q.Items) > 0:
		for _, item := range q.Items {
			d.parts = append(d.parts, d.newItem(item))
		}
	case q.Kind == ask.Input:
		d.parts = []part{d.newItem(eventQuestion(q.Title))}
	case len(q.Schema) > 0:
		d.parts = []part{d.newForm(q.Schema)}
	default:
		d.parts = []part{&choices{list: q.Choices, selected: -1}}
	}
	return d
}

// Question returns the question.
func (d *Dialog) Question() ask.Question { return d.q }

// Handle handles a key.
func (d *Dialog) Handle(k keys.Key) Outcome {
	a, _ := d.keys.Find(k, keys.Question)
	if d.note != nil {
		return d.noteKey(k, a)
	}
	switch a {
	case keys.QuestionRefuse:
		d.first = ""
		if d.parts[d.at].leave() {
			return handled
		}
		return answer(d.refusal(""))
	case keys.QuestionWhole:
		d.body.whole = !d.body.whole
		return handled
	case keys.QuestionPageUp:
		d.body.scroll(-1)
		return handled
	case keys.QuestionPageDown:
		d.body.scroll(1)
		return handled
	case keys.QuestionEdit:
		if command := d.command(); command != "" {
			d.edit(command)
			return handled
		}
	}
	return d.parts[d.at].key(d, k, a)
}

// Paste inserts a text into the field that has the focus. Without one, the text is for the draft.
func (d *Dialog) Paste(s string) Outcome {
	typed := d.first
	d.first = ""
	switch {
	case d.note != nil:
		d.note.Paste(s)
		return handled
	case d.parts[d.at].paste(s):
		return handled
	}
	return Outcome{Handled: true, Typed: typed + s}
}

// typedText returns the outcome for a key that types text where no field has the focus.
func (d *Dialog) typedText(k keys.Key) Outcome {
	if k.Text == "" || k.Mods&(keys.Alt|keys.Ctrl|keys.Super) != 0 {
		return Outcome{}
	}
	out := Outcome{Handled: true, Typed: d.first + k.Text}
	d.first = ""
	return out
}

// command returns the question's command, or "".
func (d *Dialog) command() string {
	for _, r := range d.q.Rows {
		if r.Kind == ask.RowCommand {
			return r.Text
		}
	}
	return ""
}

// approves reports whether the question takes a message with a refusal.
func (d *Dialog) approves() bool { return d.q.Kind == ask.Approval || d.q.Kind == ask.Plan }

// refuseWith opens the field for a refusal message.
func (d *Dialog) refuseWith(message string) {
	d.first, d.edits = "", false
	d.note = d.newField()
	d.note.SetText(message)
}

// edit opens the field for the command. Without arguments to change, the edited command is a wish to the agent.
func (d *Dialog) edit(command string) {
	if _, ok := d.q.Edit(command); !ok {
		d.refuseWith("run this instead: " + command)
		return
	}
	d.refuseWith(command)
	d.edits = true
}

// allowEdited allows the call once, with the command in the field.
func (d *Dialog) allowEdited(command string) Outcome {
	args, ok := d.q.Edit(command)
	if !ok || strings.TrimSpace(command) == "" {
		return handled
	}
	for _, c := range d.q.Choices {
		if c.Allow && c.Scope == "" && len(c.Rules) == 0 {
			return answer(ask.Answer{Choice: c.Key, Args: args, Asked: d.q.Asked})
		}
	}
	return handled
}

func (d *Dialog) newField() *edit.Editor {
	return edit.New(edit.Options{Keys: d.fieldKeys(), Rule: d.opts.Rule})
}

// fieldKeys returns the bindings for fields, which have no vim mode.
func (d *Dialog) fieldKeys() *keys.Map {
	m := *d.keys
	m.Vim = false
	return &m
}

// noteKey handles a key while the user writes a refusal message.
func (d *Dialog) noteKey(k keys.Key, a keys.Action) Outcome {
	switch a {
	case keys.QuestionRefuse:
		d.note = nil
		return handled
	case keys.QuestionChoose:
		if d.edits {
			return d.allowEdited(d.note.Message().Text)
		}
		return answer(d.refusal(strings.TrimSpace(d.note.Message().Text)))
	}
	return Outcome{Handled: d.note.Handle(k).Handled}
}

// refusal returns the answer that refuses.
func (d *Dialog) refusal(message string) ask.Answer {
	if d.q.Kind == ask.Input {
		return ask.Answer{Text: "I do not want to answer this."}
	}
	a := ask.Answer{Text: message}
	for _, c := range d.q.Choices {
		if !c.Allow {
			a.Choice = c.Key
		}
	}
	return a
}

func answer(a ask.Answer) Outcome { return Outcome{Handled: true, Answer: &a} }

// next continues with the next part, or answers.
func (d *Dialog) next() Outcome {
	if d.at++; d.at < len(d.parts) {
		return handled
	}
	d.at--
	var a ask.Answer
	for _, p := range d.parts {
		if i, ok := p.(*item); ok {
			a.Replies = append(a.Replies, i.reply())
		}
	}
	if d.q.Kind == ask.Input && len(d.q.Items) == 0 { // a question without parts takes a text
		a = ask.Answer{Text: a.Replies[0].Text}
	}
	return answer(a)
}

// View lays out the dialog in at most the given columns and rows, and returns the caret's cell if a field has the focus.
func (d *Dialog) View(width, rows int) (lines []text.Line, x, y int, cursor bool) {
	width = max(width, 4)
	head := d.head(width)
	tail, x, y := d.parts[d.at].lines(d, width)
	if d.note != nil {
		tail, x, y = d.noteLines(width)
	}
	if d.cause != "" {
		tail = append(tail, d.wrap(d.cause, width, text.Failure)...)
	}
	kept := min(len(d.body.all(d, width)), rows/3)                 // what is decided stays in sight
	if over := len(tail) - max(rows-len(head)-kept, 1); over > 0 { // keep the caret, or the selection
		from := min(max(y-(len(tail)-over)/2, 0), over)
		tail, y = tail[from:len(tail)-over+from], y-from
	}
	head = head[:min(len(head), max(rows-len(tail), 0))]
	middle := d.body.view(d, width, rows-len(head)-len(tail))
	lines = append(append(append(lines, head...), middle...), tail...)
	return lines, max(min(x, width-1), 0), y + len(head) + len(middle), x >= 0
}

// head returns the lines that say who asks for what.
func (d *Dialog) head(width int) []text.Line {
	who := text.Span{Text: text.Clean(d.q.Who), Style: text.Style{Role: text.Dim}}
	title := text.Line{{Text: text.Clean(d.q.Title), Style: text.Style{Attr: text.Bold}}}
	first := text.Line{{Text: Phrase + " ", Style: text.Style{Role: text.Warning, Attr: text.Bold}}, who}
	if !d.approves() {
		first = text.Line{{Text: who.Text + " asks:", Style: text.Style{Role: text.Warning, Attr: text.Bold}}}
	}
	if n := len(d.parts); n > 1 {
		first = append(first, text.Span{Text: " " + countOf(d.at+1, n), Style: text.Style{Role: text.Dim}})
	}
	lines := []text.Line{d.opts.Rule.Cut(first, width)}
	if d.q.Title != "" && len(d.q.Items) == 0 {
		lines = append(lines, d.opts.Rule.Cut(title, width))
	}
	return lines
}

// noteLines shows the refusal message, or the command to allow.
func (d *Dialog) noteLines(width int) (lines []text.Line, x, y int) {
	what, does := "No. Tell the agent what to do instead", "send"
	if d.edits {
		what, does = "Edit the command. It runs as it stands here", "allow it once"
	}
	hint := " (" + d.keys.Key(keys.QuestionChoose) + ": " + does + ", " + d.keys.Key(keys.QuestionRefuse) + ": back)"
	lines = d.wrap(what+hint, width, text.Dim)
	v := d.note.View(width-2, 6)
	x, y = v.X+2, len(lines)+v.Y
	for i, l := range v.Lines {
		mark := "  "
		if i == 0 {
			mark = "> "
		}
		lines = append(lines, append(text.Line{{Text: mark, Style: text.Style{Role: text.Accent}}}, l...))
	}
	return lines, x, y
}

// wrap wraps a clean text.
func (d *Dialog) wrap(s string, width int, role text.Role) []text.Line {
	return d.opts.Rule.Wrap(text.Line{{Text: text.Clean(s), Style: text.Style{Role: role}}}, width)
}
