package filestore

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"time"

	"github.com/reins-agent/reins/event"
)

// format is the log format version. Every log header names it.
const format = 1

// Log lines are a header, then records and descriptions in any order.
type (
	header struct {
		Format  int    `json:"format"`
		Session string `json:"session"`
	}
	description struct {
		Meta event.Meta `json:"meta"`
	}
)

var (
	headerStart = []byte(`{"format":`)
	metaStart   = []byte(`{"meta":`)
	recordStart = []byte(`{"seq":`)
)

// A line is a JSON object. Its last member is a checksum over the bytes before that member.
const (
	sumPrefix = `,"crc":"`
	sumSuffix = `"}`
	sumSize   = len(sumPrefix) + 8 + len(sumSuffix)
)

const (
	maxLine  = 256 << 20 // limits memory in readers
	readSize = 128 << 10
	keepSize = 1 << 20 // the largest buffer that is reused
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var (
	errNoSum   = errors.New("no checksum")
	errBadSum  = errors.New("checksum mismatch")
	errTooLong = fmt.Errorf("longer than %d bytes", maxLine)
)

// endLine turns the JSON object in b[start:] into a line. After an error, b ends at start.
func endLine(b []byte, start int) ([]byte, error) {
	object := b[start:]
	if len(object) < 3 || object[0] != '{' || bytes.IndexByte(object, '\n') >= 0 {
		return b[:start], fmt.Errorf("not a JSON object on one line: %.40q", object)
	}
	if len(object)+sumSize > maxLine {
		return b[:start], fmt.Errorf("a record of %d bytes exceeds the limit of %d: put large values into blobs", len(object), maxLine)
	}
	sum := crc32.Checksum(object[:len(object)-1], castagnoli)
	b = append(b[:len(b)-1], sumPrefix...)
	b = appendSum(b, sum)
	b = append(b, sumSuffix...)
	return append(b, '\n'), nil
}

func appendSum(b []byte, sum uint32) []byte {
	return hex.AppendEncode(b, []byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
}

// appendJSON appends a line for a value that encodes as an object.
func appendJSON(b []byte, v any) ([]byte, error) {
	object, err := json.Marshal(v)
	if err != nil {
		return b, err
	}
	return endLine(append(b, object...), len(b))
}

// openLine checks a line and returns its object without the checksum. It overwrites the line.
func openLine(line []byte) ([]byte, error) {
	line = bytes.TrimSuffix(line, []byte("\n"))
	n := len(line) - sumSize
	if n < 2 || line[0] != '{' || string(line[n:n+len(sumPrefix)]) != sumPrefix || string(line[len(line)-len(sumSuffix):]) != sumSuffix {
		return nil, errNoSum
	}
	var sum [8]byte
	if !bytes.Equal(appendSum(sum[:0], crc32.Checksum(line[:n], castagnoli)), line[n+len(sumPrefix):len(line)-len(sumSuffix)]) {
		return nil, errBadSum
	}
	line[n] = '}'
	return line[:n+1], nil
}

// scanner reads a log line by line.
type scanner struct {
	in     *bufio.Reader
	long   []byte // a line longer than the buffer of in
	number int    // last line number, from 1
	start  int64  // last line offset
	end    int64
	torn   int64 // at the end: size of an incomplete last line
}

// newScanner returns a scanner that starts after the given number of lines and bytes.
func newScanner(in io.Reader, lines int, offset int64) *scanner {
	return &scanner{in: bufio.NewReaderSize(in, readSize), number: lines, start: offset, end: offset}
}

// next returns the next complete line without its newline, valid until the next call. It skips an overlong line and
// returns errTooLong. At the end it returns io.EOF.
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

// entry is an intact log line: a header, a description or a record.
type entry struct {
	header *header
	meta   *event.Meta
	record []byte // valid until the next entry is read
	seq    event.Seq
}

// logReader reads log entries.
type logReader struct {
	*scanner
	session string // for errors
}

// readLog reads a log after the part that an index covers.
func readLog(in io.Reader, id string, covered index) *logReader {
	return &logReader{newScanner(in, covered.Lines, covered.Size), id}
}

// next returns the next entry. A damaged line is an *event.CorruptError, after which reading can continue.
func (l *logReader) next() (entry, error) {
	line, err := l.scanner.next()
	if errors.Is(err, errTooLong) {
		return entry{}, l.corrupt(err)
	}
	if err != nil {
		return entry{}, err
	}
	object, err := openLine(line)
	if err != nil {
		return entry{}, l.corrupt(cmp.Or(lostHere(line), err))
	}
	e, err := parse(object)
	if err != nil {
		return entry{}, l.corrupt(err)
	}
	if e.header != nil && e.header.Format != format {
		return entry{}, fmt.Errorf(
			"session %s has log format %d, but this version supports only %d: use a newer version",
			l.session, e.header.Format, format,
		)
	}
	return e, nil
}

func (l *logReader) corrupt(err error) error {
	return &event.CorruptError{Session: l.session, Offset: l.start, Line: l.number, Err: err}
}

func parse(object []byte) (entry, error) {
	switch {
	case bytes.HasPrefix(object, recordStart):
		seq, ok := number(object[len(recordStart):])
		if !ok {
			return entry{}, errors.New("invalid record number")
		}
		return entry{record: object, seq: seq}, nil
	case bytes.HasPrefix(object, metaStart):
		var d description
		err := json.Unmarshal(object, &d)
		return entry{meta: &d.Meta}, err
	case bytes.HasPrefix(object, headerStart):
		var h header
		err := json.Unmarshal(object, &h)
		return entry{header: &h}, err
	}
	return entry{}, errors.New("unknown type of line")
}

// number parses the record number at the start of b.
func number(b []byte) (event.Seq, bool) {
	var n event.Seq
	for i, c := range b {
		if c < '0' || c > '9' {
			return n, n > 0
		}
		if i == 19 {
			break // it would overflow
		}
		n = n*10 + event.Seq(c-'0')
	}
	return 0, false
}

// recordTime returns a record's time without decoding the whole record. It is zero if the time is not where
// event.AppendRecord writes it.
func recordTime(record []byte) time.Time {
	text, _ := timeText(record)
	t, _ := time.Parse(time.RFC3339Nano, string(text))
	return t
}

// timeText returns the text of a record's time and the bytes after it.
func timeText(record []byte) (text, rest []byte) {
	_, rest, _ = bytes.Cut(record[:min(len(record), 100)], []byte(`,"time":"`))
	end := bytes.IndexByte(rest, '"')
	if end < 0 {
		return nil, nil
	}
	start := min(len(record), 100) - len(rest)
	return rest[:end], record[start+end:]
}
