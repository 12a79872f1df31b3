package patch

import (
	"fmt"
	"strings"
)

// A Placement says where a hunk went.
type Placement struct {
	Hunk      int   // of the update, from 1
	PatchLine int   // of the patch, from 1
	Line      int   // the first line it matched in the file as it was, from 1
	Count     int   // how many lines it matched
	Match     Match // how loosely
	AtEnd     bool  // it had no lines to match and was added at the end
	// Others are up to nine more lines where the hunk fitted equally well,
	// when only the order of the file decided.
	Others []int
}

// notes returns what the author of the patch should know about the placement.
func (p Placement) notes(path string) []string {
	var notes []string
	where := fmt.Sprintf("%s, hunk %d", path, p.Hunk)
	if len(p.Others) > 0 {
		lines := make([]string, len(p.Others))
		for i, line := range p.Others {
			lines[i] = fmt.Sprint(line)
		}
		notes = append(notes, fmt.Sprintf("%s fitted several places equally well; it was applied at line %d, the first, and would also fit at line %s. Check that this is the place meant.",
			where, p.Line, strings.Join(lines, ", ")))
	}
	if how := p.Match.ignored(); how != "" {
		notes = append(notes, fmt.Sprintf("%s matched at line %d only when %s was ignored.", where, p.Line, how))
	}
	return notes
}

// ignored names what a comparison does not look at.
func (m Match) ignored() string {
	switch m {
	case TrailingSpace:
		return "white space at the end of lines"
	case Whitespace:
		return "white space around lines"
	case Lookalike:
		return "the difference between look-alike characters (quotes, dashes, spaces)"
	}
	return ""
}

// withoutLastBlank returns the hunk without its last expected line, which is
// empty: models end hunks with a line that the file does not have. An empty
// last new line goes with it.
func (h Hunk) withoutLastBlank() Hunk {
	last := len(h.Lines) - 1
	for h.Lines[last].Op == Insert {
		last--
	}
	lines := make([]HunkLine, 0, len(h.Lines))
	lines = append(lines, h.Lines[:last]...)
	rest := h.Lines[last+1:]
	if h.Lines[last].Op == Keep && len(rest) > 0 {
		lines = append(lines, HunkLine{Op: Insert})
	}
	lines = append(lines, rest...)
	if n := len(lines); len(rest) > 0 && lines[n-1].Op == Insert && lines[n-1].Text == "" {
		lines = lines[:n-1]
	}
	h.Lines = lines
	return h
}
