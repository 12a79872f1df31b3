// Package edit replaces a piece of text in a file. It implements the edit_file tool over bytes; the
// caller reads and writes the file.
//
// # Finding the place
//
// The old text is compared with the file as models see it: decoded, without byte order mark, with LF
// line endings. [Replace] looks, in order, for
//
//  1. the exact text,
//  2. whole lines that differ only in white space: indentation, trailing spaces, and the length of runs
//     of white space inside the line,
//  3. text that differs only in look-alikes: typographic quotes, dashes and spaces, full-width forms,
//     composed accents,
//  4. whole lines that differ in both.
//
// Unless all occurrences are to be replaced, a step must find exactly one place; a second one is an error. Looser
// matches, such as text with a typo, are never tried. The result reports every match that is not exact. If the old text
// is absent and the new text is present, the content is unchanged and the result is [AlreadyApplied].
//
// # Writing
//
// Lines that old and new text share at their start and end are left alone, so context keeps its line endings, spaces
// and quotes. The rest is written as given, with two exceptions. A line gets the same ending as the line it replaces,
// or else the file's most common ending. After a match that differs in indentation, the new lines are reindented the
// same way. Every other byte in the file is unchanged.
package edit

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/reins-agent/reins/internal/textfile"
)

// A Match is how the old text was found. The values are stable.
type Match string

// The matches, in the order they are tried.
const (
	Exact          Match = "exact"
	Whitespace     Match = "whitespace"           // whole lines, ignoring white space
	Lookalike      Match = "lookalike"            // ignoring quotes, dashes, spaces and other look-alikes
	LookalikeLines Match = "lookalike_whitespace" // whole lines, ignoring both
	AlreadyApplied Match = "already_applied"      // the old text is absent and the new text present
)

// maxChanges is the maximum number of changes listed in a Result.
const maxChanges = 100

// A Result is a successful replacement.
type Result struct {
	Content      []byte // the file's new bytes, or its old bytes if nothing was replaced
	Match        Match
	Replacements int // 0 for AlreadyApplied
	// Changes lists the first 100 replaced places in order. For AlreadyApplied it is where the new text is.
	Changes []Change

	differences []difference // if the match is not exact
	reindented  bool
}

// A Change is the lines of one replaced place in the new content, counted from 1.
type Change struct{ FirstLine, LastLine int }

// A difference is a file line that matched a line in the old text without being equal to it. Invisible characters are
// escaped.
type difference struct {
	line      int // in the old content, counted from 1
	old, file string
}

// Note explains a match that is not exact to the model. It returns "" for an exact match.
func (r Result) Note() string {
	var what string
	switch r.Match {
	case AlreadyApplied:
		return fmt.Sprintf(
			"Nothing was changed: old_string is not in the file, and new_string already is, at line %d.",
			r.Changes[0].FirstLine,
		)
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
	fmt.Fprintf(&note, "old_string did not match exactly; the replaced text differs from it only in %s.", what)
	for _, d := range r.differences {
		fmt.Fprintf(&note, "\nline %d: file has %q, old_string has %q", d.line, d.file, d.old)
	}
	if r.reindented {
		note.WriteString("\nThe new lines were indented like the lines they replace.")
	}
	return note.String()
}

// Replace replaces old with new in a file's content: the only occurrence, or all of them if all is set.
// Line endings in old and new do not matter. An empty old text is valid only for an empty file, which
// new then fills. The error is an [*Error]. content is never modified.
func Replace(content []byte, old, new string, all bool) (Result, error) {
	if textfile.ToLF(old) == textfile.ToLF(new) {
		return Result{}, &Error{Kind: NoChange}
	}
	file, err := textfile.Decode(content)
	if err != nil {
		return Result{}, &Error{Kind: Undecodable, err: err}
	}
	if len(file.BOM()) > 0 {
		// A model may include the mark, which is not part of the text.
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

// fill writes text into an empty file, which has no line endings to follow.
func fill(file *textfile.File, text string) (Result, error) {
	if len(file.Text()) > 0 {
		return Result{}, &Error{Kind: EmptyOld}
	}
	out, err := file.Splice([]textfile.Edit{{Text: text}})
	if err != nil {
		return Result{}, &Error{Kind: Unencodable, err: err}
	}
	last := 1 + innerBreaks([]byte(textfile.ToLF(text)))
	return Result{Content: out, Match: Exact, Replacements: 1, Changes: []Change{{1, last}}}, nil
}

// A replacer holds the arguments of one Replace.
type replacer struct {
	file     *textfile.File
	view     textfile.View
	old, new string // with LF endings
	all      bool
}

// A span is a piece of the view.
type span struct{ start, end int }

func (s span) overlaps(t span) bool { return s.start < t.end && t.start < s.end }

// matches are the places to replace, in order.
type matches struct {
	kind  Match
	spans []span
}

// lineOf returns the line number, from 1, for an offset in the view.
func (r *replacer) lineOf(offset int) int {
	return 1 + bytes.Count(r.view.Text[:offset], []byte("\n"))
}
