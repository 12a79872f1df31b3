package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	ellipsis = "…"
	blanks   = "                                                                                " // 80
)

// Blank returns n spaces.
func Blank(n int) string {
	if n <= len(blanks) {
		return blanks[:max(n, 0)]
	}
	return strings.Repeat(" ", n)
}

// Text returns a line's text.
func (l Line) Text() string {
	if len(l) == 1 {
		return l[0].Text
	}
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.Text)
	}
	return b.String()
}

// Pad returns a line with spaces at its end, so that it is at least as wide as given.
func (r Rule) Pad(l Line, width int, style Style) Line {
	missing := width - r.LineWidth(l)
	if missing <= 0 {
		return l
	}
	return append(l[:len(l):len(l)], Span{Blank(missing), style})
}

// Cut returns a line's start, at most as wide as given, with an ellipsis if anything is left out.
func (r Rule) Cut(l Line, width int) Line {
	if r.LineWidth(l) <= width {
		return l
	}
	if width < 1 {
		return nil
	}
	column := 0
	for i, s := range l {
		for rest := s.Text; rest != ""; {
			c, after := Next(rest)
			if column += r.cluster(c); column > width-1 {
				out := l[:i:i]
				if at := len(s.Text) - len(rest); at > 0 {
					out = append(out, Span{s.Text[:at], s.Style})
				}
				return append(out, Span{ellipsis, Style{Role: s.Style.Role, Attr: s.Style.Attr}})
			}
			rest = after
		}
	}
	return l
}

// CutText cuts a text as [Rule.Cut] cuts a line.
func (r Rule) CutText(s string, width int) string {
	if r.Width(s) <= width {
		return s
	}
	return r.Cut(Line{{Text: s}}, width).Text()
}

// CutStart returns a text's end, at most as wide as given, with an ellipsis if anything is left out: for paths.
func (r Rule) CutStart(s string, width int) string {
	over := r.Width(s) - width
	if over <= 0 {
		return s
	}
	if width < 1 {
		return ""
	}
	for over >= 0 && s != "" { // the ellipsis takes a column
		var c string
		c, s = Next(s)
		over -= r.cluster(c)
	}
	return ellipsis + s
}

// Fold breaks a line into lines of at most the given width, at any place. It leaves out nothing, except that a cluster
// wider than a whole line becomes an ellipsis.
func (r Rule) Fold(l Line, width int) []Line { return r.breakLine(l, width, false) }

// Wrap breaks a line into lines of at most the given width, between words where it can. It leaves out the spaces at the
// breaks. Chinese and Japanese text breaks between characters, but not before closing punctuation.
func (r Rule) Wrap(l Line, width int) []Line { return r.breakLine(l, width, true) }

// place is a place in a line.
type place struct{ span, at int }

func (r Rule) breakLine(l Line, width int, words bool) []Line {
	width = max(width, 1)
	if r.LineWidth(l) <= width {
		return []Line{l}
	}
	l = r.narrow(l, width)
	var (
		out           []Line
		start         place // where the current row starts
		end, resume   place // the last possible break
		column, taken int   // columns up to here, and up to resume
		open, filled  bool  // there is a possible break; the row has more than spaces
		spaces        bool  // the last cluster was a space
		last          string
	)
	for i, s := range l {
		for at := 0; at < len(s.Text); {
			c, _ := Next(s.Text[at:])
			here, next, w := place{i, at}, place{i, at + len(c)}, r.cluster(c)
			space := words && c == " "
			if words && !space && !spaces && filled && breaks(last, c) {
				end, resume, taken, open = here, here, column, true
			}
			if column+w > width && (!space || !filled) {
				if open {
					out, start, column = append(out, l.slice(start, end)), resume, column-taken
				}
				if column+w > width {
					out, start, column = append(out, l.slice(start, here)), here, 0
				}
				open = false
			}
			switch {
			case !space:
				filled = true
			case filled:
				if !spaces {
					end = here
				}
				resume, taken, open = next, column+w, true
			}
			column += w
			spaces, last, at = space, c, at+len(c)
		}
	}
	tail := l.slice(start, place{len(l), 0})
	if words && r.LineWidth(tail) > width { // spaces at the end
		tail = l.slice(start, end)
	}
	return append(out, tail)
}

// narrow replaces clusters that are wider than a line.
func (r Rule) narrow(l Line, width int) Line {
	var out Line
	for i, s := range l {
		if asciiPrefix(s.Text) == len(s.Text) {
			continue
		}
		var b strings.Builder
		from := 0
		for at := 0; at < len(s.Text); {
			c, _ := Next(s.Text[at:])
			if r.cluster(c) > width {
				b.WriteString(s.Text[from:at] + ellipsis)
				from = at + len(c)
			}
			at += len(c)
		}
		if from == 0 {
			continue
		}
		if out == nil {
			out = append(out, l...)
		}
		out[i].Text = b.String() + s.Text[from:]
	}
	if out == nil {
		return l
	}
	return out
}

// slice returns the text between two places.
func (l Line) slice(from, to place) Line {
	if from.span == to.span && from.span < len(l) {
		if from.at == to.at {
			return Line{}
		}
		return Line{{l[from.span].Text[from.at:to.at], l[from.span].Style}}
	}
	out := make(Line, 0, to.span-from.span+1)
	for i := from.span; i <= to.span && i < len(l); i++ {
		s := l[i]
		if i == to.span {
			s.Text = s.Text[:to.at]
		}
		if i == from.span {
			s.Text = s.Text[from.at:]
		}
		if s.Text != "" {
			out = append(out, s)
		}
	}
	return out
}

// breaks reports whether a line may break between two clusters that are not spaces.
func breaks(before, after string) bool {
	if len(before) == 1 && len(after) == 1 {
		return false
	}
	b, _ := utf8.DecodeRuneInString(before)
	a, _ := utf8.DecodeRuneInString(after)
	return (wide(b) || wide(a)) && !unicode.In(a, unicode.Pe, unicode.Pf, unicode.Po) && !unicode.In(b, unicode.Ps, unicode.Pi)
}

// wide reports whether a character is Chinese or Japanese, or its punctuation.
func wide(r rune) bool {
	return r >= 0x2E80 && r < 0xA4D0 || r >= 0xF900 && r < 0xFB00 || r >= 0xFF01 && r < 0xFF61 || r >= 0x20000 && r < 0x40000
}
