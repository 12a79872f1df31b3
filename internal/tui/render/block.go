// Package render lays out session items as lines: Markdown, code, diffs, tool calls, reasoning, inputs and
// notices.
//
// A [Body] is an item as blocks. A block is small, and its lines depend only on the block and the [Layout], so that a
// screen lays out only the blocks that it shows. An answer that is being written adds blocks at its end; finished
// blocks do not change. Text of models, users and tools passes [text.Clean].
package render

import (
	"time"

	"github.com/reins-agent/reins/internal/tui/text"
)

// Layout is what lines depend on beside the item.
type Layout struct {
	Width    int
	Rule     text.Rule
	Expanded bool // folded parts are shown
	Now      time.Time
	Images   Images // nil draws none
}

// Block is a piece of an item.
type Block struct {
	Gap  bool // a blank line separates it from the block before it
	Part Part
}

// Part is a block's content.
type Part interface {
	// Lines lays the part out. No line is wider than the layout.
	Lines(o Layout) []text.Line
	// Rows estimates the number of lines.
	Rows(o Layout) int
}

// rows estimates the number of lines for a text.
func rows(size, lines, width int) int { return max(lines, 1) + size/(max(width, 1)*2) }

// fixed is a part with lines that are cut to the width.
type fixed []text.Line

func (f fixed) Rows(Layout) int { return len(f) }

func (f fixed) Lines(o Layout) []text.Line {
	out := make([]text.Line, len(f))
	for i, l := range f {
		out[i] = o.Rule.Cut(l, o.Width)
	}
	return out
}

// prefix stands before a part's lines: list marks, quote bars and indentation.
type prefix struct{ first, rest text.Line }

// width returns the columns that remain, at least 1.
func (p prefix) width(o Layout) int {
	return max(o.Width-max(o.Rule.LineWidth(p.first), o.Rule.LineWidth(p.rest)), 1)
}

// put puts the prefix before lines.
func (p prefix) put(o Layout, lines []text.Line) []text.Line {
	if len(p.first) == 0 && len(p.rest) == 0 {
		return lines
	}
	for i, l := range lines {
		before := p.rest
		if i == 0 {
			before = p.first
		}
		all := make(text.Line, 0, len(before)+len(l))
		lines[i] = append(append(all, before...), l...)
		if o.Width < 16 { // a deep prefix may be wider than the screen
			lines[i] = o.Rule.Cut(lines[i], o.Width)
		}
	}
	return lines
}

// one returns a line with one span.
func one(s string, style text.Style) text.Line { return text.Line{{Text: s, Style: style}} }

func role(r text.Role) text.Style { return text.Style{Role: r} }
