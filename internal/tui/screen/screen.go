// Package screen sends frames to a terminal in the fewest bytes: only cells that changed, and scrolling instead of
// repainting.
package screen

import (
	"hash/maphash"
	"slices"
	"strconv"

	"github.com/reins-agent/reins/internal/tui/text"
)

// Frame is a picture for the terminal. Painted lines must not be changed.
type Frame struct {
	Lines  []text.Line
	X, Y   int  // cursor position
	Cursor bool // the cursor is visible
}

// Screen turns frames into bytes for the terminal. It is either the alternate screen or, inline, a region of rows below
// lines that belong to the terminal.
type Screen struct {
	// Style returns a style's SGR parameters, such as "1;31", or "" for the terminal's own style.
	Style func(text.Style) string
	Rule  text.Rule // how the terminal places clusters
	Sync  bool      // the terminal synchronizes output

	inline bool
	w, h   int
	rows   []row
	next   []row // of the next frame
	styles map[text.Style]uint16
	sgr    []string // by style number
	urls   []string

	stale  bool // the terminal shows something else
	begun  bool // inline: the region has its place
	x, y   int  // terminal cursor; x is -1 if the position is unknown
	style  uint16
	hidden bool
	images images

	out []byte
}

// row is a row on the terminal.
type row struct {
	line  text.Line
	cells []cell // up to the last that is not blank
	hash  uint64
	risky bool // it has clusters whose width terminals disagree about

	image  *text.Image // that is drawn over its cells, from column imageX on; nil if there is none
	imageX int
}

// cell is a column in a row.
type cell struct {
	text  string // a cluster; "" is the right half of a wide cluster
	style uint16
}

// maxStyles is how many styles are remembered. Links make each style different.
const maxStyles = 1000

// New returns a screen with w columns and h rows. An inline screen has no more rows than the terminal.
func New(w, h int, inline bool, style func(text.Style) string) *Screen {
	s := &Screen{Style: style, inline: inline, stale: true}
	s.forget()
	s.size(w, h)
	return s
}

func (s *Screen) size(w, h int) {
	s.w, s.h = max(w, 1), max(h, 1)
	s.rows, s.next = make([]row, s.h), make([]row, s.h)
}

// forget drops the numbers of styles.
func (s *Screen) forget() {
	s.styles = map[text.Style]uint16{{}: 0}
	s.sgr, s.urls = []string{""}, []string{""}
}

// Lost makes the next frame paint everything, because something else was shown. An inline region begins where the cursor
// is.
func (s *Screen) Lost() {
	s.stale, s.begun = true, false
	clear(s.rows)
}

// Restyle applies a new style function or rule.
func (s *Screen) Restyle(style func(text.Style) string, rule text.Rule) {
	s.Style, s.Rule = style, rule
	s.forget()
	s.stale = true
	clear(s.rows)
}

// Paint returns the bytes that make the terminal show a frame, which are valid until the next call.
func (s *Screen) Paint(f Frame) []byte {
	s.out = s.out[:0]
	if len(s.sgr) > maxStyles {
		s.forget()
		s.stale = true
		clear(s.rows)
	}
	next := s.next
	for i := range next {
		var l text.Line
		if i < len(f.Lines) {
			l = f.Lines[i]
		}
		next[i] = s.layout(l, s.rows[i])
	}
	switch {
	case s.inline && (s.stale || !s.begun):
		s.place(next)
	case s.stale:
		s.put("\x1b[0m\x1b[2J\x1b[H")
		s.x, s.y, s.style = 0, 0, 0
		clear(s.rows)
		s.images.drawn = nil
		fallthrough
	default:
		s.update(next)
	}
	s.stale = false
	s.rows, s.next = next, s.rows
	s.finish(f)
	return s.out
}

// update paints what differs in the next rows.
func (s *Screen) update(next []row) {
	if !s.inline && !s.clearImages(next) {
		s.scroll(next)
	}
	for y := range next {
		s.diff(y, s.rows[y], next[y])
	}
	if !s.inline {
		s.drawImages()
	}
}

// finish puts the cursor in its place and frames the output.
func (s *Screen) finish(f Frame) {
	const (
		small = 128  // bytes that a terminal shows at once anyway
		large = 1024 // bytes during which a visible cursor would flicker
	)
	painted := len(s.out)
	s.setStyle(0)
	if f.Cursor {
		s.move(min(max(f.X, 0), s.w-1), min(max(f.Y, 0), s.h-1))
	}
	show := f.Cursor && s.hidden
	hide := !f.Cursor && !s.hidden
	if f.Cursor && !s.hidden && painted > large && !s.Sync {
		s.out = append([]byte("\x1b[?25l"), s.out...)
		show = true
	}
	if show {
		s.put("\x1b[?25h")
	}
	if hide {
		s.put("\x1b[?25l")
	}
	s.hidden = !f.Cursor
	if s.Sync && painted > small {
		s.out = append([]byte("\x1b[?2026h"), s.out...)
		s.put("\x1b[?2026l")
	}
}

// seed makes the hashes of rows.
var seed = maphash.MakeSeed()

// layout returns a line's cells. A line that equals the earlier one keeps its cells.
func (s *Screen) layout(l text.Line, was row) row {
	if slices.Equal(l, was.line) && (len(l) > 0 || len(was.cells) == 0 && was.hash == 0) {
		return was
	}
	size := 0
	for _, span := range l {
		size += len(span.Text)
	}
	r := row{line: l, cells: make([]cell, 0, min(size, s.w))}
	for _, span := range l {
		style := s.number(span.Style)
		if i := span.Style.Image; i != nil && i.Draw != nil {
			r.image, r.imageX = i, len(r.cells)
		}
		for rest := span.Text; rest != "" && len(r.cells) < s.w; {
			var c string
			c, rest = text.Next(rest)
			width := 1
			if len(c) > 1 {
				width = s.Rule.Width(c)
				r.risky = r.risky || risky(c)
			}
			if len(r.cells)+width > s.w || width == 0 && len(r.cells) == 0 {
				break
			}
			if width == 0 { // it belongs to the cell before
				continue
			}
			r.cells = append(r.cells, cell{c, style})
			for range width - 1 {
				r.cells = append(r.cells, cell{"", style})
			}
		}
	}
	n := len(r.cells)
	for n > 0 && r.cells[n-1] == blank {
		n--
	}
	r.cells = r.cells[:n]
	var h maphash.Hash
	h.SetSeed(seed)
	for _, c := range r.cells {
		h.WriteString(c.text)
		h.WriteByte(byte(c.style))
		h.WriteByte(byte(c.style >> 8))
	}
	if n > 0 {
		r.hash = h.Sum64() | 1
	}
	return r
}

var blank = cell{text: " "}

// at returns the cell in a column.
func (r row) at(x int) cell {
	if x < len(r.cells) {
		return r.cells[x]
	}
	return blank
}

// risky reports whether terminals disagree about the width of c, a cluster with several bytes.
func risky(c string) bool {
	n := 0
	for _, r := range c {
		if n++; n > 1 || r >= 0x1F000 && r < 0x20000 {
			return true
		}
	}
	return false
}

// number returns a style's number, which it assigns at first use.
func (s *Screen) number(style text.Style) uint16 {
	if i := style.Image; i != nil && i.ID == 0 { // its cells are blank, and remembering it would keep its data
		style.Image = nil
	}
	if n, ok := s.styles[style]; ok {
		return n
	}
	if len(s.sgr) >= 1<<16-1 {
		return 0
	}
	n := uint16(len(s.sgr))
	s.styles[style] = n
	if style.Image != nil {
		s.sgr = append(s.sgr, imageStyle(style.Image))
	} else {
		s.sgr = append(s.sgr, s.Style(style))
	}
	s.urls = append(s.urls, style.URL)
	return n
}

// diff paints the columns that differ between two rows.
func (s *Screen) diff(y int, was, next row) {
	if was.hash == next.hash && len(was.cells) == len(next.cells) {
		return
	}
	x, end := 0, max(len(was.cells), len(next.cells))
	for x < end && was.at(x) == next.at(x) {
		x++
	}
	if x == end {
		return
	}
	if was.risky || next.risky {
		s.repaint(min(x, firstRisky(was), firstRisky(next)), y, next)
		return
	}
	const gap = 4 // equal columns that cost less than a move
	for x < end {
		if x >= len(next.cells) {
			s.erase(x, y)
			return
		}
		stop := x // end of the columns to paint
		for last := x; stop < end && stop-last <= gap; stop++ {
			if was.at(stop) != next.at(stop) {
				last = stop
			}
		}
		for stop > x && was.at(stop-1) == next.at(stop-1) {
			stop--
		}
		stop = min(stop, len(next.cells))
		for next.at(x).text == "" && x > 0 {
			x--
		}
		for x < stop {
			x += s.cell(x, y, next.at(x))
		}
		for x < end && was.at(x) == next.at(x) {
			x++
		}
	}
}

// repaint paints a row from a column. Terminals may take more or fewer columns for a cluster, so what follows it is erased
// and painted where it belongs.
func (s *Screen) repaint(x, y int, r row) {
	for x > 0 && r.at(x).text == "" {
		x--
	}
	s.erase(x, y)
	for x < len(r.cells) {
		c := r.at(x)
		x += s.cell(x, y, c)
		if risky(c.text) && x < s.w {
			s.erase(x, y)
		}
	}
}

// erase erases a row from a column.
func (s *Screen) erase(x, y int) {
	s.move(x, y)
	s.setStyle(0)
	s.put("\x1b[K")
}

func firstRisky(r row) int {
	if !r.risky {
		return len(r.cells)
	}
	for x, c := range r.cells {
		if risky(c.text) {
			return x
		}
	}
	return len(r.cells)
}

// cell writes a cell and returns its width.
func (s *Screen) cell(x, y int, c cell) int {
	s.move(x, y)
	s.setStyle(c.style)
	width := 1
	if c.text == "" { // its left half is not painted; it cannot stand alone
		c.text = " "
	}
	s.put(c.text)
	if len(c.text) > 1 {
		width = max(s.Rule.Width(c.text), 1)
	}
	s.x += width
	if s.x >= s.w || len(c.text) > 1 && risky(c.text) {
		s.x = -1
	}
	return width
}

func (s *Screen) put(text string) { s.out = append(s.out, text...) }

// csi writes a control sequence with a number.
func (s *Screen) csi(n int, final byte) {
	s.put("\x1b[")
	if n != 1 {
		s.out = strconv.AppendInt(s.out, int64(n), 10)
	}
	s.out = append(s.out, final)
}

// move moves the cursor.
func (s *Screen) move(x, y int) {
	switch {
	case x == s.x && y == s.y:
		return
	case y == s.y && x == 0:
		s.put("\r")
	case y == s.y && s.x >= 0 && x == s.x-1:
		s.put("\b")
	case y == s.y && s.x >= 0 && x > s.x && x-s.x < 10:
		s.csi(x-s.x, 'C')
	case y == s.y:
		s.csi(x+1, 'G')
	case s.inline:
		if y > s.y {
			s.csi(y-s.y, 'B')
		} else {
			s.csi(s.y-y, 'A')
		}
		s.y = y
		s.move(x, y)
	case y == s.y+1 && x == 0:
		s.put("\r\n")
	default:
		s.put("\x1b[")
		s.out = strconv.AppendInt(s.out, int64(y+1), 10)
		if x > 0 {
			s.put(";")
			s.out = strconv.AppendInt(s.out, int64(x+1), 10)
		}
		s.put("H")
	}
	s.x, s.y = x, y
}

// setStyle sets the style for the text that follows.
func (s *Screen) setStyle(n uint16) {
	if n == s.style {
		return
	}
	if s.urls[n] != s.urls[s.style] {
		s.put("\x1b]8;;" + s.urls[n] + "\x1b\\")
	}
	if s.sgr[n] != s.sgr[s.style] {
		switch {
		case s.sgr[n] == "":
			s.put("\x1b[m")
		case s.sgr[s.style] == "":
			s.put("\x1b[" + s.sgr[n] + "m")
		default:
			s.put("\x1b[0;" + s.sgr[n] + "m")
		}
	}
	s.style = n
}
