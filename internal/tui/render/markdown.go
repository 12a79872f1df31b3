package render

import (
	"slices"
	"strings"

	"github.com/reins-agent/reins/internal/tui/text"
)

// Limits that keep blocks small.
const (
	maxParagraph = 8 << 10
	maxChunk     = 64  // code lines
	maxTable     = 200 // rows
	maxLine      = 16 << 10
	maxDepth     = 16 // nested lists and quotes
)

// Markdown parses Markdown that arrives in pieces. Raw HTML is text. The zero value is ready to use.
type Markdown struct {
	parser
	partial string // the last line, without its end
}

// Write adds text.
func (m *Markdown) Write(s string) {
	s = m.partial + s
	for {
		n := strings.IndexByte(s, '\n')
		if n < 0 && len(s) <= maxLine {
			break
		}
		if n < 0 || n > maxLine {
			n = lineBreak(s)
			m.line(s[:n])
			s = s[n:]
			continue
		}
		m.line(strings.TrimSuffix(s[:n], "\r"))
		s = s[n+1:]
	}
	m.partial = s
}

// lineBreak returns where a line that is too long is broken.
func lineBreak(s string) int {
	if n := strings.LastIndexByte(s[:maxLine], ' '); n > 0 {
		return n
	}
	n := maxLine
	for n > 1 && s[n]&0xC0 == 0x80 {
		n--
	}
	return n
}

// Done returns the finished blocks. They do not change when more text is written.
func (m *Markdown) Done() []Block { return m.out }

// Open returns the blocks that may change when more text is written.
func (m *Markdown) Open() []Block {
	p := m.parser
	p.out = nil
	p.any, p.codes = len(m.out) > 0, nil
	p.stack = slices.Clone(p.stack)
	p.leaf.lines = slices.Clip(p.leaf.lines)
	if m.partial != "" {
		p.line(strings.TrimSuffix(m.partial, "\r"))
	}
	p.close(0)
	return p.out
}

// Parse parses a whole text.
func Parse(s string) []Block {
	var m Markdown
	m.Write(s)
	return append(m.Done(), m.Open()...)
}

// container is a quote or a list item.
type container struct {
	quote  bool
	indent int    // columns before a list item's content
	mark   string // not shown so far
	shown  int    // columns that the mark takes
}

type leafKind uint8

const (
	noLeaf leafKind = iota
	paragraph
	fenced
	indented
	table
)

// leaf is an open block without blocks in it.
type leaf struct {
	kind    leafKind
	lines   []string
	size    int
	fence   string
	indent  int // before the fence
	lang    string
	state   state    // highlighter state at the first line
	started bool     // a chunk was finished
	blank   int      // blank lines at the end of indented code
	source  []string // finished chunks, if code is collected
}

// parser parses Markdown line by line.
type parser struct {
	stack []container
	leaf  leaf
	out   []Block
	any   bool    // there are blocks before out
	blank bool    // the last line was blank
	codes *[]Code // collects code, if not nil
}

// line parses the next line.
func (p *parser) line(line string) {
	n, rest := p.match(line)
	blank := strings.TrimSpace(rest) == ""
	switch {
	case n < len(p.stack) && p.leaf.kind == paragraph && !blank && !p.starts(rest):
		p.text(rest) // a paragraph continues on lines without container marks
		return
	case n < len(p.stack):
		p.close(n)
	}
	if p.leaf.kind == fenced {
		p.code(rest)
		return
	}
	if blank {
		p.blankLine()
		return
	}
	rest = p.open(rest)
	if strings.TrimSpace(rest) != "" {
		p.content(rest)
	}
}

// match strips the open containers' marks from a line, and returns how many containers the line continues.
func (p *parser) match(line string) (int, string) {
	for i, c := range p.stack {
		in, _ := indentOf(line)
		blank := strings.TrimSpace(line) == ""
		switch {
		case c.quote && in < 4 && strings.HasPrefix(strings.TrimLeft(line, " \t"), ">"):
			line = afterQuote(line)
		case !c.quote && blank && (p.leaf.kind != noLeaf || c.mark == ""):
			line = ""
		case !c.quote && !blank && in >= c.indent:
			line = strip(line, c.indent)
		default:
			return i, line
		}
	}
	return len(p.stack), line
}

func (p *parser) blankLine() {
	if p.leaf.kind == indented {
		p.leaf.lines = append(p.leaf.lines, "")
		p.leaf.blank++
	} else {
		p.end()
	}
	p.blank = true
}

// starts reports whether a line starts a block that interrupts a paragraph.
func (p *parser) starts(line string) bool {
	in, s := indentOf(line)
	if in > 3 {
		return false
	}
	_, _, list := listMark(s)
	return s[0] == '>' || fenceOf(s) != "" || heading(s) > 0 || rule(s) || list
}

// open opens the containers that a line starts, and returns what follows their marks.
func (p *parser) open(line string) string {
	for len(p.stack) < maxDepth {
		in, s := indentOf(line)
		if s == "" || in > 3 {
			return line
		}
		if s[0] == '>' {
			p.end()
			p.stack = append(p.stack, container{quote: true})
			line = afterQuote(line)
			continue
		}
		mark, size, ok := listMark(s)
		if !ok || rule(s) || p.leaf.kind == paragraph && !interrupts(s) {
			return line
		}
		p.end()
		width := in + size
		after := s[size:]
		spaces, content := indentOf(after)
		switch {
		case content == "":
			width++
		case spaces > 4:
			width++
		default:
			width += spaces
		}
		line = strip(strings.Repeat(" ", in+size)+after, width)
		if box, ok := task(content); ok {
			mark, line = box, strings.TrimLeft(content[3:], " \t")
		}
		p.stack = append(p.stack, container{indent: width, mark: mark, shown: text.Wcwidth.Width(mark) + 1})
		if content == "" {
			return ""
		}
	}
	return line
}

// content parses a line after container marks.
func (p *parser) content(line string) {
	in, s := indentOf(line)
	switch {
	case p.leaf.kind == table:
		if in < 4 && !p.starts(line) {
			p.row(s)
			return
		}
		p.end()
	case p.leaf.kind == indented:
		if in >= 4 {
			p.leaf.lines, p.leaf.blank = append(p.leaf.lines, strip(line, 4)), 0
			p.chunk()
			return
		}
		p.end()
	}
	if in > 3 {
		if p.leaf.kind == paragraph {
			p.text(s)
			return
		}
		p.begin(indented)
		p.leaf.lines = append(p.leaf.lines, strip(line, 4))
		return
	}
	if f := fenceOf(s); f != "" {
		p.end()
		p.begin(fenced)
		p.leaf.fence, p.leaf.indent = f, in
		p.leaf.lang = language(s[len(f):])
		return
	}
	if n := heading(s); n > 0 {
		p.end()
		title := strings.TrimSpace(s[n:])
		if bare := strings.TrimRight(title, "#"); bare == "" || strings.HasSuffix(bare, " ") {
			title = strings.TrimSpace(bare)
		}
		p.heading(n, title)
		return
	}
	if p.leaf.kind == paragraph {
		if n := underline(s); n > 0 {
			title := strings.Join(p.leaf.lines, " ")
			p.leaf = leaf{}
			p.heading(n, title)
			return
		}
		if last := len(p.leaf.lines) - 1; delimiters(s) != nil && len(cells(p.leaf.lines[last])) == len(delimiters(s)) {
			head := p.leaf.lines[last]
			if p.leaf.lines = p.leaf.lines[:last]; last > 0 {
				p.end()
			}
			p.begin(table)
			p.leaf.lines = []string{head, s}
			return
		}
	}
	if rule(s) {
		p.end()
		p.emit(&ruler{p.prefix()})
		return
	}
	p.text(line)
}

func (p *parser) begin(k leafKind) { p.leaf = leaf{kind: k} }

// text adds a line to the paragraph.
func (p *parser) text(line string) {
	if p.leaf.kind != paragraph {
		p.begin(paragraph)
	}
	line = strings.TrimLeft(line, " \t")
	for p.leaf.size+len(line) > maxParagraph {
		room := max(maxParagraph-p.leaf.size, 0)
		at := strings.LastIndexByte(line[:room], ' ')
		if at < 0 && p.leaf.size == 0 {
			for at = room; at > 1 && line[at]&0xC0 == 0x80; at-- {
			}
		}
		if at > 0 {
			p.leaf.lines = append(p.leaf.lines, line[:at])
			line = strings.TrimLeft(line[at:], " ")
		}
		p.end()
		p.begin(paragraph)
	}
	p.leaf.lines = append(p.leaf.lines, line)
	p.leaf.size += len(line) + 1
}

// code adds a line to fenced code, or ends it.
func (p *parser) code(line string) {
	in, s := indentOf(line)
	if f := fenceOf(s); in < 4 && f != "" && f[0] == p.leaf.fence[0] && len(f) >= len(p.leaf.fence) && strings.TrimSpace(s[len(f):]) == "" {
		p.end()
		return
	}
	p.leaf.lines = append(p.leaf.lines, strip(line, min(in, p.leaf.indent)))
	p.chunk()
}

// chunk finishes a part of long code.
func (p *parser) chunk() {
	size := len(p.leaf.lines[len(p.leaf.lines)-1])
	if p.leaf.size += size; len(p.leaf.lines) < maxChunk && p.leaf.size < maxParagraph {
		return
	}
	next := p.leaf
	if p.codes != nil {
		next.source = append(next.source, next.lines...)
	}
	c := p.block()
	next.state = c.after()
	next.lines, next.size, next.started = nil, 0, true
	p.emit(c)
	p.leaf = next
}

// row adds a row to a table.
func (p *parser) row(s string) {
	p.leaf.lines = append(p.leaf.lines, s)
	if p.leaf.size += len(s); len(p.leaf.lines) > maxTable || p.leaf.size > maxParagraph {
		lines := p.leaf.lines[:2]
		p.end()
		p.begin(table)
		p.leaf.started = true
		p.leaf.lines = slices.Clone(lines)
	}
}

func (p *parser) block() *code {
	l := p.leaf
	return &code{prefix: p.prefix(), lang: l.lang, lines: l.lines, state: l.state}
}

// end finishes the open leaf.
func (p *parser) end() {
	l := p.leaf
	switch l.kind {
	case noLeaf:
		return
	case paragraph:
		p.leaf = leaf{}
		p.emit(&para{prefix: p.prefix(), text: strings.Join(l.lines, "\n")})
	case fenced, indented:
		p.leaf.lines = l.lines[:len(l.lines)-l.blank]
		if p.codes != nil {
			*p.codes = append(*p.codes, Code{l.lang, strings.Join(append(l.source, p.leaf.lines...), "\n")})
		}
		c := p.block()
		started := l.started
		if len(c.lines) > 0 || !started {
			p.emit(c)
		}
	case table:
		if !l.started || len(l.lines) > 2 {
			p.emit(newGrid(p.prefix(), l.lines, l.started))
		}
	}
	p.leaf = leaf{}
}

// close closes all containers but the first n.
func (p *parser) close(n int) {
	p.end()
	for len(p.stack) > n {
		p.item()
		p.stack = p.stack[:len(p.stack)-1]
	}
}

// item shows an empty list item's mark.
func (p *parser) item() {
	if last := len(p.stack) - 1; last >= 0 && p.stack[last].mark != "" {
		p.emit(&para{prefix: p.prefix()})
	}
}

func (p *parser) heading(level int, title string) {
	if len(p.out) > 0 || p.any {
		p.blank = true
	}
	p.emit(&para{prefix: p.prefix(), text: title, level: level})
}

// emit adds a block.
func (p *parser) emit(part Part) {
	gap := p.blank && (len(p.out) > 0 || p.any)
	if p.leaf.started { // a block continues
		gap = false
	}
	p.out = append(p.out, Block{Gap: gap, Part: part})
	p.blank = false
}

// prefix returns the next block's prefix. It shows the marks of new list items.
func (p *parser) prefix() prefix {
	var out prefix
	for i := range p.stack {
		c := &p.stack[i]
		before := text.Span{Text: text.Blank(c.shown)}
		if c.quote {
			before = text.Span{Text: "│ ", Style: role(text.Quote)}
		}
		out.rest = append(out.rest, before)
		if c.mark != "" {
			before = text.Span{Text: c.mark + " ", Style: role(text.Accent)}
			c.mark = ""
		}
		out.first = append(out.first, before)
	}
	return out
}

// Code is a code block.
type Code struct{ Language, Source string }

// Codes returns the code blocks in s as they were written.
func Codes(s string) []Code {
	var list []Code
	m := Markdown{parser: parser{codes: &list}}
	m.Write(s)
	if m.partial != "" {
		m.line(m.partial)
	}
	m.close(0)
	return list
}
