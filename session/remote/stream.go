package remote

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/tool"
)

// Types of server-sent events.
const (
	eventRecord = "record" // a record
	eventEnd    = "end"    // the session is closed: there are no more records
	eventError  = "error"  // a failure
)

// maxOutput is the length of a tool's output above which a record is sent without it. What the model saw of it is sent.
const maxOutput = 256 << 10

// item is a record, an error or the end.
type item struct {
	record event.Record
	err    error
	end    bool
}

// events sends the records after a number.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	from := r.Header.Get("Last-Event-ID")
	if from == "" {
		from = r.URL.Query().Get("after")
	}
	after, err := strconv.ParseUint(from, 10, 64)
	if err != nil && from != "" {
		http.Error(w, "the last event ID is not a record number", http.StatusBadRequest)
		return
	}
	heard, _ := time.Parse(time.RFC3339Nano, r.Header.Get(heardUntil))
	ctx, stop := s.within(r.Context())
	items := make(chan item, 64)
	go func() {
		defer close(items)
		s.follow(ctx, event.Seq(after), heard, items)
	}()
	defer func() {
		stop()
		for range items { // until the goroutine has ended
		}
	}()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	out := &stream{bufio.NewWriterSize(w, 32<<10), http.NewResponseController(w)}
	out.send(items)
}

// follow passes on the records after a number, without the transient records that directly follow it up to a time.
func (s *Server) follow(ctx context.Context, after event.Seq, heard time.Time, items chan<- item) {
	pass := func(i item) bool {
		select {
		case items <- i:
			return true
		case <-ctx.Done():
			return false
		}
	}
	for r, err := range s.handle.Events(ctx, after) {
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && r.Kind().Transient() && !r.Time.After(heard):
			continue
		case err == nil && !r.Kind().Transient():
			heard = time.Time{}
		}
		if !pass(item{record: r, err: err}) || err != nil {
			return
		}
	}
	pass(item{end: true})
}

// stream writes server-sent events.
type stream struct {
	*bufio.Writer
	control *http.ResponseController
}

// send writes items until there are no more or the client is gone. A client that stops reading counts as gone.
func (w *stream) send(items <-chan item) {
	if w.flush() != nil { // the client waits for the header
		return
	}
	alive := time.NewTicker(heartbeat)
	defer alive.Stop()
	for {
		var err error
		select {
		case next, more := <-items:
			if !more {
				_ = w.flush()
				return
			}
			err = w.item(next)
		case <-alive.C:
			_, err = w.WriteString(":\n\n")
		}
		if err == nil && len(items) == 0 {
			err = w.flush()
		}
		if err != nil {
			return
		}
	}
}

func (w *stream) item(next item) error {
	switch {
	case next.end:
		return w.write(eventEnd, 0, []byte("{}"))
	case next.err != nil:
		b, _ := json.Marshal(newFailure(next.err))
		return w.write(eventError, 0, b)
	}
	b, err := event.AppendRecord(nil, light(next.record))
	if err != nil {
		return err
	}
	return w.write(eventRecord, next.record.Seq, b)
}

// light returns a record without a long output.
func light(r event.Record) event.Record {
	if d, ok := r.Data.(event.ToolCallEnd); ok && d.OutputBlob == nil && d.Output != nil && d.Output.Len() > maxOutput {
		d.Output = tool.Text("")
		r.Data = d
	}
	return r
}

// write writes an event. The data is JSON without line breaks.
func (w *stream) write(kind string, seq event.Seq, data []byte) error {
	_ = w.control.SetWriteDeadline(time.Now().Add(writeTime))
	if seq > 0 {
		fmt.Fprintf(w, "id: %d\n", seq)
	}
	fmt.Fprintf(w, "event: %s\ndata: ", kind)
	_, _ = w.Write(data)
	_, err := w.WriteString("\n\n")
	return err
}

func (w *stream) flush() error {
	_ = w.control.SetWriteDeadline(time.Now().Add(writeTime))
	if err := w.Flush(); err != nil {
		return err
	}
	return w.control.Flush()
}
