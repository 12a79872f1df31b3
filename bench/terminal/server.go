//go:build unix

package main

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/reins-agent/reins/bench/internal/protocol"
)

// server is a scripted model. It plays the answer that was set last, at a chosen rate, and notes when requests arrive and
// when they are cancelled.
type server struct {
	URL  string
	http *http.Server

	mu     sync.Mutex
	answer answer
	after  *answer // the answer of all calls but the first
	calls  []*call
	change chan struct{} // closed and replaced whenever calls change
}

// answer is what the model says, piece by piece, and then the tool that it calls, if any.
type answer struct {
	pieces     []string
	gap        time.Duration // between pieces
	tool, args string        // instead of pieces
	hold       bool          // the answer does not end after its pieces
}

// call is a model call of the conversation.
type call struct {
	arrived  time.Time // the whole request
	body     []byte
	began    time.Time // the first piece was sent
	ended    time.Time // the last piece was sent
	canceled time.Time // the client closed the connection before that
}

func newServer() (*server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{URL: "http://" + l.Addr().String(), change: make(chan struct{})}
	s.http = &http.Server{Handler: s}
	go func() { _ = s.http.Serve(l) }()
	return s, nil
}

// play sets the answer of the next calls, and forgets the calls so far.
func (s *server) play(a answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer, s.after, s.calls = a, nil, nil
}

// next sets the answer of the calls after the next one.
func (s *server) next(a answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.after = &a
}

// note changes a call.
func (s *server) note(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.change)
	s.change = make(chan struct{})
}

// until waits until f holds for the calls, and returns a copy of the last one.
func (s *server) until(f func(calls []*call) bool, timeout time.Duration) (last call, ok bool) {
	deadline := time.After(timeout)
	for {
		s.mu.Lock()
		ok, change := f(s.calls), s.change
		if ok && len(s.calls) > 0 {
			last = *s.calls[len(s.calls)-1]
		}
		s.mu.Unlock()
		if ok {
			return last, true
		}
		select {
		case <-change:
		case <-deadline:
			return last, false
		}
	}
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p, ok := protocol.Of(r.URL.Path)
	if !ok || r.Method != http.MethodPost {
		http.Error(w, `{"error":{"message":"not supported by the benchmark"}}`, http.StatusNotFound)
		return
	}
	var body bytes.Buffer
	tools := protocol.ToolSight{}
	if _, err := io.Copy(io.MultiWriter(&tools, &body), r.Body); err != nil {
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if !tools.Seen {
		_, _ = io.WriteString(w, p.Say("Benchmark"))
		return
	}
	c := &call{arrived: time.Now(), body: body.Bytes()}
	var a answer
	s.note(func() {
		if a = s.answer; len(s.calls) > 0 && s.after != nil {
			a = *s.after
		}
		s.calls = append(s.calls, c)
	})
	s.send(w, r, p, a, c)
}

// send plays an answer.
func (s *server) send(w http.ResponseWriter, r *http.Request, p protocol.Protocol, a answer, c *call) {
	if a.tool != "" {
		_, _ = io.WriteString(w, p.Call("call_1", a.tool, a.args))
		s.note(func() { c.ended = time.Now() })
		return
	}
	stop := func() { s.note(func() { c.canceled = time.Now() }) }
	flush := http.NewResponseController(w)
	_, _ = io.WriteString(w, p.Begin)
	var whole bytes.Buffer
	next := time.Now()
	for i, piece := range a.pieces {
		_, _ = io.WriteString(w, p.Delta(piece))
		whole.WriteString(piece)
		if a.gap == 0 && i%64 < 63 {
			continue
		}
		_ = flush.Flush()
		if i == 0 || c.began.IsZero() {
			s.note(func() { c.began = time.Now() })
		}
		next = next.Add(a.gap)
		select {
		case <-r.Context().Done():
			stop()
			return
		case <-time.After(time.Until(next)):
		}
	}
	if a.hold {
		_ = flush.Flush()
		<-r.Context().Done()
		stop()
		return
	}
	_, _ = io.WriteString(w, p.End(whole.String()))
	_ = flush.Flush()
	s.note(func() { c.ended = time.Now() })
}
