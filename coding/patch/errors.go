package patch

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/reins-agent/reins/coding/textfile"
)

// A Kind classifies why a patch cannot be carried out. The values are stable.
type Kind string

const (
	// Empty means the patch has no operations.
	Empty Kind = "empty_patch"
	// FileNotFound means a file to update or delete is not there.
	FileNotFound Kind = "file_not_found"
	// Unreadable means a file could not be read.
	Unreadable Kind = "unreadable"
	// HintNotFound means the text of an @@ line is not in the file.
	HintNotFound Kind = "hint_not_found"
	// LinesNotFound means a hunk's context and removed lines are not in the
	// file.
	LinesNotFound Kind = "lines_not_found"
	// Undecodable means a file to update is not text in a known encoding.
	Undecodable Kind = "undecodable"
	// Unencodable means a file's encoding cannot represent added lines.
	Unencodable Kind = "unencodable"
)

// An Error reports why a patch cannot be carried out, and where it fails.
type Error struct {
	Kind      Kind
	Path      string // the file, as the patch writes it
	PatchLine int    // the line of the patch, from 1
	Hunk      int    // the hunk of the update, from 1; 0 when it is not about one
	Hint      string // the text of the @@ line, for HintNotFound
	// Elsewhere is the line of the file, from 1, where the text is, but above
	// the place of an earlier hunk or hint, or not at the end of the file where
	// the hunk wants it; 0 when it is nowhere.
	Elsewhere int
	// EndOfFile is whether the hunk must be at the end of the file.
	EndOfFile bool
	// Nearest is the place that resembles the lines most, for LinesNotFound.
	Nearest *textfile.Nearest
	// Err is the cause, for Unreadable, Undecodable and Unencodable.
	Err error
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func (e *Error) Error() string {
	switch e.Kind {
	case Empty:
		return "the patch contains no operations; give at least one file to add, delete or update"
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
		what = fmt.Sprintf("the line %q after @@ is", e.Hint)
	}
	fmt.Fprintf(&msg, "%s, hunk %d (patch line %d): %s not in the file", e.Path, e.Hunk, e.PatchLine, what)
	switch n := e.Nearest; {
	case e.Elsewhere > 0 && e.EndOfFile:
		fmt.Fprintf(&msg, " at its end, only at line %d; leave out %q, or add the lines that follow", e.Elsewhere, eofMarker)
	case e.Elsewhere > 0:
		fmt.Fprintf(&msg, " below the previous hunk or hint, only at line %d; put the hunks in the order of the file", e.Elsewhere)
	case n == nil:
		msg.WriteString("; read the file again and copy the lines exactly")
	default:
		found := n.Found
		if n.Past {
			found = "(end of file)"
		}
		fmt.Fprintf(&msg, "; the nearest place differs first at line %d:\n  patch: %s\n  file:  %s\nread the file again and copy the lines exactly", n.Line, n.Wanted, found)
	}
	return msg.String()
}

func readError(err error) *Error {
	if errors.Is(err, fs.ErrNotExist) {
		return &Error{Kind: FileNotFound, Err: err}
	}
	return &Error{Kind: Unreadable, Err: err}
}
