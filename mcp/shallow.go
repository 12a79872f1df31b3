package mcp

import "io"

// maxNesting limits how deeply a message may be nested. The SDK refuses a whole message above its own limit of about
// 1,000, so one absurd tool would cost the whole list. Deeper values are replaced before the SDK sees them, and the
// tool is then left out because of its schema.
const maxNesting = 500

// shallow replaces values in JSON that are nested too deeply with 0. The zero value is at the start of a message.
type shallow struct {
	lines        bool // each line is a separate message
	depth        int
	text, escape bool // inside a string, and after a backslash in it
}

// cut filters the next part of a message in place.
func (s *shallow) cut(p []byte) []byte {
	out := p[:0]
	for _, c := range p {
		keep := s.depth <= maxNesting
		switch {
		case s.lines && c == '\n':
			*s, keep = shallow{lines: true}, true
		case s.text:
			s.text, s.escape = c != '"' || s.escape, c == '\\' && !s.escape
		case c == '"':
			s.text = true
		case c == '{' || c == '[':
			if s.depth++; s.depth == maxNesting+1 {
				c = '0'
			}
		case (c == '}' || c == ']') && s.depth > 0:
			s.depth--
		}
		if keep {
			out = append(out, c)
		}
	}
	return out
}

// shallowReader filters the lines in an event stream.
type shallowReader struct {
	io.ReadCloser
	filter shallow
}

func (r *shallowReader) Read(p []byte) (int, error) {
	for {
		n, err := r.ReadCloser.Read(p)
		if n = len(r.filter.cut(p[:n])); n > 0 || err != nil || len(p) == 0 {
			return n, err
		}
	}
}
