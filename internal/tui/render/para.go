package render

import (
	"strings"

	"github.com/reins-agent/reins/internal/tui/text"
)

// para is a paragraph or a heading.
type para struct {
	prefix
	text  string
	level int // heading level; 0 is no heading
}

func (p *para) Rows(o Layout) int {
	return rows(len(p.text), strings.Count(p.text, "\n")+1, p.width(o))
}

func (p *para) Lines(o Layout) []text.Line {
	var style text.Style
	switch p.level {
	case 0:
	case 1:
		style = text.Style{Role: text.Heading, Attr: text.Bold | text.Underline}
	default:
		style = text.Style{Role: text.Heading, Attr: text.Bold}
	}
	return p.put(o, wrapped(o, Inline(p.text, style), p.width(o)))
}

// wrapped wraps lines between words.
func wrapped(o Layout, lines []text.Line, width int) []text.Line {
	var out []text.Line
	for _, l := range lines {
		out = append(out, o.Rule.Wrap(l, width)...)
	}
	return out
}

// ruler is a thematic break.
type ruler struct{ prefix }

func (r *ruler) Rows(Layout) int { return 1 }

func (r *ruler) Lines(o Layout) []text.Line {
	return r.put(o, []text.Line{one(strings.Repeat("─", min(r.width(o), 80)), role(text.Border))})
}

// plain is text that is not Markdown: its lines are wrapped.
type plain struct {
	prefix
	text  string
	style text.Style
	hard  bool // lines break at any place
}

func (p *plain) Rows(o Layout) int {
	return rows(len(p.text), strings.Count(p.text, "\n")+1, p.width(o))
}

func (p *plain) Lines(o Layout) []text.Line {
	var out []text.Line
	width := p.width(o)
	for s := range text.CleanLines(p.text) {
		if p.hard {
			out = append(out, o.Rule.Fold(one(s, p.style), width)...)
		} else {
			out = append(out, o.Rule.Wrap(one(s, p.style), width)...)
		}
	}
	return p.put(o, out)
}

// plainParts splits text into blocks of bounded size.
func plainParts(p prefix, s string, style text.Style, hard bool) []Block {
	var out []Block
	for s != "" || out == nil {
		chunk, rest := cutLines(s, maxChunk, maxParagraph)
		out = append(out, Block{Part: &plain{prefix: p, text: chunk, style: style, hard: hard}})
		p.first, s = p.rest, rest
	}
	return out
}

// cutLines splits s after the first lines.
func cutLines(s string, lines, bytes int) (first, rest string) {
	for at := 0; ; {
		i := strings.IndexByte(s[at:], '\n')
		if i < 0 && len(s) <= bytes {
			return s, ""
		}
		if i < 0 || at+i > bytes {
			if at > 0 {
				return s[:at-1], s[at:]
			}
			for bytes > 1 && s[bytes]&0xC0 == 0x80 {
				bytes--
			}
			return s[:bytes], s[bytes:]
		}
		at += i + 1
		if lines--; lines == 0 {
			return s[:at-1], s[at:]
		}
	}
}

// Plain lays out text that is not Markdown. Long lines break anywhere.
func Plain(s string) []Block {
	return plainParts(prefix{}, strings.TrimRight(s, "\n"), text.Style{}, true)
}

// Title returns a title.
func Title(s string) Part {
	return &plain{text: oneLine(s), style: text.Style{Role: text.Heading, Attr: text.Bold}}
}

// Note returns a remark.
func Note(s string) Part { return &plain{text: oneLine(s), style: role(text.Dim)} }
