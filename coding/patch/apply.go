package patch

import (
	"cmp"
	"slices"
	"strings"

	"github.com/reins-agent/reins/coding/textfile"
)

// apply returns the content with the hunks applied and where they went.
func apply(content []byte, hunks []Hunk) ([]byte, []Placement, error) {
	file, err := textfile.Decode(content)
	if err != nil {
		return nil, nil, &Error{Kind: Undecodable, Err: err}
	}
	text := file.Text()
	u := updater{
		source: source{text: text, lines: textfile.Lines(text)},
		file:   file,
		ending: string(file.Endings().First),
	}
	for i, hunk := range hunks {
		if err := u.place(hunk, i+1); err != nil {
			return nil, nil, err
		}
	}
	out, _, err := file.Splice(file.GuardBreaks(u.finish()))
	if err != nil {
		return nil, nil, &Error{Kind: Unencodable, Err: err}
	}
	return out, u.placements, nil
}

// An updater applies the hunks of one file.
type updater struct {
	source
	file       *textfile.File
	ending     string // of added lines
	next       int    // the first line below the hunks and hints so far
	edits      []textfile.Edit
	placements []Placement
}

// place finds the place of a hunk and records its edits.
func (u *updater) place(h Hunk, number int) error {
	old := h.old()
	if len(old) == 0 {
		return u.append(h, number)
	}
	start := u.next
	hint, err := u.follow(h, number)
	if err != nil {
		return err
	}
	seek := u.seek
	if h.EndOfFile {
		seek = u.seekEnd
	}
	at, match, ok := seek(old, u.next)
	if !ok && hint >= start && hint < u.next {
		// The hint may be the first line of the hunk itself.
		at, match, ok = seek(old, hint)
	}
	if !ok && old[len(old)-1] == "" {
		h = h.withoutLastBlank()
		if old = h.old(); len(old) > 0 {
			at, match, ok = seek(old, u.next)
		} else {
			at, match, ok = u.next, Exact, true
		}
	}
	if !ok {
		return u.missing(h, old, number)
	}
	placed := Placement{Hunk: number, PatchLine: h.Line, Line: at + 1, Count: len(old), Match: match}
	if start == 0 && !h.EndOfFile && len(old) > 0 {
		placed.Others = u.others(h, old, match, at)
	}
	u.placements = append(u.placements, placed)
	u.record(h, at)
	u.next = at + len(old)
	return nil
}

// follow moves below the hunk's hints and returns the line of the last one,
// or -1.
func (u *updater) follow(h Hunk, number int) (int, error) {
	last := -1
	for _, hint := range h.Hints {
		at, _, ok := u.seek([]string{hint}, u.next)
		if !ok {
			err := &Error{Kind: HintNotFound, PatchLine: h.Line, Hunk: number, Hint: hint}
			if at, _, ok := u.seek([]string{hint}, 0); ok {
				err.Elsewhere = at + 1
			} else {
				err.Nearest = textfile.FindNearest(u.file.View().Text, []string{hint})
			}
			return 0, err
		}
		last = at
		u.next = at + 1
	}
	return last, nil
}

// others returns the lines, from 1, of further places where the hunk fits as
// well as at the one taken, when nothing but the order decided. A hint that
// occurs more than once has not decided either.
func (u *updater) others(h Hunk, old []string, match Match, at int) []int {
	if len(h.Hints) > 0 {
		_, how, ok := u.seek(h.Hints[:1], 0)
		if !ok || len(u.places(h.Hints[:1], how)) < 2 {
			return nil
		}
	}
	var out []int
	for _, place := range u.places(old, match) {
		if place != at {
			out = append(out, place+1)
		}
	}
	return out
}

// missing builds the error for a hunk that has no place.
func (u *updater) missing(h Hunk, old []string, number int) error {
	err := &Error{Kind: LinesNotFound, PatchLine: h.Line, Hunk: number, EndOfFile: h.EndOfFile}
	if at, _, ok := u.seek(old, 0); ok {
		err.Elsewhere = at + 1
	} else {
		err.Nearest = textfile.FindNearest(u.file.View().Text, old)
	}
	return err
}

// append adds the lines of a hunk without context at the end of the file.
func (u *updater) append(h Hunk, number int) error {
	if _, err := u.follow(h, number); err != nil {
		return err
	}
	end := len(u.lines)
	u.placements = append(u.placements, Placement{Hunk: number, PatchLine: h.Line, Line: end + 1, Match: Exact, AtEnd: true})
	u.record(h, end)
	return nil
}

// record turns a hunk at a line into edits, one per run of changed lines.
func (u *updater) record(h Hunk, at int) {
	start, changed := at, false
	var added strings.Builder
	flush := func() {
		if changed {
			u.edits = append(u.edits, textfile.Edit{Start: u.offset(start), End: u.offset(at), Text: added.String()})
		}
		changed = false
		added.Reset()
	}
	for _, line := range h.Lines {
		switch line.Op {
		case Keep:
			flush()
			at++
			start = at
		case Remove:
			at++
			changed = true
		case Insert:
			added.WriteString(line.Text)
			added.WriteString(u.ending)
			changed = true
		}
	}
	flush()
}

// offset returns where a line starts; behind the last line, where the text
// ends.
func (u *updater) offset(line int) int {
	if line < len(u.lines) {
		return u.lines[line].Start
	}
	return len(u.text)
}

// finish returns the edits in order, with a line ending for a last line that
// had none.
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
