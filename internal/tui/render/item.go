package render

import (
	"strconv"
	"strings"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/internal/tui/text"
	"github.com/reins-agent/reins/view"
)

// Body is an item as blocks.
type Body struct {
	head, rest []Block // before and after the Markdown
	md         *Markdown
	of         view.Item // without its text, if it may grow
	written    string    // what md has
	open       []Block
	shade      func(text.Style) text.Style
}

// Len returns the number of blocks.
func (b *Body) Len() int {
	n := len(b.head) + len(b.open) + len(b.rest)
	if b.md != nil {
		n += len(b.md.Done())
	}
	return n
}

// Block returns block i.
func (b *Body) Block(i int) Block {
	lists := [][]Block{b.head, nil, b.open, b.rest}
	if b.md != nil {
		lists[1] = b.md.Done()
	}
	for _, l := range lists {
		if i < len(l) {
			return l[i]
		}
		i -= len(l)
	}
	return Block{}
}

// Lines lays out block i.
func (b *Body) Lines(i int, o Layout) []text.Line {
	part := b.Block(i).Part
	if part == nil || o.Width < 1 {
		return nil
	}
	if b.shade != nil {
		o.Images = nil
	}
	lines := part.Lines(o)
	if b.shade == nil {
		return lines
	}
	for i, l := range lines {
		shaded := make(text.Line, len(l))
		for j, s := range l {
			shaded[j] = text.Span{Text: s.Text, Style: b.shade(s.Style)}
		}
		lines[i] = shaded
	}
	return lines
}

// Write updates a growing answer's body, and returns the first block that may have changed. It
// returns false if the body must be made again.
func (b *Body) Write(item view.Item) (from int, ok bool) {
	if b.md == nil || !b.grows(item) || len(item.Text) < len(b.written) {
		return 0, false
	}
	if !item.Live() && item.Text != b.written || item.Live() && !same(item.Text, b.written) {
		return 0, false
	}
	from = len(b.head) + len(b.md.Done())
	b.md.Write(item.Text[len(b.written):])
	b.written, b.open = item.Text, b.md.Open()
	return from, true
}

// same reports whether a text begins with the written text. It compares only the ends: a growing text
// changes only at its end.
func same(s, written string) bool {
	const ends = 256
	n := len(written)
	if n <= 2*ends {
		return s[:n] == written
	}
	return s[:ends] == written[:ends] && s[n-ends:n] == written[n-ends:]
}

// grows reports whether an item differs from the body only in its text.
func (b *Body) grows(item view.Item) bool {
	of := b.of
	return item.Kind == of.Kind && item.Said == of.Said && !item.Partial && !of.Partial && item.Undone == 0 && of.Undone == 0
}

func (b *Body) write(s string) {
	b.md = new(Markdown)
	b.md.Write(s)
	b.written, b.open = s, b.md.Open()
}

// Item returns an item's body. A label names the agent that an item comes from, and is shown above it.
func Item(item view.Item, label string, o Layout) *Body {
	b := &Body{of: view.Item{Kind: item.Kind, Said: item.Said, Partial: item.Partial, Undone: item.Undone}}
	if label != "" {
		b.head = []Block{{Part: fixed{one("▍"+text.Clean(label), role(text.Accent))}}}
	}
	switch item.Kind {
	case view.KindInput:
		b.input(item)
	case view.KindText:
		b.write(item.Text)
		if item.Partial {
			b.rest = []Block{{Part: fixed{one("… the answer is incomplete", role(text.Warning))}}}
		}
	case view.KindReasoning:
		b.reasoning(item, o)
	case view.KindTool:
		if item.Tool != nil {
			b.tool(*item.Tool, o)
			b.images(indent, item.Images, o.Expanded)
		}
	default:
		b.notice(item)
	}
	if item.Undone != 0 {
		b.head = append(b.head, Block{Part: fixed{one("undone", role(text.Dim))}})
		b.shade = func(text.Style) text.Style { return role(text.Dim) }
	}
	return b
}

func (b *Body) add(p Part) { b.rest = append(b.rest, Block{Part: p}) }

func (b *Body) input(item view.Item) {
	p := prefix{
		first: text.Line{{Text: "› ", Style: text.Style{Role: text.User, Attr: text.Bold}}},
		rest:  text.Line{{Text: "  "}},
	}
	note := ""
	if o := item.Origin; o != nil {
		note = strings.TrimSpace("from " + string(o.Kind) + " " + o.ID)
	}
	if item.Steered {
		note = strings.TrimPrefix(note+" · while it worked", " · ")
	}
	if item.Answers != "" {
		note = strings.TrimPrefix(note+" · an answer", " · ")
	}
	if note != "" {
		b.add(fixed{one(text.Clean(note), role(text.Dim))})
	}
	said := withoutMarks(item.Text, item.Images)
	if said != "" || len(item.Images) == 0 {
		b.rest = append(b.rest, plainParts(p, said, role(text.User), false)...)
		p.first = p.rest
	}
	b.images(p, item.Images, true)
}

func (b *Body) reasoning(item view.Item, o Layout) {
	if item.Said {
		b.write(item.Text)
		return
	}
	if o.Expanded {
		b.head = append(b.head, Block{Part: fixed{one("∴ thinking", role(text.Dim))}})
		b.write(item.Text)
		b.shade = func(s text.Style) text.Style {
			if s.Role == text.Plain || s.Role == text.Heading {
				s.Role, s.Attr = text.Dim, s.Attr|text.Italic
			}
			return s
		}
		return
	}
	if item.Live() {
		last := item.Text[max(0, len(item.Text)-400):]
		last = strings.TrimRight(last, "\n ")
		b.add(fixed{one("∴ thinking: "+text.Clean(strings.ToValidUTF8(last[strings.LastIndexByte(last, '\n')+1:], "")), role(text.Dim))})
		return
	}
	first, rest, _ := strings.Cut(strings.TrimSpace(item.Text), "\n")
	l := "∴ thought: " + strings.ReplaceAll(strings.TrimLeft(first, "# "), "**", "")
	if rest != "" {
		l += " … " + show.Plural(strings.Count(rest, "\n")+1, "more line")
	}
	b.add(fixed{one(text.Clean(l), role(text.Dim))})
}

func (b *Body) notice(item view.Item) {
	r := text.Dim
	switch item.Notice {
	case event.KindError, event.KindModelCallEnd:
		r = text.Failure
	case event.KindWarning, event.KindTurnLimit, event.KindLoopDetection, event.KindModelRetry, event.KindQuarantine:
		r = text.Warning
	case event.KindCompaction:
		r = text.Accent
	}
	s := item.Text
	if item.Count > 1 {
		s += " (×" + strconv.Itoa(item.Count) + ")"
	}
	b.add(&plain{prefix: prefix{text.Line{{Text: "· ", Style: role(r)}}, text.Line{{Text: "  "}}}, text: s, style: role(r)})
}
