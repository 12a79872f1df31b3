package edit

import (
	"bytes"
	"strings"

	"github.com/reins-agent/reins/internal/textfile"
)

// mergeGap is the distance below which places become one edit once more than maxChanges are known. It
// keeps the cost of very many places proportional to the file.
const mergeGap = 64

// A plan is the edits for all places and the lines of the first ones.
type plan struct {
	text       []byte // file text
	edits      []textfile.Edit
	lines      []int // where the first edits start in the new text, from 1
	reindented bool

	merged  strings.Builder // last edit's text while others join it
	line    int             // view line at offset counted, from 0
	counted int
	shift   int // line breaks added so far, less those removed
}

// add appends an edit or merges it with the previous one.
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

// flush completes a merged edit.
func (p *plan) flush() {
	if p.merged.Len() > 0 {
		p.edits[len(p.edits)-1].Text = p.merged.String()
		p.merged.Reset()
	}
}

// countLines records the line of an edit that replaces [from, to) in the view.
func (p *plan) countLines(view []byte, from, to int, insert string) {
	if len(p.lines) == maxChanges {
		return
	}
	p.line += bytes.Count(view[p.counted:from], []byte("\n"))
	p.counted = from
	p.lines = append(p.lines, p.line+p.shift+1)
	p.shift += strings.Count(insert, "\n") - bytes.Count(view[from:to], []byte("\n"))
}

// changes returns the lines of the first edits.
func (p *plan) changes() []Change {
	out := make([]Change, len(p.lines))
	for i, line := range p.lines {
		out[i] = Change{line, line + innerBreaks([]byte(textfile.ToLF(p.edits[i].Text)))}
	}
	return out
}
