package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/reins-agent/reins/llm"
)

// Answer is an HTTP response to read.
type Answer struct {
	Status int
	Header http.Header
	Body   io.Reader
	Stream bool // a stream was requested
	Limits llm.Limits
}

// Read reads an answer into a. It returns an *llm.Error unless reading Body failed.
func Read(d Dialect, ans Answer, a *Assembler) error {
	ans.Limits = withDefaults(ans.Limits)
	a.Max = ans.Limits.MaxTotal
	a.resp.RequestID = requestID(ans.Header)
	a.resp.RateLimit = rateLimit(ans.Header)
	if ans.Status >= 300 || ans.Status > 0 && ans.Status < 200 {
		a.counted = true // the model did not run
		body, _ := io.ReadAll(io.LimitReader(ans.Body, 1<<20))
		return HTTPError(ans.Status, ans.Header, body)
	}
	br := bufio.NewReaderSize(ans.Body, 4096)
	var err error
	if isStream(ans, br) {
		dec := d.NewDecoder(a)
		err = readStream(dec, frames(ans, br), a)
		if err != nil && !a.counted {
			a.resp.Usage, a.counted = dec.Usage()
		}
	} else {
		err = readWhole(d, br, a, ans.Limits.MaxEvent)
	}
	if e, ok := errors.AsType[*llm.Error](err); ok && e.RequestID == "" {
		e.RequestID = a.resp.RequestID
	}
	return err
}

// isStream reports whether the answer is a stream. Some servers ignore which form was requested.
func isStream(ans Answer, br *bufio.Reader) bool {
	switch ct := ans.Header.Get("Content-Type"); {
	case strings.HasPrefix(ct, "text/event-stream"), strings.HasPrefix(ct, eventStreamType):
		return true
	case !ans.Stream && strings.HasPrefix(ct, "application/json"):
		return false
	}
	c := firstByte(br)
	return c != '{' && c != '[' && (ans.Stream || c == ':' || c == 'd' || c == 'e')
}

// firstByte returns the first byte that is not white space, without consuming it.
func firstByte(br *bufio.Reader) byte {
	for n := 1; n <= 512; n++ {
		b, err := br.Peek(n)
		if err != nil {
			return 0
		}
		if c := b[n-1]; c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return c
		}
	}
	return 0
}

// eventReader splits a stream into events. After the last one it returns io.EOF.
type eventReader interface{ next() (Event, error) }

// frames returns the reader for the answer's framing. Only AWS messages begin with a zero.
func frames(ans Answer, br *bufio.Reader) eventReader {
	first, _ := br.Peek(1)
	if strings.HasPrefix(ans.Header.Get("Content-Type"), eventStreamType) || string(first) == "\x00" {
		return &eventStream{r: br, max: ans.Limits.MaxEvent}
	}
	return newSSE(br, ans.Limits.MaxEvent)
}

func readStream(dec Decoder, events eventReader, a *Assembler) error {
	for !a.Done() && !a.stopped {
		ev, err := events.next()
		if err == io.EOF {
			dec.End()
			if a.Done() || a.stopped {
				return a.failure()
			}
			return incomplete("the stream ended before the response was complete")
		}
		if err != nil {
			return readFailure(err)
		}
		if err := dec.Event(ev); err != nil {
			if ev.Cut && !isProviderError(err) {
				return incomplete("the stream ended in the middle of an event")
			}
			return malformed(err, ev.Data)
		}
		if a.err != nil {
			return a.failure()
		}
	}
	return a.failure()
}

func readWhole(d Dialect, r io.Reader, a *Assembler, limit int) error {
	body, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if err != nil {
		return readFailure(err)
	}
	if len(body) > limit {
		return &llm.Error{Kind: llm.ErrMalformed, Message: fmt.Sprintf("the response is larger than the limit of %d bytes", limit)}
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return incomplete("the response is empty")
	}
	if err := d.Decode(body, a); err != nil {
		return malformed(err, body)
	}
	if !a.Done() && !a.stopped && a.err == nil {
		return incomplete("the response is not complete")
	}
	return a.failure()
}

// failure returns the assembler's error as an *llm.Error.
func (a *Assembler) failure() error {
	if a.err == nil {
		return nil
	}
	return &llm.Error{Kind: llm.ErrMalformed, Message: a.err.Error(), Err: a.err}
}

func incomplete(message string) error {
	return &llm.Error{Kind: llm.ErrIncomplete, Message: message}
}

// malformed wraps a decoder's error, with the first bytes of the data that caused it.
func malformed(err error, data []byte) error {
	if isProviderError(err) {
		return err
	}
	const show = 200
	if len(data) > show {
		data = data[:show]
	}
	return &llm.Error{Kind: llm.ErrMalformed, Message: err.Error(), Body: bytes.Clone(data), Err: err}
}

func isProviderError(err error) bool {
	var e *llm.Error
	return errors.As(err, &e)
}

// readFailure types read errors that are not network errors.
func readFailure(err error) error {
	switch {
	case errors.Is(err, errTooLarge):
		return &llm.Error{Kind: llm.ErrMalformed, Message: err.Error(), Err: err}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &llm.Error{Kind: llm.ErrIncomplete, Message: "the connection closed before the response was complete", Err: err}
	}
	return err
}
