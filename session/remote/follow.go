package remote

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strconv"
	"time"

	"github.com/reins-agent/reins/event"
)

// silence is how long a stream of events may be silent before it counts as lost.
const silence = 3 * heartbeat

// maxLine is the maximum length of a line in a stream.
const maxLine = 256 << 20

// Events implements [session.Handle].
func (c *client) Events(ctx context.Context, after event.Seq) iter.Seq2[event.Record, error] {
	return func(yield func(event.Record, error) bool) {
		inner, stop := c.within(ctx)
		defer stop()
		f := &following{client: c, after: after, yield: yield}
		try := c.retry()
		for {
			f.got = false
			err := f.read(inner)
			switch {
			case f.over || c.ctx.Err() != nil && ctx.Err() == nil:
				return
			case ctx.Err() != nil:
				err = context.Cause(ctx)
			case errors.As(err, new(*lost)):
				if f.got {
					try.reached()
				}
				if try.wait(inner, err) {
					continue
				}
				if c.ctx.Err() != nil {
					return
				}
				err = c.unreachable(ctx, err)
			}
			yield(event.Record{}, err)
			return
		}
	}
}

// following is a reader's progress.
type following struct {
	client *client
	yield  func(event.Record, error) bool
	after  event.Seq // the last durable record
	heard  time.Time // time of the last transient record after it
	got    bool      // the server has answered
	over   bool      // there are no more records, or the reader has enough
}

// read yields records until the stream ends.
func (f *following) read(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, f.client.config.URL+"events", nil)
	if err != nil {
		return err
	}
	q.Header.Set("Accept", "text/event-stream")
	q.Header.Set("Last-Event-ID", strconv.FormatUint(uint64(f.after), 10))
	if !f.heard.IsZero() {
		q.Header.Set(heardUntil, f.heard.Format(time.RFC3339Nano))
	}
	resp, err := f.client.config.HTTP.Do(q)
	if err != nil {
		return &lost{err, true}
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the session's process answered: %s", resp.Status)
	}
	f.got = true
	silent := time.AfterFunc(silence, cancel)
	defer silent.Stop()
	in := bufio.NewReaderSize(resp.Body, 32<<10)
	for !f.over {
		e, err := readEvent(in)
		if err != nil {
			return &lost{err, true}
		}
		silent.Stop() // the reader may take its time
		if err := f.handle(e); err != nil {
			return err
		}
		silent.Reset(silence)
	}
	return nil
}

// handle yields an event's record.
func (f *following) handle(e sent) error {
	switch e.kind {
	case eventEnd:
		f.over = true
		return nil
	case eventError:
		failed := &failure{}
		if err := json.Unmarshal(e.data, failed); err != nil {
			return err
		}
		return failed
	case eventRecord:
	default: // a heartbeat, or something new
		return nil
	}
	r, err := event.DecodeRecord(e.data)
	if err != nil {
		return err
	}
	switch {
	case r.Seq > 0 && r.Seq <= f.after:
		return nil
	case r.Seq > 0:
		f.after, f.heard = r.Seq, time.Time{}
	case r.Kind().Transient():
		f.heard = r.Time
	}
	f.over = !f.yield(r, nil)
	return nil
}

// sent is a server-sent event.
type sent struct {
	kind string
	data []byte
}

// readEvent reads an event. If the stream ends within an event, it returns an error.
func readEvent(in *bufio.Reader) (e sent, err error) {
	for {
		line, err := readLine(in)
		if err != nil {
			return sent{}, err
		}
		if len(line) == 0 {
			return e, nil
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "event":
			e.kind = string(value)
		case "data":
			if e.data != nil {
				e.data = append(e.data, '\n')
			}
			e.data = append(e.data, value...)
		}
	}
}

// readLine reads a line without its end. The line is valid until the next read.
func readLine(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		var long bytes.Buffer
		for errors.Is(err, bufio.ErrBufferFull) {
			if long.Write(line); long.Len() > maxLine {
				return nil, errors.New("a record of the session is too large")
			}
			line, err = in.ReadSlice('\n')
		}
		long.Write(line)
		line = long.Bytes()
	}
	switch {
	case errors.Is(err, io.EOF):
		return nil, io.ErrUnexpectedEOF
	case err != nil:
		return nil, err
	}
	return bytes.TrimSuffix(line[:len(line)-1], []byte("\r")), nil
}
