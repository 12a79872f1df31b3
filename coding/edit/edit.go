// Package edit replaces a piece of text in a file by another, the operation
// behind the edit_file tool. It works on bytes; the caller reads and writes.
//
// # Finding the place
//
// The old text is compared with the file in the form models see it: decoded,
// without byte order mark, every line ending as LF. [Replace] tries, in order,
//
//  1. the exact text,
//  2. whole lines that differ only in white space: indentation, spaces at the
//     end, and the length of runs of white space inside the line,
//  3. text that differs only in look-alikes: typographic quotes, dashes and
//     spaces, full-width forms, composed accents,
//  4. whole lines that differ in both.
//
// Unless all occurrences are asked for, a step must find exactly one place; a
// second one is an error, never a guess. Nothing looser is tried: text with a
// typing error, or a block of which only the first and last lines agree, is
// not found. A match other than an exact one is always reported in the result.
// When the old text is absent and the new text is there already, the result
// says so and the content is unchanged.
//
// # Writing
//
// Lines at the start and end of the replaced piece that old and new text have
// in common are left alone, so context keeps its own line endings, spaces and
// quotes. What remains is written as given, with these two exceptions: a line
// ending is that of the line it stands in for, or else the one most lines of
// the file have; and after a match that differs in indentation, the new lines'
// indentation is translated in the same way as that of the matched lines.
// Every other byte of the file stays as it is, in every encoding that package
// textfile knows.
package edit

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/reins-agent/reins/coding/textfile"
)

// A Match says how the old text was found. The values are stable.
type Match string

const (
	// Exact means the old text occurs in the file as given.
	Exact Match = "exact"
	// Whitespace means whole lines matched except for white space.
	Whitespace Match = "whitespace"
	// Lookalike means quotes, dashes, spaces or other look-alikes differed.
	Lookalike Match = "lookalike"
	// LookalikeLines means whole lines matched except for white space and
	// look-alikes.
	LookalikeLines Match = "lookalike_whitespace"
	// AlreadyApplied means the old text is absent and the new text present;
	// nothing was replaced.
	AlreadyApplied Match = "already_applied"
)

// maxChanges bounds the changes listed in a Result.
const maxChanges = 100

// A Result is a successful replacement.
type Result struct {
	// Content is the file's new bytes; the old ones when nothing was replaced.
	Content []byte
	// Match is how the old text was found.
	Match Match
	// Replacements is the number of places replaced, 0 for AlreadyApplied.
	Replacements int
	// Changes lists the first 100 places in order. For AlreadyApplied it holds
	// the place where the new text is.
	Changes []Change
	// Differences shows how matched lines differ from the old text, at most
	// three of them. It is empty for an exact match.
	Differences []Difference
	// Reindented is whether the indentation of new lines was translated.
	Reindented bool
	// Encoding is the encoding of the file.
	Encoding textfile.Encoding
}

// A Change is one replaced place: the bytes before and after, and the lines,
// counted from 1, that it occupies in the new content.
type Change struct {
	textfile.Span
	FirstLine, LastLine int
}

// A Difference is a line of the file that matched a line of the old text
// without being equal to it. Both are shown with invisible characters escaped.
type Difference struct {
	Line int // in the file as it was, counted from 1
	Old  string
	File string
}

// Note describes a result that is not an ordinary exact replacement in a few
// plain sentences for the model; it is empty for an exact match.
func (r Result) Note() string {
	var what string
	switch r.Match {
	case AlreadyApplied:
		line := 0
		if len(r.Changes) > 0 {
			line = r.Changes[0].FirstLine
		}
		return fmt.Sprintf("Nothing was changed: old_string is not in the file and new_string already is, at line %d.", line)
	case Whitespace:
		what = "white space"
	case Lookalike:
		what = "look-alike characters (quotes, dashes, spaces)"
	case LookalikeLines:
		what = "white space and look-alike characters (quotes, dashes, spaces)"
	default:
		return ""
	}
	var note strings.Builder
	fmt.Fprintf(&note, "old_string did not match exactly; the text replaced differs from it only in %s.", what)
	for _, d := range r.Differences {
		fmt.Fprintf(&note, "\nline %d: file has %q, old_string has %q", d.Line, d.File, d.Old)
	}
	if r.Reindented {
		note.WriteString("\nThe new lines were indented like the lines they replace.")
	}
	return note.String()
}

// Replace replaces old by new in a file's content: the only occurrence, or
// every one when all is set. Line endings in old and new do not matter. An
// empty old text is allowed only for an empty file, which new then fills.
// The error is an [*Error]; content is never modified.
func Replace(content []byte, old, new string, all bool) (Result, error) {
	if textfile.ToLF(old) == textfile.ToLF(new) {
		return Result{}, &Error{Kind: NoChange}
	}
	file, err := textfile.Decode(content)
	if err != nil {
		return Result{}, &Error{Kind: Undecodable, Err: err}
	}
	if file.HasBOM() {
		// A model that saw the mark may quote it; it is not part of the text.
		old, new = strings.TrimPrefix(old, "\ufeff"), strings.TrimPrefix(new, "\ufeff")
	}
	if old == "" {
		return fill(file, new)
	}
	r := replacer{
		file: file,
		view: file.View(),
		old:  textfile.ToLF(old),
		new:  textfile.ToLF(new),
		all:  all,
	}
	found, err := r.locate()
	if err != nil {
		return Result{}, err
	}
	return r.apply(content, found)
}

// fill writes text into an empty file as it is: there are no line endings to
// follow.
func fill(file *textfile.File, text string) (Result, error) {
	if len(file.Text()) > 0 {
		return Result{}, &Error{Kind: EmptyOld}
	}
	out, spans, err := file.Splice([]textfile.Edit{{Text: text}})
	if err != nil {
		return Result{}, &Error{Kind: Unencodable, Err: err}
	}
	last := 1 + strings.Count(strings.TrimSuffix(textfile.ToLF(text), "\n"), "\n")
	return Result{
		Content:      out,
		Match:        Exact,
		Replacements: 1,
		Changes:      []Change{{Span: spans[0], FirstLine: 1, LastLine: last}},
		Encoding:     file.Encoding(),
	}, nil
}

// A replacer holds one call of Replace.
type replacer struct {
	file     *textfile.File
	view     textfile.View
	old, new string // with LF endings
	all      bool
}

// A span is a piece of the view.
type span struct{ start, end int }

func (s span) overlaps(t span) bool { return s.start < t.end && t.start < s.end }

// matches are the places to replace, in order, and how they were found.
type matches struct {
	kind  Match
	spans []span
}

// lineOf returns the line number, from 1, of an offset of the view.
func (r *replacer) lineOf(offset int) int {
	return 1 + bytes.Count(r.view.Text[:offset], []byte("\n"))
}
