package wire

import (
	"bytes"
	"fmt"
	"io"
)

// Event is one stream event. Its bytes are valid only while the decoder handles it.
type Event struct {
	Name []byte // event type, or empty
	Data []byte // of server-sent events, the data lines, joined by newlines
	Cut  bool   // the stream ended without a blank line, so the event may be incomplete
}

// sse splits a stream of server-sent events as the WHATWG standard defines them. Unlike the standard, it
// also returns a last event that no blank line ends, marked as Cut.
type sse struct {
	r    io.Reader
	max  int
	buf  []byte // buf[pos:] is read but not consumed
	pos  int
	seen int // how far buf was searched for a line break
	err  error

	name, data []byte
	hasData    bool
	skipLF     bool // the last line ended in CR: an LF that follows belongs to it
	begun      bool
}

// newSSE reads events of at most max bytes from r.
func newSSE(r io.Reader, max int) *sse { return &sse{r: r, max: max} }

// next returns the next event, or io.EOF after the last.
func (s *sse) next() (Event, error) {
	s.name = s.name[:0]
	s.data = s.data[:0]
	s.hasData = false
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

func (s *sse) field(line []byte) error {
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

// line returns the next line without its line break. A stream's last line needs none.
func (s *sse) line() ([]byte, error) {
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

func (s *sse) trimBOM(line []byte) []byte {
	if !s.begun {
		s.begun = true
		line = bytes.TrimPrefix(line, []byte("\uFEFF"))
	}
	return line
}

// fill makes room in the buffer and reads once.
func (s *sse) fill() {
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

func (s *sse) tooLarge() error {
	s.err = fmt.Errorf("%w of %d bytes for one event", errTooLarge, s.max)
	return s.err
}
