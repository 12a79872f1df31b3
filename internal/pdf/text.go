package pdf

import (
	"bytes"
	"math"
	"strings"
)

// writer extracts the text of pages.
type writer struct {
	*document
	text  strings.Builder
	fonts map[ref]*font // by reference
	err   error

	font    *font
	size    float64 // font size
	scale   float64 // text scale
	x, y    float64 // start of the current line
	leading float64 // distance to the next line
	letter  float64 // additional space after each code
	word    float64 // additional space after each space
	shift   float64 // from x to where the text shown there ends
	moved   bool    // the position changed since the last text
	endX    float64 // where the last text ends
	lastY   float64
	steps   int
}

// page writes a page's text.
func (w *writer) page(page dict) {
	w.paragraph()
	w.font = plain()
	w.moved = false
	w.leading = 0
	w.size = 1
	w.scale = 1
	w.letter = 0
	w.word = 0
	var content []byte
	if s, ok := w.resolve(page["Contents"]).(*stream); ok {
		content = w.decode(s)
	}
	for _, o := range w.array(page["Contents"]) {
		if s, ok := w.resolve(o).(*stream); ok {
			content = append(append(content, w.decode(s)...), '\n')
		}
	}
	w.run(content, w.dict(page["Resources"]), 0)
	if err := w.failure(); err != nil {
		w.err = err
	}
}

// paragraph ends the text so far with an empty line.
func (w *writer) paragraph() {
	w.separate("\n")
	if w.text.Len() > 0 {
		w.text.WriteByte('\n')
	}
}

// maxOperands is the maximum number of operands per operator.
const maxOperands = 1000

// run executes the text operators in a content stream.
func (w *writer) run(content []byte, resources dict, depth int) {
	p := &parser{data: content}
	var operands []any
	for {
		if w.steps++; w.steps > maxSteps || w.text.Len() > MaxText {
			w.document.err = ErrTooLarge
		}
		if (w.steps%1000 == 0 || w.document.err != nil) && w.failure() != nil {
			return
		}
		o := p.object(0)
		if o == end {
			return
		}
		op, ok := o.(operator)
		if !ok {
			if len(operands) < maxOperands {
				operands = append(operands, o)
			}
			continue
		}
		switch op {
		case "Do":
			w.form(operands, resources, depth)
		case "BI":
			skipImage(p)
		default:
			w.show(op, operands, resources)
		}
		operands = operands[:0]
	}
}

// form executes a form, which is a content stream with its own resources.
func (w *writer) form(operands []any, resources dict, depth int) {
	if len(operands) == 0 || depth > 5 {
		return
	}
	key, _ := operands[0].(name)
	s, ok := w.resolve(w.dict(resources["XObject"])[key]).(*stream)
	if !ok || w.resolve(s.dict["Subtype"]) != name("Form") {
		return
	}
	if own := w.dict(s.dict["Resources"]); own != nil {
		resources = own
	}
	w.run(w.decode(s), resources, depth+1)
}

// skipImage skips an image in a content stream.
func skipImage(p *parser) {
	for {
		i := bytes.Index(p.data[p.pos:], []byte("EI"))
		if i < 0 {
			p.pos = len(p.data)
			return
		}
		start := p.pos + i
		p.pos = start + 2
		if start > 0 && space(p.data[start-1]) && (p.pos == len(p.data) || space(p.data[p.pos])) {
			return
		}
	}
}

// show executes a text operator.
func (w *writer) show(op operator, operands []any, resources dict) {
	number := func(i int) float64 {
		if i = len(operands) + i; i < 0 {
			return 0
		}
		n, _ := operands[i].(float64)
		return n
	}
	switch op {
	case "BT":
		w.x = 0
		w.y = 0
		w.scale = 1
		w.shift = 0
	case "Tf":
		if len(operands) >= 2 {
			key, _ := operands[0].(name)
			w.font, w.size = w.fontOf(w.dict(resources["Font"])[key]), number(-1)
		}
	case "TL":
		w.leading = number(-1)
	case "Tc":
		w.letter = number(-1)
	case "Tw":
		w.word = number(-1)
	case "Td":
		w.move(number(-2), number(-1))
	case "TD":
		w.leading = -number(-1)
		w.move(number(-2), number(-1))
	case "Tm":
		w.scale = math.Hypot(number(-6), number(-5))
		w.jump(number(-2), number(-1))
	case "T*":
		w.move(0, -w.leading)
	case "'", "\"":
		if op == "\"" {
			w.word, w.letter = number(-3), number(-2)
		}
		w.move(0, -w.leading)
		w.write(operands)
	case "Tj", "TJ":
		w.write(operands)
	}
}

// move moves relative to where the current line begins.
func (w *writer) move(dx, dy float64) { w.jump(w.x+dx*w.scale, w.y+dy*w.scale) }

// jump moves to a position. The next text may need a line break or a space before it.
func (w *writer) jump(x, y float64) {
	w.x = x
	w.y = y
	w.shift = 0
	w.moved = true
}

// gap is the distance between two parts of a text, in thousandths of the font size, that counts as a space.
const gap = 100

// write writes the last operand: a text, or a list of texts and distances.
func (w *writer) write(operands []any) {
	if len(operands) == 0 {
		return
	}
	list, ok := operands[len(operands)-1].([]any)
	if !ok {
		list = operands[len(operands)-1:]
	}
	for _, o := range list {
		switch o := o.(type) {
		case text:
			s, width := w.font.decode(o)
			w.put(s)
			width = width/1000*w.size + float64(len(o)/w.font.size)*w.letter
			if w.font.size == 1 {
				width += float64(strings.Count(string(o), " ")) * w.word
			}
			w.shift += width * w.scale
			w.endX = w.x + w.shift
		case float64:
			w.shift -= o / 1000 * w.size * w.scale
			w.moved = w.moved || o < -gap
		}
	}
}

// put writes text at the current position.
func (w *writer) put(s string) {
	if s == "" {
		return
	}
	em := math.Abs(w.size * w.scale)
	distance := w.x + w.shift - w.endX
	switch {
	case math.Abs(w.y-w.lastY) > em/2:
		w.separate("\n")
	case w.moved && (w.font.width == 0 || distance > gap*em/1000 || distance < -em):
		w.separate(" ")
	}
	w.moved, w.lastY = false, w.y
	w.text.WriteString(s)
}

// separate writes a space or a line break, unless there is one already.
func (w *writer) separate(s string) {
	if written := w.text.String(); written != "" && !strings.HasSuffix(written, "\n") && (s == "\n" || !strings.HasSuffix(written, " ")) {
		w.text.WriteString(s)
	}
}
