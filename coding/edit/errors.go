package edit

import (
	"fmt"
	"strings"

	"github.com/reins-agent/reins/coding/textfile"
)

// A Kind classifies why a replacement was refused. The values are stable.
type Kind string

const (
	// NotFound means the old text is not in the file.
	NotFound Kind = "not_found"
	// NotUnique means the old text occurs more than once.
	NotUnique Kind = "not_unique"
	// NoChange means the old and new text are the same.
	NoChange Kind = "no_change"
	// EmptyOld means the old text is empty and the file is not.
	EmptyOld Kind = "empty_old"
	// Undecodable means the file is not text in a known encoding.
	Undecodable Kind = "undecodable"
	// Unencodable means the file's encoding cannot represent the new text.
	Unencodable Kind = "unencodable"
)

// An Error reports why nothing was replaced.
type Error struct {
	Kind Kind
	// Match is the comparison that found several places, for NotUnique.
	Match Match
	// Count is the number of places and Lines the first lines of up to 20 of
	// them, for NotUnique.
	Count int
	Lines []int
	// Nearest is the most similar place, for NotFound; nil when no line of the
	// file resembles the old text.
	Nearest *textfile.Nearest
	// Hint is a guess at what went wrong, for NotFound; often empty.
	Hint string
	// Err is the cause, for Undecodable and Unencodable.
	Err error
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func (e *Error) Error() string {
	switch e.Kind {
	case NotUnique:
		return e.notUnique()
	case NoChange:
		return "old_string and new_string are the same, so there is nothing to change"
	case EmptyOld:
		return "old_string is empty but the file is not; give the text to replace, or write the whole file anew"
	case NotFound:
		return e.notFound()
	}
	return e.Err.Error()
}

func (e *Error) notUnique() string {
	how := ""
	if e.Match != Exact {
		how = " when white space and look-alike characters are ignored"
	}
	lines := make([]string, len(e.Lines))
	for i, line := range e.Lines {
		lines[i] = fmt.Sprint(line)
	}
	more := ""
	if e.Count > len(e.Lines) {
		more = ", …"
	}
	return fmt.Sprintf("old_string matches %d places%s (lines %s%s); add surrounding lines to make it unique, or replace every occurrence",
		e.Count, how, strings.Join(lines, ", "), more)
}

func (e *Error) notFound() string {
	var msg strings.Builder
	msg.WriteString("old_string was not found in the file")
	if n := e.Nearest; n != nil {
		fmt.Fprintf(&msg, "; the nearest place differs first at line %d of the file (line %d of old_string):\n  old_string: %s\n  file:       ", n.Line, n.WantedLine, n.Wanted)
		if n.Past {
			msg.WriteString("(end of file)")
		} else {
			msg.WriteString(n.Found)
		}
		msg.WriteString("\n")
	} else {
		msg.WriteString(", and no line resembles it; ")
	}
	if e.Hint != "" {
		msg.WriteString(e.Hint)
	} else {
		msg.WriteString("read the file again and copy the text exactly")
	}
	return msg.String()
}
