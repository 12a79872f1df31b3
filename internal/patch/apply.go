package patch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/reins-agent/reins/internal/textfile"
)

// apply returns a file's content with the hunks applied, and notes about their places.
func apply(path string, content []byte, hunks []hunk) ([]byte, []string, error) {
	file, err := textfile.Decode(content)
	if err != nil {
		return nil, nil, &Error{Kind: Undecodable, Err: err}
	}
	text := file.Text()
	u := updater{
		source: source{text: text, lines: textfile.Lines(text)},
		path:   path, file: file, ending: string(file.Endings().First),
	}
	for i, h := range hunks {
		if err := u.place(h, i+1); err != nil {
			return nil, nil, err
		}
	}
	out, err := file.Splice(file.GuardBreaks(u.finish()))
	if err != nil {
		return nil, nil, &Error{Kind: Unencodable, Err: err}
	}
	return out, u.notes, nil
}

// An updater applies the hunks of one file.
type updater struct {
	source
	path   string
	file   *textfile.File
	ending string // of added lines
	next   int    // the first line after the hunks and hints so far
	edits  []textfile.Edit
	notes  []string
}

// place finds a hunk's place and records its edits.
func (u *updater) place(h hunk, number int) error {
	old := h.old()
	start := u.next
	hint, err := u.follow(h, number)
	if err != nil {
		return err
	}
	if len(old) == 0 {
		u.record(h, len(u.lines))
		return nil
	}
	seek := u.seek
	if h.endOfFile {
		seek = u.seekEnd
	}
	at, how, ok := seek(old, u.next)
	if !ok && hint >= start && hint < u.next {
		// The hint may be the hunk's own first line.
		at, how, ok = seek(old, hint)
	}
	if !ok && old[len(old)-1] == "" {
		h = h.withoutLastBlank()
		if old = h.old(); len(old) > 0 {
			at, how, ok = seek(old, u.next)
		} else {
			at = u.next
			how = exact
			ok = true
		}
	}
	if !ok {
		return u.missing(h, old, number)
	}
	if start == 0 && !h.endOfFile && len(old) > 0 {
		if others := u.others(h, old, how, at); len(others) > 0 {
			u.note(
				"%s, hunk %d matched several places; it was applied at line %d, the first, and would also fit at line %s. "+
					"Check that this is the right place.",
				u.path,
				number,
				at+1,
				strings.Join(others, ", "),
			)
		}
	}
	if ignored := how.ignored(); ignored != "" {
		u.note("%s, hunk %d matched at line %d only with %s ignored.", u.path, number, at+1, ignored)
	}
	u.record(h, at)
	u.next = at + len(old)
	return nil
}

func (u *updater) note(format string, args ...any) {
	u.notes = append(u.notes, fmt.Sprintf(format, args...))
}

// follow moves past the hunk's hints and returns the last hint's line, or -1.
func (u *updater) follow(h hunk, number int) (int, error) {
	last := -1
	for _, hint := range h.hints {
		at, _, ok := u.seek([]string{hint}, u.next)
		if !ok {
			return 0, u.notFound(&Error{Kind: HintNotFound, PatchLine: h.line, hunk: number, hint: hint}, []string{hint})
		}
		last = at
		u.next = at + 1
	}
	return last, nil
}

// others returns the lines, from 1, of other places where the hunk fits equally well. It returns none if a hint that
// occurs only once determined the place.
func (u *updater) others(h hunk, old []string, how match, at int) []string {
	if len(h.hints) > 0 {
		_, how, ok := u.seek(h.hints[:1], 0)
		if !ok || len(u.places(h.hints[:1], how)) < 2 {
			return nil
		}
	}
	var out []string
	for _, place := range u.places(old, how) {
		if place != at {
			out = append(out, fmt.Sprint(place+1))
		}
	}
	return out
}

// missing returns the error for a hunk that fits nowhere.
func (u *updater) missing(h hunk, old []string, number int) error {
	return u.notFound(&Error{Kind: LinesNotFound, PatchLine: h.line, hunk: number, endOfFile: h.endOfFile}, old)
}

// notFound adds the place where the wanted lines, or similar lines, are to an error.
func (u *updater) notFound(err *Error, wanted []string) error {
	if at, _, ok := u.seek(wanted, 0); ok {
		err.elsewhere = at + 1
	} else {
		err.nearest = textfile.FindNearest(u.file.View().Text, wanted)
	}
	return err
}

// record turns a hunk at a line into edits, one per run of changed lines.
func (u *updater) record(h hunk, at int) {
	start, changed := at, false
	var added strings.Builder
	flush := func() {
		if changed {
			u.edits = append(u.edits, textfile.Edit{Start: u.offset(start), End: u.offset(at), Text: added.String()})
		}
		changed = false
		added.Reset()
	}
	for _, line := range h.lines {
		switch line.op {
		case keep:
			flush()
			at++
			start = at
		case remove:
			at++
			changed = true
		case insert:
			added.WriteString(line.text)
			added.WriteString(u.ending)
			changed = true
		}
	}
	flush()
}

// offset returns where a line starts, or the text's length.
func (u *updater) offset(line int) int {
	if line < len(u.lines) {
		return u.lines[line].Start
	}
	return len(u.text)
}

// finish returns the edits in order, and adds a missing final line ending.
func (u *updater) finish() []textfile.Edit {
	slices.SortStableFunc(u.edits, func(a, b textfile.Edit) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
	})
	end := len(u.text)
	n := len(u.lines)
	if n == 0 || u.lines[n-1].End < u.lines[n-1].Next {
		return u.edits
	}
	for i, e := range u.edits {
		switch {
		case e.End == end && e.Start < end:
			return u.edits
		case e.Start == end:
			u.edits[i].Text = u.ending + e.Text
			return u.edits
		}
	}
	return append(u.edits, textfile.Edit{Start: end, End: end, Text: u.ending})
}
