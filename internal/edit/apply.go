package edit

import (
	"bytes"
	"slices"
	"strings"

	"github.com/reins-agent/reins/internal/textfile"
)

// apply makes the replacements and describes them.
func (r *replacer) apply(content []byte, found matches) (Result, error) {
	if found.kind == AlreadyApplied {
		return r.unchanged(content, found), nil
	}
	plan := r.plan(found)
	out, err := r.file.Splice(r.file.GuardBreaks(plan.edits))
	if err != nil {
		return Result{}, &Error{Kind: Unencodable, err: err}
	}
	if bytes.Equal(out, content) {
		return r.unchanged(content, found), nil
	}
	result := Result{
		Content:      out,
		Match:        found.kind,
		Replacements: len(found.spans),
		Changes:      plan.changes(),
		reindented:   plan.reindented,
	}
	if found.kind != Exact {
		result.differences = r.differences(found.spans[0])
	}
	return result, nil
}

// unchanged returns the result for new text that the file already contains.
func (r *replacer) unchanged(content []byte, found matches) Result {
	s := found.spans[0]
	first := r.lineOf(s.start)
	return Result{Content: content, Match: AlreadyApplied, Changes: []Change{{first, first + innerBreaks(r.view.Text[s.start:s.end])}}}
}

// innerBreaks counts the line breaks of text, ignoring a final one.
func innerBreaks(text []byte) int {
	return bytes.Count(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
}

// plan returns the smallest edits for the matched places.
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
		start, end := back.Offset(from), back.Offset(to)
		p.add(textfile.Edit{Start: start, End: end, Text: withEndings(insert, p.text[start:end], endings)})
	}
	p.flush()
	return p
}

// adapt fits the new lines to lines that did not match exactly.
func (r *replacer) adapt(d lineDiff, piece []byte, p *plan) lineDiff {
	if strings.HasSuffix(r.old, "\n") && !bytes.HasSuffix(piece, []byte("\n")) {
		// The file's last line has no line break and does not get one.
		d = diffLines(strings.TrimSuffix(r.old, "\n"), strings.TrimSuffix(r.new, "\n"))
	}
	if shift := indentation(d.old, strings.Split(string(piece), "\n")); shift != nil {
		lines := shift.translate(d.insert)
		p.reindented = p.reindented || !slices.Equal(lines, d.insert)
		d.insert = lines
	}
	return d
}

// differences returns the first lines in a place that are not equal to the old text.
func (r *replacer) differences(s span) []difference {
	const maximum = 3
	var out []difference
	first := r.lineOf(s.start)
	file := strings.Split(string(r.view.Text[s.start:s.end]), "\n")
	for i, old := range strings.Split(r.old, "\n") {
		if i >= len(file) || len(out) == maximum {
			break
		}
		if old != file[i] {
			out = append(out, difference{first + i, textfile.Visible(old), textfile.Visible(file[i])})
		}
	}
	return out
}
