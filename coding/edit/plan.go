package edit

import (
	"bytes"
	"strings"

	"github.com/reins-agent/reins/coding/textfile"
)

// mergeGap is how close two places must be to become one edit, once there are
// more of them than are listed. It keeps the cost of very many places in
// proportion to the file.
const mergeGap = 64

// A plan is the edits for all places, with the lines that the first ones touch.
type plan struct {
	text       []byte // of the file
	edits      []textfile.Edit
	lines      []int // the line where each edit starts in the new text, from 1
	reindented bool

	merged  strings.Builder // the text of the last edit while others join it
	line    int             // the line of the view at counted, from 0
	counted int
	shift   int // line breaks added so far, less those removed
}

// add appends an edit or joins it to the one before.
func (p *plan) add(e textfile.Edit) {
	last := len(p.edits) - 1
	if last < maxChanges || e.Start-p.edits[last].End > mergeGap {
		p.flush()
		p.edits = append(p.edits, e)
		return
	}
	if p.merged.Len() == 0 {
		p.merged.WriteString(p.edits[last].Text)
	}
	p.merged.Write(p.text[p.edits[last].End:e.Start])
	p.merged.WriteString(e.Text)
	p.edits[last].End = e.End
}

// flush completes the last edit.
func (p *plan) flush() {
	if p.merged.Len() > 0 {
		p.edits[len(p.edits)-1].Text = p.merged.String()
		p.merged.Reset()
	}
}

// countLines notes the line of a place whose part [from, to) of the view is
// about to be replaced.
func (p *plan) countLines(view []byte, from, to int, insert string) {
	if len(p.lines) == maxChanges {
		return
	}
	p.line += bytes.Count(view[p.counted:from], []byte("\n"))
	p.counted = from
	p.lines = append(p.lines, p.line+p.shift+1)
	p.shift += strings.Count(insert, "\n") - bytes.Count(view[from:to], []byte("\n"))
}

// changes describes the first edits by bytes and by lines of the new content.
func (p *plan) changes(spans []textfile.Span) []Change {
	out := make([]Change, len(p.lines))
	for i, line := range p.lines {
		text := textfile.ToLF(p.edits[i].Text)
		out[i] = Change{Span: spans[i], FirstLine: line, LastLine: line + innerBreaks([]byte(text))}
	}
	return out
}
