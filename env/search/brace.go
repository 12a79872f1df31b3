package search

import "strings"

// maxAlternatives bounds what the braces of one glob may expand to.
const maxAlternatives = 1024

// expandBraces replaces each {a,b} in a glob by its alternatives, so {a,b}/{c,d} becomes four
// globs. Braces nest. Escaped braces and those inside a character class stand for themselves.
func expandBraces(pattern string) ([]string, error) {
	if !strings.ContainsAny(pattern, "{}") {
		return []string{pattern}, nil
	}
	p := braceParser{pattern: pattern}
	out, err := p.sequence(0)
	if err != nil {
		return nil, err
	}
	return out, nil
}

type braceParser struct {
	pattern string
	pos     int
}

// sequence parses until the end of the pattern or, inside braces, up to a comma or closing brace.
func (p *braceParser) sequence(depth int) ([]string, error) {
	out := []string{""}
	start := p.pos
	flush := func() {
		out = appendAll(out, p.pattern[start:p.pos])
	}
	for p.pos < len(p.pattern) {
		switch p.pattern[p.pos] {
		case '\\':
			p.pos = min(p.pos+2, len(p.pattern))
		case '[':
			p.pos = classEnd(p.pattern, p.pos)
		case '{':
			flush()
			alts, err := p.alternatives(depth + 1)
			if err != nil {
				return nil, err
			}
			if len(out)*len(alts) > maxAlternatives {
				return nil, globError(p.pattern, p.pos, "the braces stand for too many alternatives")
			}
			out = product(out, alts)
			start = p.pos
		case '}':
			if depth == 0 {
				return nil, globError(p.pattern, p.pos, `"}" without a "{"`)
			}
			flush()
			return out, nil
		case ',':
			if depth > 0 {
				flush()
				return out, nil
			}
			p.pos++
		default:
			p.pos++
		}
	}
	flush()
	return out, nil
}

// alternatives parses {a,b,…} from its opening brace past its closing one.
func (p *braceParser) alternatives(depth int) ([]string, error) {
	open := p.pos
	if depth > 16 {
		return nil, globError(p.pattern, open, "braces are nested too deeply")
	}
	var alts []string
	for {
		p.pos++ // the opening brace or a comma
		alt, err := p.sequence(depth)
		if err != nil {
			return nil, err
		}
		alts = append(alts, alt...)
		if len(alts) > maxAlternatives {
			return nil, globError(p.pattern, open, "the braces stand for too many alternatives")
		}
		if p.pos >= len(p.pattern) {
			return nil, globError(p.pattern, open, `"{" without a "}"`)
		}
		if p.pattern[p.pos] == '}' {
			p.pos++
			return alts, nil
		}
	}
}

func appendAll(list []string, tail string) []string {
	if tail == "" {
		return list
	}
	for i := range list {
		list[i] += tail
	}
	return list
}

func product(a, b []string) []string {
	out := make([]string, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			out = append(out, x+y)
		}
	}
	return out
}

// classEnd gives the offset after the character class that starts at pattern[i], or after the
// bracket alone if the class has no end.
func classEnd(pattern string, i int) int {
	j := i + 1
	if j < len(pattern) && (pattern[j] == '!' || pattern[j] == '^') {
		j++
	}
	if j < len(pattern) && pattern[j] == ']' {
		j++
	}
	for j < len(pattern) {
		switch pattern[j] {
		case '\\':
			j++
		case ']':
			return j + 1
		}
		j++
	}
	return i + 1
}
