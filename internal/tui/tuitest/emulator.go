// Package tuitest has a terminal emulator for tests.
package tuitest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/reins-agent/reins/internal/tui/text"
)

// Cell is a column on the emulator's screen.
type Cell struct {
	Text string // a cluster; "" is the right half of a wide cluster; " " is blank
	SGR  string // the parameters that set its style, sorted
	URL  string
	// Image is a part of an iTerm2 image: see PartAt.
	Image string
}

// Emulator emulates a terminal. It understands the sequences that Reins and other programs in terminals send, and
// reports all others.
type Emulator struct {
	W, H    int
	X, Y    int
	Rule    text.Rule
	Cells   [][]Cell
	History []string // rows that left the top
	Modes   map[string]bool
	Kitty   int      // depth of the keyboard flag stack
	Clears  int      // how often the screen was erased as a whole
	Strings []string // OSC and other strings, except links
	Unknown []string // sequences that it does not understand
	Bytes   int

	Images map[int]Image // by number, those with kitty graphics that were not deleted
	Sent   []Image       // all that it got, in order
	Asked  int           // how often it was asked whether it knows kitty graphics
	part   transfer

	sgr, url    string
	top, bottom int // scroll region, exclusive bottom
	wrap        bool
	kept        [2]int // the saved cursor
	pending     []byte
	saved       *Emulator // the main screen, while the alternate one is shown
}

// New returns an emulator.
func New(w, h int) *Emulator {
	e := &Emulator{Modes: map[string]bool{"?25": true, "?7": true}}
	e.blank(w, h)
	return e
}

func (e *Emulator) blank(w, h int) {
	e.W, e.H, e.X, e.Y, e.top, e.bottom = w, h, 0, 0, 0, h
	e.Cells = make([][]Cell, h)
	for y := range e.Cells {
		e.Cells[y] = e.blankRow()
	}
}

func (e *Emulator) blankRow() []Cell { return slices.Repeat([]Cell{{Text: " "}}, e.W) }

// Resize changes the size. Rows are cut or padded; nothing is wrapped again.
func (e *Emulator) Resize(w, h int) {
	old := e.Cells
	x, y := min(e.X, w-1), min(e.Y, h-1)
	e.blank(w, h)
	for i := range min(h, len(old)) {
		copy(e.Cells[i], old[i])
	}
	e.X, e.Y = x, y
}

// Rows returns the rows as text, without blanks at their ends.
func (e *Emulator) Rows() []string {
	var list []string
	for _, row := range e.Cells {
		var b strings.Builder
		for _, c := range row {
			b.WriteString(c.Text)
		}
		list = append(list, strings.TrimRight(b.String(), " "))
	}
	return list
}

// Text returns the screen as text.
func (e *Emulator) Text() string { return strings.TrimRight(strings.Join(e.Rows(), "\n"), "\n") }

// Write shows bytes. Sequences and characters may be split.
func (e *Emulator) Write(b []byte) (int, error) {
	e.Bytes += len(b)
	data := append(e.pending, b...)
	for len(data) > 0 {
		n := e.next(data)
		if n == 0 {
			break
		}
		data = data[n:]
	}
	e.pending = slices.Clone(data)
	return len(b), nil
}

func (e *Emulator) next(b []byte) int {
	switch c := b[0]; {
	case c == 0x1b:
		return e.escape(b)
	case c == '\r':
		e.X, e.wrap = 0, false
	case c == '\n':
		e.wrap = false
		if e.Y == e.bottom-1 {
			e.scroll(1)
		} else {
			e.Y = min(e.Y+1, e.H-1)
		}
	case c == '\b':
		e.X, e.wrap = max(e.X-1, 0), false
	case c == '\t':
		e.X, e.wrap = min((e.X/8+1)*8, e.W-1), false
	case c == 7:
	case c < 0x20 || c == 0x7f:
		e.Unknown = append(e.Unknown, fmt.Sprintf("%q", c))
	default:
		if !utf8.FullRune(b) {
			return 0
		}
		r, n := utf8.DecodeRune(b)
		e.put(r)
		return n
	}
	return 1
}

// put shows a character at the cursor, or joins it to the cluster before.
func (e *Emulator) put(r rune) {
	if r >= 0x80 && e.join(string(r)) {
		return
	}
	w := e.Rule.Width(string(r))
	if w == 0 {
		return
	}
	if e.wrap && e.Modes["?7"] {
		e.next([]byte{'\r'})
		e.next([]byte{'\n'})
	}
	if e.X+w > e.W {
		e.X = e.W - w
	}
	for i := range w {
		e.erase(e.X+i, e.Y)
	}
	e.Cells[e.Y][e.X] = Cell{Text: string(r), SGR: e.sgr, URL: e.url}
	if w == 2 {
		e.Cells[e.Y][e.X+1] = Cell{SGR: e.sgr, URL: e.url}
	}
	e.forward(w)
}

func (e *Emulator) forward(n int) {
	if e.X += n; e.X >= e.W {
		e.X, e.wrap = e.W-1, true
	}
}

// join adds a character to the cluster before the cursor, if it belongs to it.
func (e *Emulator) join(r string) bool {
	x := e.X - 1
	if e.wrap {
		x = e.X
	}
	for x > 0 && e.Cells[e.Y][x].Text == "" {
		x--
	}
	if x < 0 {
		return false
	}
	c := &e.Cells[e.Y][x]
	joined := c.Text + r
	cluster, rest := text.Next(joined)
	if rest != "" || cluster != joined || c.Text == " " && e.Rule.Width(r) > 0 {
		return false
	}
	if e.Rule == text.Wcwidth && e.Rule.Width(r) > 0 {
		return false
	}
	was, now := e.Rule.Width(c.Text), e.Rule.Width(joined)
	c.Text = joined
	if now > was && x+1 < e.W {
		e.Cells[e.Y][x+1] = Cell{SGR: c.SGR, URL: c.URL}
		e.forward(now - was)
	}
	return true
}

// erase blanks a cell, and a wide cluster's other half.
func (e *Emulator) erase(x, y int) {
	row := e.Cells[y]
	if row[x].Text == "" && x > 0 {
		row[x-1] = Cell{Text: " "}
	}
	if x+1 < e.W && row[x+1].Text == "" {
		row[x+1] = Cell{Text: " "}
	}
	row[x] = Cell{Text: " "}
}

// scroll moves the region's rows up.
func (e *Emulator) scroll(n int) {
	for ; n > 0; n-- {
		if e.top == 0 && e.saved == nil {
			var b strings.Builder
			for _, c := range e.Cells[0] {
				b.WriteString(c.Text)
			}
			e.History = append(e.History, strings.TrimRight(b.String(), " "))
		}
		copy(e.Cells[e.top:], e.Cells[e.top+1:e.bottom])
		e.Cells[e.bottom-1] = e.blankRow()
	}
	for ; n < 0; n++ {
		copy(e.Cells[e.top+1:e.bottom], e.Cells[e.top:])
		e.Cells[e.top] = e.blankRow()
	}
}

func (e *Emulator) escape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '[':
		for i := 2; i < len(b); i++ {
			if b[i] >= 0x40 && b[i] <= 0x7e {
				e.csi(string(b[2:i]), b[i])
				return i + 1
			}
		}
		return 0
	case ']', 'P', '_':
		for i := 2; i < len(b); i++ {
			n := 0
			if b[i] == 7 {
				n = 1
			} else if b[i] == 0x1b && i+1 < len(b) {
				if b[i+1] != '\\' { // it aborts the string
					return i
				}
				n = 2
			}
			if n > 0 {
				e.str(b[1], string(b[2:i]))
				return i + n
			}
		}
		return 0
	}
	return e.short(b)
}

// short handles the sequences without parameters.
func (e *Emulator) short(b []byte) int {
	switch b[1] {
	case '7':
		e.kept = [2]int{e.X, e.Y}
	case '8':
		e.X, e.Y, e.wrap = min(e.kept[0], e.W-1), min(e.kept[1], e.H-1), false
	case 'M':
		if e.Y == e.top {
			e.scroll(-1)
		} else {
			e.Y = max(e.Y-1, 0)
		}
	case 'D', 'E':
		if b[1] == 'E' {
			e.X = 0
		}
		e.next([]byte{'\n'})
	case '=', '>':
	case '(', ')': // a character set
		if len(b) < 3 {
			return 0
		}
		return 3
	default:
		e.Unknown = append(e.Unknown, fmt.Sprintf("%q", b[:2]))
	}
	return 2
}

func (e *Emulator) str(kind byte, s string) {
	if rest, ok := strings.CutPrefix(s, "8;"); ok && kind == ']' {
		_, e.url, _ = strings.Cut(rest, ";")
		return
	}
	e.Strings = append(e.Strings, string(kind)+s)
	if rest, ok := strings.CutPrefix(s, "G"); ok && kind == '_' {
		e.kitty(rest)
	}
	if rest, ok := strings.CutPrefix(s, "1337;File="); ok && kind == ']' {
		e.inline(rest)
	}
}

func (e *Emulator) csi(params string, final byte) {
	list := strings.Split(params, ";")
	n := func(i, standard int) int {
		if i < len(list) {
			if v, err := strconv.Atoi(list[i]); err == nil && v > 0 {
				return v
			}
		}
		return standard
	}
	pending := e.wrap
	e.wrap = false
	switch final {
	case 'A':
		e.Y = max(e.Y-n(0, 1), 0)
	case 'B':
		e.Y = min(e.Y+n(0, 1), e.H-1)
	case 'C':
		e.X = min(e.X+n(0, 1), e.W-1)
	case 'D':
		e.X = max(e.X-n(0, 1), 0)
	case 'G':
		e.X = min(n(0, 1), e.W) - 1
	case 'H':
		e.Y, e.X = min(n(0, 1), e.H)-1, min(n(1, 1), e.W)-1
	case 'E':
		e.X, e.Y = 0, min(e.Y+n(0, 1), e.H-1)
	case 'F':
		e.X, e.Y = 0, max(e.Y-n(0, 1), 0)
	case 'd':
		e.Y = min(n(0, 1), e.H) - 1
	case 'J':
		e.eraseScreen(n(0, 0))
	case 'K':
		e.eraseLine(n(0, 0))
	case 'P', '@', 'X':
		e.shift(final, n(0, 1))
	case 'L', 'M':
		e.shiftRows(final, n(0, 1))
	case 's':
		e.kept = [2]int{e.X, e.Y}
	case 'S':
		e.scroll(n(0, 1))
	case 'T':
		e.scroll(-n(0, 1))
	case 'r':
		if top, bottom := n(0, 1)-1, min(n(1, e.H), e.H); top < bottom { // others are ignored
			e.top, e.bottom, e.X, e.Y = top, bottom, 0, 0
		}
	case 'm':
		e.wrap = pending
		e.style(params)
	case 'h', 'l':
		for _, m := range strings.Split(strings.TrimPrefix(params, "?"), ";") {
			e.mode("?"+m, final == 'h')
		}
	case 'u':
		switch {
		case strings.HasPrefix(params, ">"):
			e.Kitty++
		case strings.HasPrefix(params, "<"):
			e.Kitty--
		case params == "":
			e.X, e.Y = min(e.kept[0], e.W-1), min(e.kept[1], e.H-1)
		}
	case 'c', 'n', 'p', 'q', 't':
	default:
		e.Unknown = append(e.Unknown, params+string(final))
	}
}

func (e *Emulator) eraseScreen(what int) {
	switch what {
	case 0:
		e.eraseLine(0)
		for y := e.Y + 1; y < e.H; y++ {
			e.Cells[y] = e.blankRow()
		}
		return
	case 1:
		e.eraseLine(1)
		for y := range e.Y {
			e.Cells[y] = e.blankRow()
		}
		return
	case 3:
		e.Clears++
		e.History = nil
		return
	}
	e.Clears++
	for y := range e.Cells {
		e.Cells[y] = e.blankRow()
	}
}

// eraseLine erases the row after the cursor, before it, or as a whole.
func (e *Emulator) eraseLine(what int) {
	from, to := e.X, e.W
	if what > 0 {
		from = 0
	}
	if what == 1 {
		to = e.X + 1
	}
	for x := from; x < to; x++ {
		e.erase(x, e.Y)
	}
}

// shift deletes (P), inserts (@) or erases (X) cells at the cursor.
func (e *Emulator) shift(final byte, n int) {
	row := e.Cells[e.Y]
	n = min(n, e.W-e.X)
	switch final {
	case 'P':
		copy(row[e.X:], row[e.X+n:])
		copy(row[e.W-n:], e.blankRow())
	case '@':
		copy(row[e.X+n:], row[e.X:])
		copy(row[e.X:e.X+n], e.blankRow())
	default:
		copy(row[e.X:e.X+n], e.blankRow())
	}
}

// shiftRows inserts (L) or deletes (M) rows at the cursor, in the scroll region.
func (e *Emulator) shiftRows(final byte, n int) {
	if e.Y < e.top || e.Y >= e.bottom {
		return
	}
	for range min(n, e.bottom-e.Y) {
		if final == 'M' {
			copy(e.Cells[e.Y:], e.Cells[e.Y+1:e.bottom])
			e.Cells[e.bottom-1] = e.blankRow()
			continue
		}
		copy(e.Cells[e.Y+1:e.bottom], e.Cells[e.Y:])
		e.Cells[e.Y] = e.blankRow()
	}
}

func (e *Emulator) mode(m string, on bool) {
	e.Modes[m] = on
	if m != "?1049" || on == (e.saved != nil) {
		return
	}
	if on {
		main := *e
		e.saved = &main
		e.blank(e.W, e.H)
		return
	}
	e.Cells, e.X, e.Y, e.top, e.bottom = e.saved.Cells, e.saved.X, e.saved.Y, 0, e.H
	e.saved = nil
}

// style applies SGR parameters. A cell's style is the sorted list of parameters that set it.
func (e *Emulator) style(params string) {
	if strings.HasPrefix(params, ">") { // modifyOtherKeys
		e.Modes["otherkeys"] = strings.Contains(params, ";") && !strings.HasSuffix(params, ";0")
		return
	}
	var set []string
	if e.sgr != "" {
		set = strings.Split(e.sgr, " ")
	}
	list := strings.Split(params, ";")
	for i := 0; i < len(list); i++ {
		switch p := list[i]; {
		case p == "" || p == "0":
			set = nil
		case (p == "38" || p == "48") && i+1 < len(list):
			n := 2
			if list[i+1] == "2" {
				n = 4
			}
			set = append(set, strings.Join(list[i:min(i+n+1, len(list))], ";"))
			i += n
		default:
			set = append(set, p)
		}
	}
	slices.Sort(set)
	e.sgr = strings.Join(slices.Compact(set), " ")
}

// Style returns the style of cells written with SGR parameters.
func Style(params string) string {
	e := New(1, 1)
	e.style(params)
	return e.sgr
}
