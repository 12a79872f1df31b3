package filestore

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
)

// A line is a JSON object whose last member is the checksum of the bytes before that member.
const (
	sumPrefix = `,"crc":"`
	sumSuffix = `"}`
	sumSize   = len(sumPrefix) + 8 + len(sumSuffix)
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var (
	errNoSum   = errors.New("it has no checksum")
	errBadSum  = errors.New("its checksum does not fit")
	errTooLong = fmt.Errorf("it has more than %d bytes", maxLine)
)

// maxLine bounds a line, and with it what a reader holds in memory.
const maxLine = 256 << 20

// appendLine adds the line of a JSON object, which must have a member, to b.
func appendLine(b, object []byte) ([]byte, error) { return endLine(append(b, object...), len(b)) }

// endLine makes a line of the JSON object that b has from start on. If it cannot, b ends there.
func endLine(b []byte, start int) ([]byte, error) {
	object := b[start:]
	if len(object) < 3 || object[0] != '{' || bytes.IndexByte(object, '\n') >= 0 {
		return b[:start], fmt.Errorf("not an object on one line: %.40q", object)
	}
	if len(object)+sumSize > maxLine {
		return b[:start], fmt.Errorf("a record of %d bytes is larger than the limit of %d: put what is large into a blob", len(object), maxLine)
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

// openLine checks a line, without its newline, and gives the object that it was made of. It
// overwrites the line.
func openLine(line []byte) ([]byte, error) {
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

// appendJSON adds the line of a value that encodes as an object.
func appendJSON(b []byte, v any) ([]byte, error) {
	object, err := json.Marshal(v)
	if err != nil {
		return b, err
	}
	return appendLine(b, object)
}
