package edit

import (
	"fmt"
	"strings"

	"github.com/reins-agent/reins/internal/lazy"
	"github.com/reins-agent/reins/internal/textfile"
)

// A Kind is why a replacement was refused. The values are stable.
type Kind string

// The kinds of errors.
const (
	NotFound    Kind = "not_found"   // the old text is not in the file
	NotUnique   Kind = "not_unique"  // the old text occurs more than once
	NoChange    Kind = "no_change"   // the old and new text are the same
	EmptyOld    Kind = "empty_old"   // the old text is empty and the file is not
	Undecodable Kind = "undecodable" // the file is not text in a known encoding
	Unencodable Kind = "unencodable" // the file's encoding cannot represent the new text
)

// An Error is why nothing was replaced.
type Error struct {
	Kind Kind
	// For NotUnique: the number of places, and the first lines of up to 20 of them.
	Count int
	Lines []int

	match   Match             // the comparison that found several places
	nearest *textfile.Nearest // the most similar place, or nil
	hint    string            // what may have gone wrong, or ""
	err     error             // the cause, for Undecodable and Unencodable
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.err }

func (e *Error) Error() string {
	switch e.Kind {
	case NotUnique:
		return e.notUnique()
	case NoChange:
		return "old_string and new_string are the same, so there is nothing to change"
	case EmptyOld:
		return "old_string is empty but the file is not; pass the text to replace, or write the whole file"
	case NotFound:
		return e.notFound()
	}
	return e.err.Error()
}

func (e *Error) notUnique() string {
	how := ""
	if e.match != Exact {
		how = " when white space and look-alike characters are ignored"
	}
	lines := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(e.Lines)), ", "), "[]")
	if e.Count > len(e.Lines) {
		lines += ", …"
	}
	return fmt.Sprintf(
		"old_string matches %d places%s (lines %s); add surrounding lines to make it unique, or replace every occurrence",
		e.Count, how, lines,
	)
}

func (e *Error) notFound() string {
	what := ", and no line resembles it; "
	if n := e.nearest; n != nil {
		what = fmt.Sprintf(
			"; the most similar place first differs at line %d of the file (line %d of old_string):\n  old_string: %s\n  file:       %s\n",
			n.Line, n.WantedLine, n.Wanted, n.Found,
		)
	}
	hint := "read the file again and copy the text exactly"
	if e.hint != "" {
		hint = e.hint
	}
	return "old_string was not found in the file" + what + hint
}

// missing returns the error for text that is not in the file.
func (r *replacer) missing() *Error {
	lines := strings.Split(strings.TrimSuffix(r.old, "\n"), "\n")
	return &Error{Kind: NotFound, nearest: textfile.FindNearest(r.view.Text, lines), hint: hint(r.old)}
}

var lineNumbered = lazy.Regexp(`^\s*\d+(\t|→|\||: )`)

// hint returns advice for two common mistakes of models, or "".
func hint(old string) string {
	numbered := true
	for line := range strings.Lines(old) {
		numbered = numbered && lineNumbered().MatchString(line)
	}
	switch {
	case numbered:
		return "old_string seems to contain line numbers; leave them out"
	case !strings.Contains(old, "\n") && strings.Contains(old, `\n`):
		return `old_string contains a backslash followed by n; use a real line break if you meant one`
	}
	return ""
}
