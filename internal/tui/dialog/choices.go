package dialog

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/reins-agent/reins/ask"
	"github.com/reins-agent/reins/internal/tui/keys"
	"github.com/reins-agent/reins/internal/tui/text"
)

// choices shows a question's choices.
type choices struct {
	list     []ask.Choice
	selected int
}

// hotkey returns the key that selects a choice: its own if that is one character, otherwise its number.
func (c *choices) hotkey(i int) string {
	if key := c.list[i].Key; utf8.RuneCountInString(key) == 1 && text.Clean(key) == key && key != " " {
		return key
	}
	if i < 9 {
		return strconv.Itoa(i + 1)
	}
	return ""
}

func (c *choices) key(d *Dialog, k keys.Key, a keys.Action) Outcome {
	switch a {
	case keys.QuestionNext, keys.QuestionPrev:
		c.selected = moved(c.selected, len(c.list), a)
		d.first = ""
		return handled
	case keys.QuestionChoose:
		if c.selected < 0 {
			return Outcome{}
		}
		return c.choose(d)
	}
	if d.first == "" && k.Text != "" {
		for i := range c.list {
			if c.hotkey(i) == k.Text {
				c.selected, d.first = i, k.Text
				return handled
			}
		}
	}
	out := d.typedText(k)
	if out.Typed != "" {
		c.selected = -1
	}
	return out
}

// choose answers with the selected choice. The user can add a message when refusing an approval.
func (c *choices) choose(d *Dialog) Outcome {
	choice := c.list[c.selected]
	if !choice.Allow && d.approves() {
		d.refuseWith("")
		return handled
	}
	return answer(ask.Answer{Choice: choice.Key})
}

func (c *choices) paste(string) bool { return false }

func (c *choices) leave() bool { return false }

func (c *choices) lines(d *Dialog, width int) (lines []text.Line, x, y int) {
	for i, choice := range c.list {
		label := choice.Text
		if utf8.RuneCountInString(choice.Key) != 1 {
			label = strings.TrimSpace(choice.Key + "  " + label)
		}
		if i == c.selected {
			y = len(lines)
		}
		lines = append(lines, d.entry(c.hotkey(i), label, i == c.selected, width)...)
	}
	return lines, -1, y
}

// entry lays out something to choose.
func (d *Dialog) entry(hotkey, label string, selected bool, width int) []text.Line {
	style, mark := text.Style{}, "  "
	if selected {
		style, mark = text.Style{Role: text.Selected}, "› "
	}
	key := text.Span{Text: mark + hotkey + "  ", Style: text.Style{Role: text.Accent}}
	if hotkey == "" {
		key.Text = mark
	}
	indent := d.opts.Rule.Width(key.Text)
	var lines []text.Line
	for i, l := range d.opts.Rule.Wrap(text.Line{{Text: text.Clean(label), Style: style}}, max(width-indent, 1)) {
		if i > 0 {
			key = text.Span{Text: text.Blank(indent)}
		}
		lines = append(lines, d.opts.Rule.Cut(append(text.Line{key}, l...), width))
	}
	return lines
}

// moved returns the entry after or before another one, or the first or the last.
func moved(selected, n int, a keys.Action) int {
	switch {
	case n == 0:
		return -1
	case a == keys.QuestionNext:
		return (selected + 1) % n
	case selected <= 0:
		return n - 1
	}
	return selected - 1
}
