package chat

import "strings"

// maxEffort bounds the bytes that are looked at in attempts to read calls in one text part. A text
// that takes more is hostile, and stays text from there on.
const maxEffort = 64 << 20

// scan splits text, piece by piece as it arrives, into plain text and tool calls. What it makes of
// a text does not depend on the pieces.
type scan struct {
	finder *finder
	held   string
	late   []byte // text behind held that is not worth looking at yet
	begun  bool   // something other than white space was let go
	tried  int    // the length of held at the last attempt to read a call in it
	effort int
}

func (s *scan) feed(text string) { s.late = append(s.late, text...) }

// next gives the next piece that is decided: text, or calls. With final set no more text will
// come, and everything gets decided.
func (s *scan) next(final bool) (text string, calls []textCall, ok bool) {
	if !s.due(final) {
		return "", nil, false
	}
	s.held += string(s.late)
	s.late = s.late[:0]
	if s.held == "" {
		return "", nil, false
	}
	if s.effort > maxEffort {
		return s.release(len(s.held)), nil, true
	}
	if start := s.marker(final); start > 0 {
		return s.release(start), nil, true
	}
	s.tried = len(s.held)
	s.effort += len(s.held)
	n, calls, v := s.finder.read(s.held, !s.begun, final)
	switch v {
	case more:
		return "", nil, false
	case match:
		s.begun, s.tried = true, 0
		s.held = s.held[n:]
		return "", calls, true
	}
	return s.release(1), nil, true
}

// release lets go of the first n bytes as text.
func (s *scan) release(n int) string {
	text := s.held[:n]
	s.held = s.held[n:]
	s.tried = 0
	s.begun = s.begun || strings.TrimSpace(text) != ""
	return text
}

// due reports whether another attempt is worth it: reading a long call again for each of its
// pieces would take the square of its length.
func (s *scan) due(final bool) bool {
	const short = 256
	size := len(s.held) + len(s.late)
	return final || s.tried == 0 || size > s.tried && (size <= short || size >= s.tried+s.tried/8)
}

// marker finds the first place where a call may begin, or the length of the text.
func (s *scan) marker(final bool) int {
	begun := s.begun
	for i := 0; i < len(s.held); i++ {
		switch s.held[i] {
		case '<', '[', '`', '{':
			if s.finder.mayBegin(s.held[i:], !begun, final) {
				return i
			}
			begun = true
		case ' ', '\t', '\n', '\r':
		default:
			begun = true
		}
	}
	return len(s.held)
}
