package edit

import (
	"regexp"
	"strings"

	"github.com/reins-agent/reins/coding/textfile"
)

// notFound builds the error for text that is not in the file.
func (r *replacer) notFound() *Error {
	lines := strings.Split(strings.TrimSuffix(r.old, "\n"), "\n")
	return &Error{
		Kind:    NotFound,
		Nearest: textfile.FindNearest(r.view.Text, lines),
		Hint:    hint(r.old),
	}
}

var lineNumbered = regexp.MustCompile(`^\s*\d+(\t|→|\||: )`)

// hint recognises two habits of models that make text unfindable.
func hint(old string) string {
	numbered := true
	for line := range strings.Lines(old) {
		numbered = numbered && lineNumbered.MatchString(line)
	}
	switch {
	case numbered:
		return "old_string seems to contain line numbers; leave them out"
	case !strings.Contains(old, "\n") && strings.Contains(old, `\n`):
		return `old_string contains a backslash followed by n where a line break may be meant`
	}
	return ""
}
