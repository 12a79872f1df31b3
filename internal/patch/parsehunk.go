package patch

import "strings"

// update parses the rest of an update: the new path and the hunks.
func (p *parser) update(op *Op) error {
	if to, ok := p.field(moveMarker); ok {
		if to == "" {
			return p.errorf(p.at, "%q is not followed by a path", moveMarker)
		}
		op.MoveTo = to
		p.at++
	}
	p.skipBlankBeforeHint()
	for !p.updateEnds() {
		h, err := p.hunk(len(op.hunks) == 0)
		if err != nil {
			return err
		}
		if h.lines != nil {
			op.hunks = append(op.hunks, h)
		}
	}
	if len(op.hunks) == 0 {
		return p.errorf(
			op.Line-p.first,
			"the update of %s changes nothing, expected %q and lines that start with %q, %q or %q",
			op.Path,
			hintMarker,
			" ",
			"-",
			"+",
		)
	}
	return nil
}

// skipBlankBeforeHint skips blank lines before the first @@ line, which would otherwise be context.
func (p *parser) skipBlankBeforeHint() {
	start := p.at
	p.skipBlank()
	if p.at < len(p.lines) {
		if _, ok := isHint(p.lines[p.at]); ok {
			return
		}
	}
	p.at = start
}

// updateEnds reports whether the current line is not part of the update. White space after a marker is ignored, but an
// indented marker is a context line.
func (p *parser) updateEnds() bool {
	return p.at >= len(p.lines) || isHeader(trimEnd(p.lines[p.at]))
}

func trimEnd(line string) string { return strings.TrimRight(line, " \t\r") }

// isHint reports whether a line is an @@ line, and its text.
func isHint(line string) (string, bool) {
	line = trimEnd(line)
	if line == hintMarker {
		return "", true
	}
	return strings.CutPrefix(line, hintMarker+" ")
}

// hunk parses one hunk. An update's first hunk may lack its @@ line. The hunk has no lines if only blank lines were
// left.
func (p *parser) hunk(first bool) (hunk, error) {
	start := p.at
	h := hunk{line: p.first + start}
	hinted := false
	for ; !p.updateEnds(); p.at++ {
		hint, ok := isHint(p.lines[p.at])
		if !ok {
			break
		}
		hinted = true
		if strings.TrimSpace(hint) != "" {
			h.hints = append(h.hints, hint)
		}
	}
	if !hinted && !first {
		// Only reached after an end-of-file marker.
		p.skipBlank()
		if p.updateEnds() {
			return hunk{}, nil
		}
		if _, ok := isHint(p.lines[p.at]); ok {
			return p.hunk(false)
		}
		return hunk{}, p.errorf(p.at, "found %s after %q, expected %q or the next operation", quote(p.lines[p.at]), eofMarker, hintMarker)
	}
	if err := p.hunkLines(&h); err != nil {
		return hunk{}, err
	}
	if len(h.lines) == 0 {
		return hunk{}, p.errorf(start, "the hunk has no lines, expected lines that start with %q, %q or %q", " ", "-", "+")
	}
	return h, nil
}

// hunkLines parses a hunk's lines and its end-of-file marker.
func (p *parser) hunkLines(h *hunk) error {
	for ; !p.updateEnds(); p.at++ {
		line := p.lines[p.at]
		if _, ok := isHint(line); ok {
			return nil
		}
		if trimEnd(line) == eofMarker {
			h.endOfFile = true
			p.at++
			return nil
		}
		if line == "" {
			h.lines = append(h.lines, hunkLine{op: keep})
			continue
		}
		switch op := line[0]; op {
		case keep, remove, insert:
			h.lines = append(h.lines, hunkLine{op, line[1:]})
		default:
			return p.errorf(
				p.at,
				"found %s in a hunk, expected a line that starts with %q (context), %q (removed) or %q (added)",
				quote(line),
				" ",
				"-",
				"+",
			)
		}
	}
	return nil
}
