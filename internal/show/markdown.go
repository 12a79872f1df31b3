package show

import (
	"regexp"
	"strings"

	"github.com/reins-agent/reins/internal/lazy"
)

// Bold makes text bold; see [Paint].
const Bold = "\x1b[1m"

// Markdown styles text for a terminal, one line after another: headings and strong text become bold, code is coloured,
// and the marks of these and of lists are replaced. Everything else stays as it is. The zero value is ready to use.
type Markdown struct{ fenced string } // the fence of the current block of code

var (
	heading = lazy.Regexp(`^ {0,3}#{1,6} +(.*?)(?: +#+)? *$`)
	bullet  = lazy.Regexp(`^(\s*)[-*+] +(\S.*)$`)
	fence   = lazy.Regexp("^ {0,3}(```+|~~~+)")
	inline  = lazy.Regexp("`([^`]+)`" + `|\*\*([^*\s](?:[^*]*[^*\s])?)\*\*`)
)

// Line returns a line with its style. The line must be safe to print; see [Visible].
func (m *Markdown) Line(line string) string {
	if f := fence().FindStringSubmatch(line); f != nil {
		switch {
		case m.fenced == "":
			m.fenced = f[1]
			return Paint(Grey, line)
		case strings.HasPrefix(f[1], m.fenced):
			m.fenced = ""
			return Paint(Grey, line)
		}
	}
	if m.fenced != "" {
		return Paint(Cyan, line)
	}
	if h := heading().FindStringSubmatch(line); h != nil {
		return Paint(Bold, h[1])
	}
	if b := bullet().FindStringSubmatch(line); b != nil {
		line = b[1] + "• " + b[2]
	}
	return replaceInline(inline(), line)
}

func replaceInline(re *regexp.Regexp, line string) string {
	return re.ReplaceAllStringFunc(line, func(s string) string {
		if strings.HasPrefix(s, "`") {
			return Paint(Cyan, s[1:len(s)-1])
		}
		return Paint(Bold, s[2:len(s)-2])
	})
}

// Text styles a whole text.
func (m *Markdown) Text(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = m.Line(line)
	}
	return strings.Join(lines, "\n")
}
