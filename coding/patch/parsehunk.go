package patch

import "strings"

// update reads the rest of an update: the new name and the hunks.
func (p *parser) update(u Update) (Op, error) {
	if to, ok := p.field(moveMarker); ok {
		if to == "" {
			return nil, p.errorf(p.at, "%q is not followed by a path", moveMarker)
		}
		u.MoveTo = to
		p.at++
	}
	p.skipBlankBeforeHint()
	for !p.updateEnds() {
		hunk, err := p.hunk(len(u.Hunks) == 0)
		if err != nil {
			return nil, err
		}
		if hunk.Lines != nil {
			u.Hunks = append(u.Hunks, hunk)
		}
	}
	if len(u.Hunks) == 0 {
		return nil, p.errorf(u.Line-p.first, "the update of %s changes nothing, expected %q and lines that start with %q, %q or %q", u.Path, hintMarker, " ", "-", "+")
	}
	return u, nil
}

// skipBlankBeforeHint skips blank lines above the first @@ line, which would
// otherwise be context of their own.
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

// updateEnds reports whether the current line is no part of an update. Only
// white space behind a marker is ignored: an indented one is a context line.
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

// hunk reads one hunk. The first of an update may lack its @@ line. It returns
// no lines for blank lines behind which the update ends.
func (p *parser) hunk(first bool) (Hunk, error) {
	start := p.at
	h := Hunk{Line: p.first + start}
	hinted := false
	for ; !p.updateEnds(); p.at++ {
		hint, ok := isHint(p.lines[p.at])
		if !ok {
			break
		}
		hinted = true
		if strings.TrimSpace(hint) != "" {
			h.Hints = append(h.Hints, hint)
		}
	}
	if !hinted && !first {
		// Only reached behind an end-of-file marker.
		p.skipBlank()
		if p.updateEnds() {
			return Hunk{}, nil
		}
		if _, ok := isHint(p.lines[p.at]); ok {
			return p.hunk(false)
		}
		return Hunk{}, p.errorf(p.at, "found %s behind %q, expected %q or the next operation", quote(p.lines[p.at]), eofMarker, hintMarker)
	}
	if err := p.hunkLines(&h); err != nil {
		return Hunk{}, err
	}
	if len(h.Lines) == 0 {
		return Hunk{}, p.errorf(start, "the hunk has no lines, expected lines that start with %q, %q or %q", " ", "-", "+")
	}
	return h, nil
}

// hunkLines reads the lines of a hunk and its end-of-file marker.
func (p *parser) hunkLines(h *Hunk) error {
	for ; !p.updateEnds(); p.at++ {
		line := p.lines[p.at]
		if _, ok := isHint(line); ok {
			return nil
		}
		if trimEnd(line) == eofMarker {
			h.EndOfFile = true
			p.at++
			return nil
		}
		if line == "" {
			h.Lines = append(h.Lines, HunkLine{Op: Keep})
			continue
		}
		switch op := LineOp(line[0]); op {
		case Keep, Remove, Insert:
			h.Lines = append(h.Lines, HunkLine{Op: op, Text: line[1:]})
		default:
			return p.errorf(p.at, "found %s in a hunk, expected a line that starts with %q (context), %q (removed) or %q (added)", quote(line), " ", "-", "+")
		}
	}
	return nil
}
