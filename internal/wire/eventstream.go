package wire

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strings"

	"github.com/reins-agent/reins/llm"
)

// eventStreamType is the content type for AWS event stream framing.
const eventStreamType = "application/vnd.amazon.eventstream"

// eventStream splits a stream in the framing of AWS: messages with a length, headers, a payload and two checksums.
// Exceptions in the stream become errors.
type eventStream struct {
	r   io.Reader
	max int
	buf []byte // the last message
}

const (
	preludeSize  = 12 // message length, header length, and their checksum
	checksumSize = 4
	// framing is more than a message needs besides its payload.
	framing = 64 << 10
)

// next returns the next event, or io.EOF after the last.
func (s *eventStream) next() (Event, error) {
	headers, payload, err := s.message()
	if err != nil {
		return Event{}, err
	}
	var kind, name, code, message string
	for len(headers) > 0 {
		var key, value string
		if key, value, headers, err = nextHeader(headers); err != nil {
			return Event{}, broken(err)
		}
		switch key {
		case ":message-type":
			kind = value
		case ":event-type":
			name = value
		case ":exception-type", ":error-code":
			code = value
		case ":error-message":
			message = value
		}
	}
	switch kind {
	case "event":
		return unwrap(Event{Name: []byte(name), Data: payload})
	case "exception", "error":
		return Event{}, exception(code, message, payload)
	}
	return Event{}, broken(fmt.Errorf("unknown message type %q", kind))
}

// message reads a message and verifies its checksums.
func (s *eventStream) message() (headers, payload []byte, err error) {
	s.buf = append(s.buf[:0], make([]byte, preludeSize)...)
	if _, err := io.ReadFull(s.r, s.buf); err != nil {
		return nil, nil, err
	}
	total, head := binary.BigEndian.Uint32(s.buf), binary.BigEndian.Uint32(s.buf[4:])
	if crc32.ChecksumIEEE(s.buf[:8]) != binary.BigEndian.Uint32(s.buf[8:]) {
		return nil, nil, broken(errors.New("the checksum of a message's prelude is wrong"))
	}
	if uint64(total) < preludeSize+uint64(head)+checksumSize {
		return nil, nil, broken(errors.New("a message is shorter than its headers"))
	}
	if uint64(total) > uint64(s.max)+framing {
		return nil, nil, fmt.Errorf("%w of %d bytes for one event", errTooLarge, s.max)
	}
	s.buf = append(s.buf, make([]byte, total-preludeSize)...)
	if _, err := io.ReadFull(s.r, s.buf[preludeSize:]); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, nil, err
	}
	end := total - checksumSize
	if crc32.ChecksumIEEE(s.buf[:end]) != binary.BigEndian.Uint32(s.buf[end:]) {
		return nil, nil, broken(errors.New("the checksum of a message is wrong"))
	}
	return s.buf[preludeSize : preludeSize+head], s.buf[preludeSize+head : end], nil
}

// headerSizes has the sizes of header values by type. Types 6 and 7, bytes and strings, have their own length.
var headerSizes = [...]int{0, 0, 1, 2, 4, 8, -1, -1, 8, 16}

// nextHeader returns the first header and the rest. Only values that are strings are returned.
func nextHeader(b []byte) (key, value string, rest []byte, err error) {
	errHeader := errors.New("a header is incomplete or of an unknown type")
	n := 1 + int(b[0])
	if len(b) < n+1 || int(b[n]) >= len(headerSizes) {
		return "", "", nil, errHeader
	}
	key, b = string(b[1:n]), b[n:]
	kind, size := b[0], headerSizes[b[0]]
	b = b[1:]
	if size < 0 {
		if len(b) < 2 {
			return "", "", nil, errHeader
		}
		size, b = int(binary.BigEndian.Uint16(b)), b[2:]
	}
	if len(b) < size {
		return "", "", nil, errHeader
	}
	if kind == 7 {
		value = string(b[:size])
	}
	return key, value, b[size:], nil
}

// unwrap returns the event inside a chunk. Bedrock sends a vendor protocol's own events in chunks, in base64.
func unwrap(ev Event) (Event, error) {
	if string(ev.Name) != "chunk" {
		return ev, nil
	}
	v, err := ParseJSON(ev.Data)
	if err != nil {
		return Event{}, broken(err)
	}
	data, err := base64.StdEncoding.DecodeString(v.Get("bytes").Str())
	if err != nil {
		return Event{}, broken(err)
	}
	return Event{Data: data}, nil
}

// exceptionStatus has the HTTP status of each exception that Bedrock documents for streams.
var exceptionStatus = map[string]int{
	"internalserverexception":     http.StatusInternalServerError,
	"modeltimeoutexception":       http.StatusRequestTimeout,
	"serviceunavailableexception": http.StatusServiceUnavailable,
	"throttlingexception":         http.StatusTooManyRequests,
	"validationexception":         http.StatusBadRequest,
}

// exception returns the error that a message describes.
func exception(code, message string, payload []byte) error {
	v, _ := ParseJSON(payload)
	lower := strings.ToLower(code)
	e := BodyError(exceptionStatus[lower], v)
	e.Code = code
	for _, m := range []string{message, snippet(payload), code} {
		if e.Message == "" {
			e.Message = m
		}
	}
	e.Kind = classify(e.Status, lower, strings.ToLower(e.Message))
	if lower == "modelstreamerrorexception" {
		e.Kind = llm.ErrServer // documented as temporary
	}
	return e
}

func broken(err error) error {
	return &llm.Error{Kind: llm.ErrMalformed, Message: "the event stream is damaged: " + err.Error(), Err: err}
}
