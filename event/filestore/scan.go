package filestore

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

const (
	readSize = 128 << 10
	keepSize = 1 << 20 // a buffer that grew beyond it is not kept
)

// scanner reads a log line by line.
type scanner struct {
	in     *bufio.Reader
	long   []byte // a line that does not fit into in's buffer
	number int    // of the last line, from 1
	start  int64  // where the last line begins
	end    int64  // where it ends
	torn   int64  // the size of what stands behind the last whole line, when the end is reached
}

// newScanner reads from where the given number of lines and bytes were read already.
func newScanner(in io.Reader, lines int, offset int64) *scanner {
	return &scanner{in: bufio.NewReaderSize(in, readSize), number: lines, start: offset, end: offset}
}

// next is the next whole line, without its newline; it is good until the next call. At the end
// comes io.EOF. A line that is too long is passed over as errTooLong.
func (s *scanner) next() ([]byte, error) {
	s.start = s.end
	if cap(s.long) > keepSize {
		s.long = nil
	}
	line, size, err := s.read()
	if err == io.EOF {
		s.torn = size
		return nil, io.EOF
	}
	if err != nil && !errors.Is(err, errTooLong) {
		return nil, err
	}
	s.number++
	s.end += size
	return bytes.TrimSuffix(line, []byte("\n")), err
}

func (s *scanner) read() (line []byte, size int64, err error) {
	line, err = s.in.ReadSlice('\n')
	size = int64(len(line))
	if err != bufio.ErrBufferFull {
		return line, size, err
	}
	s.long = append(s.long[:0], line...)
	for err == bufio.ErrBufferFull {
		line, err = s.in.ReadSlice('\n')
		size += int64(len(line))
		if size <= maxLine {
			s.long = append(s.long, line...)
		}
	}
	if err == nil && size > maxLine {
		return nil, size, errTooLong
	}
	return s.long, size, err
}
