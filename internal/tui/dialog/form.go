package dialog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/reins-agent/reins/ask"
	"github.com/reins-agent/reins/internal/tui/edit"
	"github.com/reins-agent/reins/internal/tui/keys"
	"github.com/reins-agent/reins/internal/tui/text"
)

// form asks for the values that a JSON schema describes.
type form struct {
	inputs   []input
	selected int
}

// input is a field with what the user entered.
type input struct {
	field
	editor *edit.Editor // for a typed value
	chosen []bool       // which options are chosen
	at     int          // the option that space marks
}

func (d *Dialog) newForm(data json.RawMessage) *form {
	f := &form{selected: -1}
	list, err := fields(data)
	if err != nil {
		d.cause = err.Error()
	}
	for _, one := range list {
		in := input{field: one}
		if one.kind == choose || one.kind == mark {
			in.chosen = make([]bool, len(one.options))
		} else {
			in.editor = d.newField()
		}
		in.fill()
		f.inputs = append(f.inputs, in)
	}
	return f
}

// fill enters the default value.
func (in *input) fill() {
	if len(in.preset) == 0 || string(in.preset) == "null" {
		return
	}
	if in.editor != nil {
		s := string(in.preset)
		if in.kind == write {
			s = plainValue(in.preset)
		}
		in.editor.SetText(s)
		return
	}
	list := []json.RawMessage{in.preset}
	if in.kind == mark && json.Unmarshal(in.preset, &list) != nil {
		return
	}
	for i, o := range in.options {
		for _, v := range list {
			if bytes.Equal(v, o.value) {
				in.chosen[i], in.at = true, i
			}
		}
	}
}

func (f *form) key(d *Dialog, k keys.Key, a keys.Action) Outcome {
	switch {
	case a == keys.QuestionNext || a == keys.QuestionPrev:
		f.selected = moved(f.selected, len(f.inputs)+1, a) // the last one sends the form
		return handled
	case a == keys.QuestionChoose && f.selected < 0:
		return Outcome{}
	case a == keys.QuestionChoose && f.selected < len(f.inputs):
		f.selected++
		return handled
	case a == keys.QuestionChoose:
		return f.send(d)
	case f.selected < 0 || f.selected == len(f.inputs):
		out := d.typedText(k)
		if out.Typed != "" {
			f.selected = -1
		}
		return out
	}
	return f.inputs[f.selected].key(k)
}

func (in *input) key(k keys.Key) Outcome {
	switch name := k.String(); {
	case in.editor != nil:
		return Outcome{Handled: in.editor.Handle(k).Handled}
	case name == "left" || name == "right":
		by := 1
		if name == "left" {
			by = len(in.options) - 1
		}
		if in.kind == mark || in.isSet() {
			in.at = (in.at + by) % len(in.options)
		}
		if in.kind == choose {
			in.only(in.at)
		}
	case name == "space" && in.kind == mark:
		in.chosen[in.at] = !in.chosen[in.at]
	case name == "space":
		if in.isSet() {
			in.at = (in.at + 1) % len(in.options)
		}
		in.only(in.at)
	case name == "backspace" || name == "delete":
		clear(in.chosen)
	default:
		return Outcome{Handled: k.Text != ""}
	}
	return handled
}

// only chooses one option.
func (in *input) only(at int) {
	clear(in.chosen)
	in.chosen[at] = true
}

func (in *input) isSet() bool {
	for _, c := range in.chosen {
		if c {
			return true
		}
	}
	return false
}

// value returns the field's value, or nil if it is empty.
func (in *input) value() (json.RawMessage, error) {
	if in.editor != nil {
		s := in.editor.Message().Text
		if in.kind != write {
			s = strings.TrimSpace(s)
		}
		if s == "" {
			return nil, nil
		}
		return in.parse(s)
	}
	var list []json.RawMessage
	for i, c := range in.chosen {
		if c {
			list = append(list, in.options[i].value)
		}
	}
	if len(list) == 0 {
		return nil, nil
	}
	if in.kind == choose {
		return list[0], nil
	}
	return json.Marshal(list)
}

// send answers with the values, or reports which are invalid.
func (f *form) send(d *Dialog) Outcome {
	var object bytes.Buffer
	object.WriteByte('{')
	for i := range f.inputs {
		in := &f.inputs[i]
		v, err := in.value()
		if err == nil && v == nil && in.required {
			err = fmt.Errorf("%s is required", in.title)
		}
		if err != nil {
			d.cause, f.selected = err.Error(), i
			return handled
		}
		if v == nil {
			continue
		}
		name, err := json.Marshal(in.name)
		if err != nil {
			d.cause = err.Error()
			return handled
		}
		if object.Len() > 1 {
			object.WriteByte(',')
		}
		object.Write(append(append(name, ':'), v...))
	}
	object.WriteByte('}')
	a := ask.Answer{Values: object.Bytes()}
	if _, err := d.q.Inquire(a); err != nil {
		d.cause = err.Error()
		return handled
	}
	d.cause = ""
	return answer(a)
}

func (f *form) paste(s string) bool {
	if f.selected < 0 || f.selected >= len(f.inputs) {
		return false
	}
	if in := &f.inputs[f.selected]; in.editor != nil {
		in.editor.Paste(s)
	}
	return true
}

func (f *form) leave() bool {
	inside := f.selected >= 0
	f.selected = -1
	return inside
}

func (f *form) lines(d *Dialog, width int) (lines []text.Line, x, y int) {
	x = -1
	for i := range f.inputs {
		at := len(lines)
		more, fx, fy := f.inputs[i].lines(d, width, i == f.selected)
		lines = append(lines, more...)
		if i == f.selected {
			x, y = fx, at+fy
		}
	}
	last := f.selected == len(f.inputs)
	if last {
		y = len(lines)
	}
	hint := "send"
	if f.selected < 0 {
		hint += " (" + strings.Join(d.keys.Keys(keys.QuestionNext), ", ") + ": fill in, " + d.keys.Key(keys.QuestionRefuse) + ": refuse)"
	}
	return append(lines, d.entry("", hint, last, width)...), x, y
}

// lines shows a field: title, entered value, and its description while it has the focus.
func (in *input) lines(d *Dialog, width int, focus bool) (lines []text.Line, x, y int) {
	style, mark := text.Style{}, "  "
	if focus {
		style, mark = text.Style{Role: text.Selected}, "› "
	}
	title := text.Clean(in.title)
	if in.required {
		title += " *"
	}
	head := text.Line{{Text: mark, Style: text.Style{Role: text.Accent}}, {Text: title, Style: style}}
	if in.editor == nil {
		head = append(head, in.shown(focus)...)
		lines = d.opts.Rule.Wrap(head, width)
		x = -1
	} else {
		v := in.editor.View(max(width-4, 2), 4)
		lines = append(lines, d.opts.Rule.Cut(head, width))
		x, y = v.X+4, 1+v.Y
		for _, l := range v.Lines {
			lines = append(lines, append(text.Line{{Text: "    "}}, l...))
		}
	}
	if focus && in.about != "" {
		lines = append(lines, d.wrap(in.about, width, text.Dim)...)
	}
	return lines, x, y
}

// shown returns the options, or the chosen one.
func (in *input) shown(focus bool) text.Line {
	line := text.Line{{Text: ":"}}
	for i, o := range in.options {
		style, label := text.Style{Role: text.Dim}, text.Clean(o.label)
		if in.chosen[i] {
			style = text.Style{Attr: text.Bold}
		}
		if in.kind == mark {
			label = map[bool]string{true: "[x] ", false: "[ ] "}[in.chosen[i]] + label
		} else if in.chosen[i] {
			label = "(" + label + ")"
		}
		if focus && i == in.at && in.kind == mark {
			style.Attr |= text.Underline
		}
		line = append(line, text.Span{Text: "  "}, text.Span{Text: label, Style: style})
	}
	return line
}
