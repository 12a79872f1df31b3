// Package atfile finds references such as @path in Markdown text, as agents use them to include other files.
package atfile

import (
	"strings"

	"github.com/reins-agent/reins/internal/lazy"
)

// Ref is a reference. It is text[Start:End], including the @.
type Ref struct {
	Path       string
	Start, End int
}

var (
	reference = lazy.Regexp(`(?:^|[\s(])@((?:\\ |[^\s\\])+)`)
	span      = lazy.Regexp("``.+?``|`[^`\n]+`")
)

// Find returns the references in a text, in order. It skips code blocks and code spans. Final punctuation is not part
// of a path. A backslash before a space is removed.
func Find(text string) (list []Ref) {
	if !strings.Contains(text, "@") {
		return nil
	}
	for _, m := range reference().FindAllStringSubmatchIndex(Prose(text), -1) {
		path := strings.TrimRight(text[m[2]:m[3]], ".,;:!?)]}>\"'*_")
		if path != "" {
			list = append(list, Ref{strings.ReplaceAll(path, `\ `, " "), m[2] - 1, m[2] + len(path)})
		}
	}
	return list
}

// Prose returns a text of the same length in which code blocks and code spans are replaced by spaces.
func Prose(text string) string {
	b := []byte(text)
	fence, start := "", 0
	for at := 0; at < len(text); {
		line, _, _ := strings.Cut(text[at:], "\n")
		trimmed := strings.TrimLeft(line, " \t>")
		mark := trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, "`~"))]
		switch {
		case fence == "" && len(mark) >= 3 && (mark[0] == '~' || !strings.Contains(trimmed[len(mark):], "`")):
			fence, start = mark, at
		case fence != "" && strings.HasPrefix(mark, fence) && strings.TrimSpace(trimmed[len(mark):]) == "":
			blank(b[start : at+len(line)])
			fence = ""
		}
		at += len(line) + 1
	}
	if fence != "" { // it ends with the text
		blank(b[start:])
	}
	for _, m := range span().FindAllIndex(b, -1) {
		blank(b[m[0]:m[1]])
	}
	return string(b)
}

// blank replaces text by spaces, except line breaks.
func blank(b []byte) {
	for i := range b {
		if b[i] != '\n' {
			b[i] = ' '
		}
	}
}
