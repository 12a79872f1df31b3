package show

import (
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// Unified returns the unified diff of a file; "" if it has not changed.
func Unified(path, before, after string) string {
	return udiff.Unified("a/"+path, "b/"+path, before, after)
}

// Diff makes a diff safe to print, with each line indented, and at most so many of them; a negative
// maximum is no limit.
func Diff(diff, indent string, maximum int, colour bool) string {
	var b strings.Builder
	lines := strings.Split(strings.TrimSuffix(diff, "\n"), "\n")
	for i, line := range lines {
		if i == maximum {
			fmt.Fprintf(&b, "%s… %s\n", indent, Plural(len(lines)-maximum, "more line"))
			break
		}
		line = Visible(line)
		if colour {
			line = Paint(diffColour(line), line)
		}
		b.WriteString(indent + line + "\n")
	}
	return b.String()
}

func diffColour(line string) string {
	switch {
	case strings.HasPrefix(line, "+"):
		return Green
	case strings.HasPrefix(line, "-"):
		return Red
	case strings.HasPrefix(line, "@@"):
		return Cyan
	}
	return ""
}
