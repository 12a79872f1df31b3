package wire

import (
	"bytes"
	"fmt"
	"io"
)

// Event is one server-sent event. Its bytes are valid until the next call of SSE.Next.
type Event struct {
	Name []byte // the event field; empty if there was none
	Data []byte // the data lines, joined by newlines
	// Cut is set on a last event that no blank line ended: it may be whole or cut off.
	Cut bool
}

// SSE splits a stream of server-sent events as the WHATWG standard says: lines end in LF, CR or
// CRLF, a byte order mark at the start and comments are passed over, several data lines make one.
// Unlike the standard it also gives a last event that no blank line ends, marked as Cut.
type SSE struct {
	r    io.Reader
	max  int
	buf  []byte // buf[pos:] is read but not consumed
	pos  int
	seen int // how far buf was searched for a line end
	err  error

	name, data []byte
	hasData    bool
	skipLF     bool // the last line ended in CR: an LF now belongs to it
	begun      bool
}

// NewSSE reads events of at most max bytes from r.
func NewSSE(r io.Reader, max int) *SSE { return &SSE{r: r, max: max} }

// Next gives the next event, or io.EOF behind the last one.
func (s *SSE) Next() (Event, error) {
	s.name, s.data, s.hasData = s.name[:0], s.data[:0], false
	for {
		line, err := s.line()
		if err != nil {
			if err == io.EOF && s.hasData {
				return Event{s.name, s.data, true}, nil
			}
			return Event{}, err
		}
		if len(line) == 0 {
			if s.hasData {
				return Event{s.name, s.data, false}, nil
			}
			s.name = s.name[:0]
			continue
		}
		if err := s.field(line); err != nil {
			return Event{}, err
		}
	}
}

func (s *SSE) field(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte{':'})
	value = bytes.TrimPrefix(value, []byte{' '})
	switch string(name) {
	case "data":
		if s.hasData {
			s.data = append(s.data, '\n')
		}
		s.hasData = true
		if len(s.data)+len(value) > s.max {
			return s.tooLarge()
		}
		s.data = append(s.data, value...)
	case "event":
		s.name = append(s.name[:0], value...)
	}
	return nil
}

// line gives the next line without its end. The last line of a stream needs no end.
func (s *SSE) line() ([]byte, error) {
	for {
		if s.skipLF && s.pos < len(s.buf) {
			if s.buf[s.pos] == '\n' {
				s.pos++
				s.seen = max(s.seen, s.pos)
			}
			s.skipLF = false
		}
		if i := lineEnd(s.buf[s.seen:]); i >= 0 && !s.skipLF {
			end := s.seen + i
			line := s.buf[s.pos:end]
			s.skipLF = s.buf[end] == '\r'
			s.pos, s.seen = end+1, end+1
			return s.trimBOM(line), nil
		}
		s.seen = len(s.buf)
		if s.err != nil {
			line := s.buf[s.pos:]
			s.pos = len(s.buf)
			if s.err == io.EOF && len(line) > 0 {
				return s.trimBOM(line), nil
			}
			return nil, s.err
		}
		if len(s.buf)-s.pos > s.max+len("data: ") {
			return nil, s.tooLarge()
		}
		s.fill()
	}
}

func lineEnd(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	if lf >= 0 {
		b = b[:lf]
	}
	if cr := bytes.IndexByte(b, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

func (s *SSE) trimBOM(line []byte) []byte {
	if !s.begun {
		s.begun = true
		line = bytes.TrimPrefix(line, []byte("\uFEFF"))
	}
	return line
}

// fill reads once, making room first.
func (s *SSE) fill() {
	if s.pos > 0 {
		n := copy(s.buf, s.buf[s.pos:])
		s.buf = s.buf[:n]
		s.seen -= s.pos
		s.pos = 0
	}
	if cap(s.buf)-len(s.buf) < 512 {
		grown := make([]byte, len(s.buf), max(4096, 2*cap(s.buf)))
		copy(grown, s.buf)
		s.buf = grown
	}
	n, err := s.r.Read(s.buf[len(s.buf):cap(s.buf)])
	s.buf = s.buf[:len(s.buf)+n]
	s.err = err
}

func (s *SSE) tooLarge() error {
	s.err = fmt.Errorf("%w of %d bytes for one event", errTooLarge, s.max)
	return s.err
}
