package transcript

import (
	"unicode"

	"github.com/reins-agent/reins/internal/tui/text"
	"github.com/reins-agent/reins/view"
)

// place moves the top to where it must be so that the window is full.
func (v *View) place() {
	if len(v.entries) == 0 {
		v.top, v.follow = place{}, true
		return
	}
	if v.follow {
		v.top = v.end()
		return
	}
	v.clamp()
	if n := v.below(v.top, v.height+1); n <= v.height {
		v.top, v.follow = v.end(), true
	}
}

// below returns the number of rows from a place on, at most n.
func (v *View) below(p place, n int) int {
	rows := -p.row
	for ; rows < n && p.entry < len(v.entries); p = v.after(p) {
		rows += len(v.block(p.entry, p.block))
	}
	return min(rows, n)
}

// end returns the top place for a window at the end.
func (v *View) end() place {
	if len(v.entries) == 0 {
		return place{}
	}
	p, _ := v.up(place{entry: len(v.entries)}, v.height)
	return p
}

// clamp moves the top to a row that exists.
func (v *View) clamp() {
	if v.top.entry >= len(v.entries) {
		v.top = v.end()
		return
	}
	if n := len(v.bodyOf(v.top.entry).rows); v.top.block >= n {
		v.top.block, v.top.row = max(n-1, 0), 0
	}
	v.top.row = min(v.top.row, max(len(v.block(v.top.entry, v.top.block))-1, 0))
}

// up returns the place a number of rows before p, and how many rows there were.
func (v *View) up(p place, n int) (place, int) {
	moved := 0
	for moved < n {
		if step := min(p.row, n-moved); step > 0 {
			p.row -= step
			moved += step
			continue
		}
		switch {
		case p.block > 0:
			p.block--
		case p.entry > 0:
			p.entry--
			p.block = max(len(v.bodyOf(p.entry).rows)-1, 0)
		default:
			return p, moved
		}
		p.row = len(v.block(p.entry, p.block))
	}
	return p, moved
}

// down returns the place a number of rows after p.
func (v *View) down(p place, n int) place {
	for p.entry < len(v.entries) {
		left := len(v.block(p.entry, p.block)) - p.row
		if left > n {
			p.row += n
			return p
		}
		n -= left
		p = v.after(p)
	}
	return p
}

// Scroll moves the window by rows; negative numbers move it towards the start.
func (v *View) Scroll(rows int) {
	if len(v.entries) == 0 {
		return
	}
	v.place()
	v.eye = -1
	if v.follow = false; rows < 0 {
		v.top, _ = v.up(v.top, -rows)
	} else {
		v.top = v.down(v.top, rows)
	}
	v.place()
}

// Page moves the window by pages, of which two share two rows.
func (v *View) Page(pages int) { v.Scroll(pages * max(v.height-2, 1)) }

// Top moves the window to the first row.
func (v *View) Top() { v.top, v.follow, v.eye = place{}, false, -1 }

// Bottom moves the window to the end, where it follows new items.
func (v *View) Bottom() { v.follow, v.eye = true, -1 }

// Following reports whether the window shows the end and follows new items.
func (v *View) Following() bool { return v.follow }

// Jump moves the window to the previous or next input: negative numbers move it towards the start.
func (v *View) Jump(inputs int) bool {
	v.place()
	step, at := 1, v.top.entry
	if inputs < 0 {
		step, inputs = -1, -inputs
		if v.top.block > 0 || v.top.row > 1 {
			at++ // the input at the top may have started before it
		}
	}
	found := -1
	for e := at + step; e >= 0 && e < len(v.entries) && inputs > 0; e += step {
		if v.entries[e].kind == view.KindInput {
			found = e
			inputs--
		}
	}
	if found < 0 {
		return false
	}
	v.goTo(place{entry: found})
	return true
}

// Go moves the window to an item.
func (v *View) Go(key view.Key) bool {
	i, ok := v.state.Find(key)
	if !ok {
		return false
	}
	e, ok := v.entryOf(i)
	if ok {
		v.goTo(place{entry: e})
	}
	return ok
}

// goTo puts a place at the top, without the blank line before it.
func (v *View) goTo(p place) {
	if p.block == 0 && p.row == 0 && v.gap(p.entry) {
		p.row = 1
	}
	v.top, v.follow, v.eye = p, false, -1
	v.place()
}

// Position returns how many rows are above the window, and how many there are, both estimated.
func (v *View) Position() (above, total int) {
	for i := range v.entries {
		if i == v.top.entry {
			above = total
		}
		total += v.estimate(&v.entries[i])
	}
	if v.top.entry >= len(v.entries) || v.follow {
		above = max(total-v.height, 0)
	}
	return above, total
}

func (v *View) topKey() view.Key {
	if v.top.entry < len(v.entries) {
		return v.entries[v.top.entry].key
	}
	return ""
}

// letters returns how many letters in the top block are above the window.
func (v *View) letters() int {
	if v.top.entry >= len(v.entries) {
		return 0
	}
	v.clamp()
	n := 0
	for i, l := range v.block(v.top.entry, v.top.block) {
		if i == v.top.row {
			break
		}
		n += letters(l)
	}
	return n
}

// look moves the top to the row with the letter that was at the top before.
func (v *View) look() {
	if v.top.entry >= len(v.entries) {
		return
	}
	if n := len(v.bodyOf(v.top.entry).rows); v.top.block >= n {
		v.top.block = max(n-1, 0)
	}
	n := v.eye
	rows := v.block(v.top.entry, v.top.block)
	for i, l := range rows {
		here := letters(l)
		if n < here || i == len(rows)-1 {
			v.top.row = i
			return
		}
		n -= here
	}
}

func letters(l text.Line) int {
	n := 0
	for _, s := range l {
		for _, r := range s.Text {
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				n++
			}
		}
	}
	return n
}
