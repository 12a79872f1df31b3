package edit

import (
	"bytes"
	"slices"
	"strings"

	"github.com/reins-agent/reins/coding/textfile"
)

// apply makes the replacements and describes them.
func (r *replacer) apply(content []byte, found matches) (Result, error) {
	result := Result{Content: content, Match: found.kind, Encoding: r.file.Encoding()}
	if found.kind == AlreadyApplied {
		result.Changes = []Change{r.presence(found.spans[0])}
		return result, nil
	}
	plan := r.plan(found)
	out, spans, err := r.file.Splice(r.file.GuardBreaks(plan.edits))
	if err != nil {
		return Result{}, &Error{Kind: Unencodable, Err: err}
	}
	if bytes.Equal(out, content) {
		result.Match = AlreadyApplied
		result.Changes = []Change{r.presence(found.spans[0])}
		return result, nil
	}
	result.Content = out
	result.Replacements = len(found.spans)
	result.Changes = plan.changes(spans)
	result.Reindented = plan.reindented
	if found.kind != Exact {
		result.Differences = r.differences(found.spans[0])
	}
	return result, nil
}

// presence describes a place that is left as it is.
func (r *replacer) presence(s span) Change {
	back := r.view.Mapper()
	start := back.Offset(s.start)
	end := back.Offset(s.end)
	var c Change
	c.OldStart, c.OldEnd = r.file.SourceSpan(start, end)
	c.NewStart, c.NewEnd = c.OldStart, c.OldEnd
	c.FirstLine = r.lineOf(s.start)
	c.LastLine = c.FirstLine + innerBreaks(r.view.Text[s.start:s.end])
	return c
}

// innerBreaks counts the line breaks of text except one at its end.
func innerBreaks(text []byte) int {
	return bytes.Count(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
}

// plan turns places into the smallest edits of whole lines.
func (r *replacer) plan(found matches) *plan {
	p := &plan{text: r.file.Text()}
	common := diffLines(r.old, r.new)
	endings := r.file.Endings()
	back := r.view.Mapper()
	for _, s := range found.spans {
		piece := r.view.Text[s.start:s.end]
		d := common
		if found.kind == Whitespace || found.kind == LookalikeLines {
			d = r.adapt(d, piece, p)
		}
		from, to, insert := d.edit(piece)
		from, to = s.start+from, s.start+to
		p.countLines(r.view.Text, from, to, insert)
		start := back.Offset(from)
		end := back.Offset(to)
		p.add(textfile.Edit{
			Start: start,
			End:   end,
			Text:  withEndings(insert, p.text[start:end], endings),
		})
	}
	p.flush()
	return p
}

// adapt fits the lines of the edit to whole lines that matched loosely.
func (r *replacer) adapt(d lineDiff, piece []byte, p *plan) lineDiff {
	if strings.HasSuffix(r.old, "\n") && !bytes.HasSuffix(piece, []byte("\n")) {
		// The last line of the file matched a line with a break; the missing
		// break stays missing.
		d = diffLines(strings.TrimSuffix(r.old, "\n"), strings.TrimSuffix(r.new, "\n"))
	}
	if shift := indentation(d.old, strings.Split(string(piece), "\n")); shift != nil {
		lines := shift.translate(d.insert)
		p.reindented = p.reindented || !slices.Equal(lines, d.insert)
		d.insert = lines
	}
	return d
}

// differences shows the lines of a loosely matched place that are not equal to
// those of the old text.
func (r *replacer) differences(s span) []Difference {
	const most = 3
	var out []Difference
	first := r.lineOf(s.start)
	file := strings.Split(string(r.view.Text[s.start:s.end]), "\n")
	for i, old := range strings.Split(r.old, "\n") {
		if i >= len(file) || len(out) == most {
			break
		}
		if old != file[i] {
			out = append(out, Difference{
				Line: first + i,
				Old:  textfile.Visible(old),
				File: textfile.Visible(file[i]),
			})
		}
	}
	return out
}
