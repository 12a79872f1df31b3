package main

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/reins-agent/reins/bench/internal/protocol"
)

// server is a scripted model that answers at once: it asks for one command per request, and ends after the last. It does
// not parse requests, so its cost grows with the conversation only by the bytes to read.
type server struct {
	URL  string
	http *http.Server

	mu     sync.Mutex
	script script
	calls  []call
	onLast func() // called before the last answer
	keeps  bool   // bodies are kept, which costs time
}

// script is the model's part in a run.
type script struct {
	rounds int
	tool   string              // the agent's shell tool
	args   func(string) string // its arguments for a command
}

// call is one model call.
type call struct {
	arrived  time.Time // header
	answered time.Time // after the answer was written
	size     int64     // body
	body     []byte    // if the server keeps bodies
}

func newServer() (*server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{URL: "http://" + l.Addr().String()}
	s.http = &http.Server{Handler: s}
	go func() { _ = s.http.Serve(l) }()
	return s, nil
}

// play sets the script for the next run.
func (s *server) play(sc script, onLast func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = sc
	s.calls = nil
	s.onLast = onLast
}

// taken returns the run's calls so far.
func (s *server) taken() []call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]call(nil), s.calls...)
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	arrived := time.Now()
	p, ok := protocol.Of(r.URL.Path)
	if !ok || r.Method != http.MethodPost {
		// Agents also request models and settings, but work without them.
		http.Error(w, `{"error":{"message":"not supported by the benchmark"}}`, http.StatusNotFound)
		return
	}
	tools := protocol.ToolSight{}
	var body bytes.Buffer
	var sink io.Writer = &tools
	if s.keeps {
		sink = io.MultiWriter(&tools, &body)
	}
	size, err := io.Copy(sink, r.Body)
	if err != nil {
		return
	}
	if !tools.Seen {
		// Not part of the conversation: a title, for example.
		write(w, p.Say("Benchmark"))
		return
	}
	n, answer, last := s.next(p)
	if last != nil {
		last()
	}
	write(w, answer)
	s.took(n, call{arrived, time.Now(), size, body.Bytes()})
}

// next returns the next answer, and the function to call before it if it is the last.
func (s *server) next(p protocol.Protocol) (n int, answer string, last func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n = len(s.calls)
	s.calls = append(s.calls, call{})
	if n >= s.script.rounds {
		return n, p.Say("All rounds are done."), s.onLast
	}
	return n, p.Call("call_"+strconv.Itoa(n), s.script.tool, s.script.args("echo round-"+strconv.Itoa(n+1))), nil
}

func (s *server) took(n int, c call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n < len(s.calls) {
		s.calls[n] = c
	}
}

// write sends an answer.
func write(w http.ResponseWriter, answer string) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, answer)
}
