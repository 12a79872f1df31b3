package tuitest

import (
	"fmt"
	"html"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Cell size in an image, and the space around the screen.
const (
	cellW  = 8.4
	cellH  = 18
	ascent = 13
	margin = 10
)

// Palette has a terminal's default colors and the 16 ANSI colors.
type Palette struct {
	FG, BG string
	ANSI   [16]string
}

// Dark and Light are the colors of common terminals.
var (
	Dark = Palette{"#d8dee9", "#16181d", [16]string{
		"#16181d", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#c8ccd4",
		"#5c6370", "#ff7b85", "#b5e890", "#ffd98a", "#7cc4ff", "#e29cf5", "#7fdbe6", "#ffffff",
	}}
	Light = Palette{"#1f2328", "#ffffff", [16]string{
		"#1f2328", "#a8201a", "#1a6328", "#7a4d00", "#0b4fb3", "#6a2aa0", "#005a70", "#8c959f",
		"#5a5f66", "#cf222e", "#2da44e", "#9a6700", "#218bff", "#8250df", "#1b7c83", "#ffffff",
	}}
)

// SVG returns the screen as an image.
func (e *Emulator) SVG(p Palette) string {
	var b strings.Builder
	w, h := float64(e.W)*cellW+2*margin, e.H*cellH+2*margin
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%s" height="%d" viewBox="0 0 %[1]s %[2]d" `, number(w), h)
	b.WriteString(`font-family="DejaVu Sans Mono,Menlo,Consolas,Noto Sans Mono CJK SC,monospace" font-size="14">` + "\n")
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="6" fill="%s"/>`+"\n", p.BG)
	for y, row := range e.Cells {
		for x := 0; x < len(row); {
			n := run(row, x)
			p.draw(&b, row[x:x+n], x, y)
			x += n
		}
	}
	if e.Modes["?25"] {
		fmt.Fprintf(&b, `<rect x="%s" y="%d" width="%s" height="%d" fill="none" stroke="%s"/>`+"\n",
			number(margin+float64(e.X)*cellW), margin+e.Y*cellH, number(cellW), cellH, p.FG)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// run returns how many cells from x on are drawn together: cells of one style, with one character each, or one cluster.
func run(row []Cell, x int) int {
	n := 1
	for x+n < len(row) && row[x+n].Text == "" {
		n++
	}
	if n > 1 || !simple(row[x]) {
		return n
	}
	for x+n < len(row) && row[x+n].SGR == row[x].SGR && row[x+n].URL == row[x].URL && simple(row[x+n]) {
		if x+n+1 < len(row) && row[x+n+1].Text == "" {
			break
		}
		n++
	}
	return n
}

// simple reports whether a cell has a character that fonts draw as wide as a cell: ASCII, lines and blocks.
func simple(c Cell) bool {
	r, n := utf8.DecodeRuneInString(c.Text)
	return n == len(c.Text) && (n == 1 || r >= '─' && r <= '▟')
}

// look is how cells are drawn.
type look struct {
	fg, bg                      string
	bold, italic, under, struck bool
	reverse                     bool
}

// draw draws cells of one style.
func (p Palette) draw(b *strings.Builder, cells []Cell, x, y int) {
	l := p.look(cells[0].SGR)
	left, top, width := number(margin+float64(x)*cellW), margin+y*cellH, number(float64(len(cells))*cellW)
	if l.bg != "" {
		fmt.Fprintf(b, `<rect x="%s" y="%d" width="%s" height="%d" fill="%s"/>`+"\n", left, top, width, cellH, l.bg)
	}
	var s strings.Builder
	for _, c := range cells {
		s.WriteString(c.Text)
	}
	text := s.String()
	if strings.TrimSpace(text) == "" && !l.under {
		return
	}
	if trimmed := strings.TrimRight(text, " "); !l.under && len(trimmed) < len(text) {
		width = number(float64(len(cells)-(len(text)-len(trimmed))) * cellW) // a space is a byte
		text = trimmed
	}
	fmt.Fprintf(b, `<text x="%s" y="%d" textLength="%s" lengthAdjust="spacingAndGlyphs" xml:space="preserve" fill="%s"%s>%s</text>`+"\n",
		left, top+ascent, width, l.fg, l.attributes(), html.EscapeString(text))
}

// attributes returns the SVG attributes for everything but the color.
func (l look) attributes() (s string) {
	if l.bold {
		s += ` font-weight="bold"`
	}
	if l.italic {
		s += ` font-style="italic"`
	}
	switch {
	case l.under:
		s += ` text-decoration="underline"`
	case l.struck:
		s += ` text-decoration="line-through"`
	}
	return s
}

// look returns how cells with a style are drawn.
func (p Palette) look(sgr string) look {
	l := look{fg: p.FG}
	for s := range strings.FieldsSeq(sgr) {
		n, err := strconv.Atoi(s)
		switch {
		case err != nil && strings.HasPrefix(s, "38;"):
			l.fg = p.rgb(s[3:])
		case err != nil && strings.HasPrefix(s, "48;"):
			l.bg = p.rgb(s[3:])
		case n == 1:
			l.bold = true
		case n == 3:
			l.italic = true
		case n == 4:
			l.under = true
		case n == 7:
			l.reverse = true
		case n == 9:
			l.struck = true
		case n >= 30 && n < 38:
			l.fg = p.ANSI[n-30]
		case n >= 40 && n < 48:
			l.bg = p.ANSI[n-40]
		case n >= 90 && n < 98:
			l.fg = p.ANSI[n-82]
		case n >= 100 && n < 108:
			l.bg = p.ANSI[n-92]
		}
	}
	if l.reverse {
		l.fg, l.bg = l.bg, l.fg
		if l.fg == "" {
			l.fg = p.BG
		}
	}
	return l
}

// rgb returns a color from its parameters: "2;R;G;B", or "5;N" for an ANSI color.
func (p Palette) rgb(s string) string {
	var r, g, b, n int
	if _, err := fmt.Sscanf(s, "2;%d;%d;%d", &r, &g, &b); err == nil {
		return fmt.Sprintf("#%02x%02x%02x", r, g, b)
	}
	if _, err := fmt.Sscanf(s, "5;%d", &n); err == nil && n < len(p.ANSI) {
		return p.ANSI[n]
	}
	return p.FG
}

func number(f float64) string { return strings.TrimSuffix(strconv.FormatFloat(f, 'f', 1, 64), ".0") }
