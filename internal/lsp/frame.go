package lsp

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// Limits for server output.
const (
	maxMessage = 32 << 20 // maximum message size
	maxHeader  = 8 << 10  // maximum line length outside messages
	maxStray   = 1 << 20  // maximum size of other text between two messages
)

// framer splits server output into messages. It skips other text, which some servers print.
type framer struct {
	line   []byte // an incomplete line between messages
	body   []byte // an incomplete message
	length int    // message length; 0 until its header has been read
	inBody bool
	stray  int // bytes skipped since the last message
}

// write handles output and calls message for each complete message. The slice is valid only during the call.
func (f *framer) write(p []byte, message func([]byte)) error {
	for len(p) > 0 {
		if f.inBody {
			n := min(len(p), f.length-len(f.body))
			f.body, p = append(f.body, p[:n]...), p[n:]
			if len(f.body) == f.length {
				message(f.body)
				*f = framer{line: f.line[:0], body: reuse(f.body)}
			}
			continue
		}
		line, rest, whole := bytes.Cut(p, []byte("\n"))
		f.line, p = append(f.line, line...), rest
		if !whole && len(f.line) <= maxHeader {
			return nil
		}
		if err := f.header(bytes.TrimSpace(f.line)); err != nil {
			return err
		}
		f.line = f.line[:0]
	}
	return nil
}

// reuse returns a message's buffer for the next message, unless it is large.
func reuse(b []byte) []byte {
	if cap(b) > 1<<20 {
		return nil
	}
	return b[:0]
}

// header handles a line between messages. An empty line after a length starts a message.
func (f *framer) header(line []byte) error {
	if len(line) == 0 {
		f.inBody = f.length > 0
		return nil
	}
	const name = "content-length:"
	i := bytes.LastIndex(bytes.ToLower(line), []byte(name)) // other text may precede it on the same line
	if i < 0 {
		if f.stray += len(line); f.stray > maxStray {
			return errors.New("the server writes text that is not a message to its standard output")
		}
		return nil
	}
	n, err := strconv.Atoi(string(bytes.TrimSpace(line[i+len(name):])))
	if err != nil || n < 0 {
		return fmt.Errorf("the server sent an invalid header: %.100q", line)
	}
	if n > maxMessage {
		return fmt.Errorf("the server sent a message larger than %d MiB", maxMessage>>20)
	}
	f.length = n
	return nil
}

// frame returns a message with its header.
func frame(message []byte) []byte {
	return append(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", len(message)), message...)
}
