package dialog

import (
	"strconv"
	"strings"

	"github.com/reins-agent/reins/ask"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/tui/edit"
	"github.com/reins-agent/reins/internal/tui/keys"
	"github.com/reins-agent/reins/internal/tui/text"
)

// item is a question from the model: options, followed by a field for another answer.
type item struct {
	q        event.Question
	chosen   []bool
	selected int
	field    *edit.Editor
}

func (d *Dialog) newItem(q event.Question) *item {
	return &item{q: q, chosen: make([]bool, len(q.Options)), selected: -1, field: d.newField()}
}

// inField reports whether the field has the focus.
func (i *item) inField() bool { return i.selected == len(i.q.Options) }

func (i *item) key(d *Dialog, k keys.Key, a keys.Action) Outcome {
	switch a {
	case keys.QuestionNext, keys.QuestionPrev:
		i.selected = moved(i.selected, len(i.q.Options)+1, a)
		d.first = ""
		return handled
	case keys.QuestionChoose:
		return i.choose(d)
	}
	if i.inField() {
		return Outcome{Handled: i.field.Handle(k).Handled}
	}
	if k.Text == " " && i.selected >= 0 && i.q.Multiple {
		i.chosen[i.selected] = !i.chosen[i.selected]
		d.first = ""
		return handled
	}
	if n, err := strconv.Atoi(k.Text); err == nil && d.first == "" && n >= 1 && n <= len(i.q.Options) {
		i.selected, d.first = n-1, k.Text
		return handled
	}
	out := d.typedText(k)
	if out.Typed != "" {
		i.selected = -1
	}
	return out
}

// choose takes the selection as the answer. With several options, it takes those that were marked.
func (i *item) choose(d *Dialog) Outcome {
	d.first = ""
	written := strings.TrimSpace(i.field.Message().Text) != ""
	switch {
	case i.selected < 0:
		return Outcome{}
	case i.inField():
		if !written && !i.marked() {
			d.cause = "Write an answer, or choose an option."
			return handled
		}
	case !i.q.Multiple:
		i.chosen = make([]bool, len(i.chosen))
		i.chosen[i.selected] = true
	case !i.marked():
		i.chosen[i.selected] = true
	}
	d.cause = ""
	return d.next()
}

// marked reports whether an option is chosen.
func (i *item) marked() bool {
	for _, c := range i.chosen {
		if c {
			return true
		}
	}
	return false
}

func (i *item) reply() ask.Reply {
	var r ask.Reply
	for n, c := range i.chosen {
		if c {
			r.Chosen = append(r.Chosen, i.q.Options[n].Label)
		}
	}
	if i.inField() || i.q.Multiple {
		r.Text = strings.TrimSpace(i.field.Message().Text)
	}
	return r
}

func (i *item) paste(s string) bool {
	if i.inField() {
		i.field.Paste(s)
	}
	return i.inField()
}

func (i *item) leave() bool {
	if !i.inField() {
		return false
	}
	i.selected = -1
	return true
}

func (i *item) lines(d *Dialog, width int) (lines []text.Line, x, y int) {
	for _, s := range VisibleLines(i.q.Question) {
		lines = append(lines, d.opts.Rule.Wrap(text.Line{{Text: s, Style: text.Style{Attr: text.Bold}}}, width)...)
	}
	for n, o := range i.q.Options {
		label := o.Label
		if o.Description != "" {
			label += " · " + o.Description
		}
		if i.q.Multiple {
			label = map[bool]string{true: "[x] ", false: "[ ] "}[i.chosen[n]] + label
		}
		hotkey := ""
		if n < 9 {
			hotkey = strconv.Itoa(n + 1)
		}
		if n == i.selected {
			y = len(lines)
		}
		lines = append(lines, d.entry(hotkey, label, n == i.selected, width)...)
	}
	x = -1
	if !i.inField() {
		hint := "another answer"
		if i.selected < 0 {
			hint += " (" + strings.Join(d.keys.Keys(keys.QuestionNext), ", ") + ")"
		}
		return append(lines, d.entry("", hint, false, width)...), x, y
	}
	v := i.field.View(width-2, 6)
	x, y = v.X+2, len(lines)+v.Y
	for n, l := range v.Lines {
		mark := "  "
		if n == 0 {
			mark = "› "
		}
		lines = append(lines, append(text.Line{{Text: mark, Style: text.Style{Role: text.Accent}}}, l...))
	}
	return lines, x, y
}
