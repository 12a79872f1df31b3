package patch

import (
	"fmt"
	"strings"

	"github.com/reins-agent/reins/internal/textfile"
)

// A Kind is why a patch cannot be applied. The values are stable.
type Kind string

// The kinds of errors.
const (
	Empty         Kind = "empty_patch"     // the patch has no operations
	FileNotFound  Kind = "file_not_found"  // a file to update or delete does not exist
	Unreadable    Kind = "unreadable"      // a file cannot be read
	HintNotFound  Kind = "hint_not_found"  // the file does not contain the text after @@
	LinesNotFound Kind = "lines_not_found" // context and removed lines are not in the file
	Undecodable   Kind = "undecodable"     // a file is not text in a known encoding
	Unencodable   Kind = "unencodable"     // the file's encoding cannot represent added lines
)

// An Error is why and where a patch cannot be applied.
type Error struct {
	Kind      Kind
	Path      string // as the patch writes it
	PatchLine int    // patch line, from 1
	Err       error  // the cause, for Unreadable, Undecodable and Unencodable

	hunk int    // hunk number, from 1
	hint string // text after @@
	// elsewhere is the file line, from 1, that has the text but comes before an earlier hunk or hint, or is not last in
	// the file as required. It is 0 if the file does not contain the text.
	elsewhere int
	endOfFile bool              // the hunk must end the file
	nearest   *textfile.Nearest // the most similar place, or nil
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func (e *Error) Error() string {
	switch e.Kind {
	case Empty:
		return "the patch contains no operations; add, delete or update at least one file"
	case FileNotFound:
		return fmt.Sprintf("%s (patch line %d) does not exist, so it cannot be updated or deleted; check the path", e.Path, e.PatchLine)
	case HintNotFound, LinesNotFound:
		return e.notFound()
	case Unreadable:
		return fmt.Sprintf("%s (patch line %d) cannot be patched: %v", e.Path, e.PatchLine, e.Err)
	}
	return fmt.Sprintf("%s (patch line %d): %v", e.Path, e.PatchLine, e.Err)
}

func (e *Error) notFound() string {
	var msg strings.Builder
	what := "the context and removed lines are"
	if e.Kind == HintNotFound {
		what = fmt.Sprintf("the line %q after @@ is", e.hint)
	}
	fmt.Fprintf(&msg, "%s, hunk %d (patch line %d): %s not in the file", e.Path, e.hunk, e.PatchLine, what)
	switch n := e.nearest; {
	case e.elsewhere > 0 && e.endOfFile:
		fmt.Fprintf(&msg, " at its end, only at line %d; leave out %q, or add the lines that follow", e.elsewhere, eofMarker)
	case e.elsewhere > 0:
		fmt.Fprintf(&msg, " after the previous hunk or hint, only at line %d; put the hunks in the order of the file", e.elsewhere)
	case n == nil:
		msg.WriteString("; read the file again and copy the lines exactly")
	default:
		fmt.Fprintf(
			&msg,
			"; the most similar place first differs at line %d:\n  patch: %s\n  file:  %s\nread the file again and copy the lines exactly",
			n.Line,
			n.Wanted,
			n.Found,
		)
	}
	return msg.String()
}
