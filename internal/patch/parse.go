package patch

import (
	"fmt"
	"strings"

	"github.com/reins-agent/reins/internal/lazy"
)

const (
	beginMarker       = "*** Begin Patch"
	endMarker         = "*** End Patch"
	environmentMarker = "*** Environment ID:"
	addMarker         = "*** Add File:"
	deleteMarker      = "*** Delete File:"
	updateMarker      = "*** Update File:"
	moveMarker        = "*** Move to:"
	eofMarker         = "*** End of File"
	hintMarker        = "@@"
)

// Parse parses a patch.
func Parse(text string) (Patch, error) {
	lines, first := unwrap(text)
	p := parser{lines: lines, first: first}
	return p.patch()
}

// hereDoc matches the first line in a here-document, with or without a command.
var hereDoc = lazy.Regexp(`^(?:(?:apply_patch|applypatch|cat)\s+)?<<-?\s*(?:'(\w+)'|"(\w+)"|(\w+))$`)

// unwrap removes white space and a here-document around a patch and splits it into lines. first is the number of its
// first line in the text.
func unwrap(text string) (lines []string, first int) {
	trimmed := strings.TrimSpace(text)
	lead := strings.Index(text, trimmed)
	first = 1 + strings.Count(text[:lead], "\n")
	lines = strings.Split(trimmed, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(line, "\r")
	}
	if m := hereDoc().FindStringSubmatch(lines[0]); m != nil && len(lines) >= 4 {
		tag := m[1] + m[2] + m[3]
		if strings.TrimSpace(lines[len(lines)-1]) == tag {
			lines = lines[1 : len(lines)-1]
			first++
		}
	}
	for len(lines) > 1 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	return lines, first
}

// A parser walks a patch's lines.
type parser struct {
	lines []string
	at    int
	first int // first line's number
}

func (p *parser) errorf(at int, format string, args ...any) error {
	return fmt.Errorf("invalid patch, line %d: %s", p.first+at, fmt.Sprintf(format, args...))
}

func (p *parser) patch() (Patch, error) {
	var patch Patch
	if strings.TrimSpace(p.lines[0]) != beginMarker {
		return patch, p.errorf(0, "the patch begins with %s, expected %q", quote(p.lines[0]), beginMarker)
	}
	last := len(p.lines) - 1
	if strings.TrimSpace(p.lines[last]) != endMarker {
		return patch, p.errorf(last, "the patch ends with %s, expected %q", quote(p.lines[last]), endMarker)
	}
	p.lines = p.lines[:last]
	p.at = 1
	if _, ok := p.field(environmentMarker); ok { // accepted without effect
		p.at++
	}
	for p.skipBlank(); p.at < len(p.lines); p.skipBlank() {
		op, err := p.operation()
		if err != nil {
			return Patch{}, err
		}
		patch.Ops = append(patch.Ops, op)
	}
	return patch, nil
}

func (p *parser) skipBlank() {
	for p.at < len(p.lines) && strings.TrimSpace(p.lines[p.at]) == "" {
		p.at++
	}
}

// field returns the current line's value if it has the marker.
func (p *parser) field(marker string) (string, bool) {
	if p.at >= len(p.lines) {
		return "", false
	}
	value, ok := strings.CutPrefix(strings.TrimSpace(p.lines[p.at]), marker)
	return strings.TrimSpace(value), ok
}

func (p *parser) operation() (Op, error) {
	start := p.at
	for _, marker := range []string{addMarker, deleteMarker, updateMarker} {
		path, ok := p.field(marker)
		if !ok {
			continue
		}
		if path == "" {
			return Op{}, p.errorf(start, "%q is not followed by a path", marker)
		}
		p.at++
		op := Op{Action: Delete, Path: path, Line: p.first + start}
		var err error
		switch marker {
		case addMarker:
			op.Action = Add
			op.Content, err = p.addedLines()
		case updateMarker:
			op.Action = Update
			err = p.update(&op)
		}
		return op, err
	}
	if strings.TrimSpace(p.lines[start]) == endMarker {
		return Op{}, p.errorf(start, "%q is followed by more text, expected it once, on the last line", endMarker)
	}
	return Op{}, p.errorf(
		start,
		"found %s, expected %q, %q or %q with a path",
		quote(p.lines[start]), addMarker, deleteMarker, updateMarker,
	)
}

// addedLines reads a new file's content.
func (p *parser) addedLines() (string, error) {
	var content strings.Builder
	for ; p.at < len(p.lines); p.at++ {
		line := p.lines[p.at]
		if isHeader(strings.TrimSpace(line)) {
			break
		}
		text, ok := strings.CutPrefix(line, "+")
		if !ok {
			if p.onlyBlankLeft() {
				break
			}
			return "", p.errorf(p.at, "found %s in a new file, expected every line to start with %q", quote(line), "+")
		}
		content.WriteString(text)
		content.WriteByte('\n')
	}
	return content.String(), nil
}

// onlyBlankLeft reports whether only blank lines precede the next operation.
func (p *parser) onlyBlankLeft() bool {
	for _, line := range p.lines[p.at:] {
		line = strings.TrimSpace(line)
		if line != "" {
			return isHeader(line)
		}
	}
	return true
}

// isHeader reports whether a trimmed line starts an operation or ends the patch.
func isHeader(line string) bool {
	return line == endMarker || strings.HasPrefix(line, addMarker) ||
		strings.HasPrefix(line, deleteMarker) || strings.HasPrefix(line, updateMarker)
}

// quote quotes a line for a message, shortened.
func quote(line string) string {
	const maximum = 80
	if len(line) > maximum {
		line = strings.ToValidUTF8(line[:maximum], "") + "…"
	}
	return fmt.Sprintf("%q", line)
}
