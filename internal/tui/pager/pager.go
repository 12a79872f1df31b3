// Package pager shows long texts in a window: whole outputs, help, costs, and a session's diff.
package pager

import (
	"strings"

	"github.com/reins-agent/reins/internal/tui/render"
	"github.com/reins-agent/reins/internal/tui/text"
)

// maxRows is how many laid out rows stay in memory beside the rows on the screen.
const maxRows = 4096

// Section is a part with a title, such as one file in a diff.
type Section struct {
	Title  string
	Blocks []render.Block
}

// Pager is a window on sections. It lays out only what it shows. It is not safe for concurrent use.
type Pager struct {
	sections []Section
	blocks   []render.Block
	starts   []int // each section's first block
	layout   render.Layout
	height   int

	rows  [][]text.Line // by block; nil if not laid out
	used  []uint64      // when a block was last shown
	kept  int           // laid out rows
	clock uint64

	top   place
	query string // in lower case
	match place  // the current match
}

// place is a row in a block.
type place struct{ block, row int }

// New returns a pager that shows the first section's first row.
func New(sections ...Section) *Pager {
	p := &Pager{sections: sections, height: 24, layout: render.Layout{Width: 80}}
	for _, s := range sections {
		p.starts = append(p.starts, len(p.blocks))
		for i, b := range s.Blocks {
			b.Gap = b.Gap || i == 0 && len(p.blocks) > 0
			p.blocks = append(p.blocks, b)
		}
	}
	p.forget()
	return p
}

// Set replaces the sections. The window stays where it is or, if it shows the end, at the end.
func (p *Pager) Set(sections ...Section) {
	p.place()
	end := p.top == p.up(place{block: len(p.blocks)}, p.height)
	next := New(sections...)
	p.sections, p.blocks, p.starts = next.sections, next.blocks, next.starts
	if p.forget(); end {
		p.Bottom()
	}
}

// Text returns a section with a text that is not Markdown, such as a command's whole output. Colors are removed.
func Text(title, s string) Section { return Section{title, render.Plain(text.Unstyled(s))} }

// Markdown returns a section with Markdown.
func Markdown(title, s string) Section { return Section{title, render.Parse(s)} }

// Titles returns the section titles.
func (p *Pager) Titles() []string {
	list := make([]string, len(p.sections))
	for i, s := range p.sections {
		list[i] = s.Title
	}
	return list
}

func (p *Pager) forget() {
	p.rows, p.used, p.kept = make([][]text.Line, len(p.blocks)), make([]uint64, len(p.blocks)), 0
}

// Resize changes the window size.
func (p *Pager) Resize(width, height int) {
	width, p.height = max(width, 1), max(height, 1)
	if width != p.layout.Width {
		p.layout.Width = width
		p.forget()
	}
}

// SetRule changes how the terminal counts columns.
func (p *Pager) SetRule(r text.Rule) {
	if r != p.layout.Rule {
		p.layout.Rule = r
		p.forget()
	}
}

// block returns a block's rows, with the blank line before it.
func (p *Pager) block(i int) []text.Line {
	p.used[i] = p.clock
	if p.rows[i] == nil {
		lines := p.blocks[i].Part.Lines(p.layout)
		if p.blocks[i].Gap && i > 0 {
			lines = append([]text.Line{{}}, lines...)
		}
		if lines == nil {
			lines = []text.Line{}
		}
		p.rows[i] = lines
		p.kept += len(lines)
	}
	return p.rows[i]
}

// Lines returns the window's rows: as many as it is high.
func (p *Pager) Lines() []text.Line {
	p.clock++
	p.place()
	out := make([]text.Line, 0, p.height)
	for at := p.top; at.block < len(p.blocks) && len(out) < p.height; at = (place{at.block + 1, 0}) {
		rows := p.block(at.block)
		for n := at.row; n < len(rows) && len(out) < p.height; n++ {
			out = append(out, p.found(rows, n))
		}
	}
	for len(out) < p.height {
		out = append(out, nil)
	}
	if p.kept > maxRows {
		for i, used := range p.used {
			if used != p.clock {
				p.kept -= len(p.rows[i])
				p.rows[i] = nil
			}
		}
	}
	return out
}

// found returns a row with its matches marked.
func (p *Pager) found(rows []text.Line, n int) text.Line {
	l := rows[n]
	if p.query == "" {
		return l
	}
	first := max(n-1, 0)
	for _, m := range render.Find(rows[first:min(n+2, len(rows))], p.query) {
		if first+m.Row == n {
			l = render.Highlight(l, m.From, m.To)
		}
	}
	return l
}

// place moves the top to a row that exists, so that the window is full.
func (p *Pager) place() {
	if p.top.block >= len(p.blocks) {
		p.top = p.up(place{block: len(p.blocks)}, p.height)
		return
	}
	p.top.row = min(p.top.row, max(len(p.block(p.top.block))-1, 0))
	below := -p.top.row
	for i := p.top.block; i < len(p.blocks) && below < p.height; i++ {
		below += len(p.block(i))
	}
	if below < p.height {
		p.top = p.up(place{block: len(p.blocks)}, p.height)
	}
}

// up returns the place a number of rows before another.
func (p *Pager) up(at place, n int) place {
	for n > 0 {
		step := min(at.row, n)
		at.row -= step
		n -= step
		if n > 0 && at.block == 0 {
			break
		}
		if n > 0 {
			at.block--
			at.row = len(p.block(at.block))
		}
	}
	return at
}

// Scroll moves the window by rows; negative numbers move it towards the start.
func (p *Pager) Scroll(n int) {
	if p.place(); n < 0 {
		p.top = p.up(p.top, -n)
		return
	}
	for p.top.row += n; p.top.block < len(p.blocks); p.top.block++ {
		rows := len(p.block(p.top.block))
		if p.top.row < rows {
			break
		}
		p.top.row -= rows
	}
	p.place()
}

// Page moves the window by pages, of which two share two rows.
func (p *Pager) Page(n int) { p.Scroll(n * max(p.height-2, 1)) }

// Top moves the window to the first row.
func (p *Pager) Top() { p.top = place{} }

// Bottom moves the window to the last row.
func (p *Pager) Bottom() { p.top = place{block: len(p.blocks)} }

// Section returns the number that the top section has.
func (p *Pager) Section() int {
	p.place()
	n := 0
	for i, start := range p.starts {
		if start <= p.top.block {
			n = i
		}
	}
	return n
}

// Go moves the window to a section.
func (p *Pager) Go(section int) {
	if section < 0 || section >= len(p.starts) {
		return
	}
	p.top = place{block: p.starts[section]}
	if section > 0 {
		p.top.row = 1 // without the blank line
	}
	p.place()
}

// Jump moves the window by sections.
func (p *Pager) Jump(n int) {
	if len(p.starts) == 0 {
		return
	}
	at := p.Section()
	if n < 0 && (p.top.block > p.starts[at] || p.top.row > 1) {
		n++ // this section's first row
	}
	p.Go(min(max(at+n, 0), len(p.starts)-1))
}

// Search marks a text, regardless of case, and moves the window to its first match at or after the top. It reports
// whether there is one. An empty text ends the search.
func (p *Pager) Search(query string) bool {
	p.query = strings.ToLower(query)
	if p.query == "" {
		return true
	}
	p.place()
	p.match = place{p.top.block, p.top.row - 1}
	return p.Next(1)
}

// Next moves to the next match, or with a negative number to the previous one. The search continues at the other end.
func (p *Pager) Next(n int) bool {
	if p.query == "" || len(p.blocks) == 0 {
		return false
	}
	step := 1
	if n < 0 {
		step = -1
	}
	for i := range len(p.blocks) + 1 {
		b := ((p.match.block+i*step)%len(p.blocks) + len(p.blocks)) % len(p.blocks)
		if row, ok := p.in(b, i, step); ok {
			p.match = place{b, row}
			p.top = p.up(p.match, p.height/3)
			p.place()
			return true
		}
	}
	return false
}

// in returns the row with a block's first match, in the search direction. The search begins in its block 0
// and ends there.
func (p *Pager) in(block, i, step int) (row int, ok bool) {
	for _, m := range render.Find(p.block(block), p.query) {
		started := i > 0 || (m.Row-p.match.row)*step > 0
		if !m.First || !started {
			continue
		}
		if step > 0 {
			return m.Row, true
		}
		row, ok = m.Row, true
	}
	return row, ok
}
