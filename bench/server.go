package main

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
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
	p, ok := protocolOf(r.URL.Path)
	if !ok || r.Method != http.MethodPost {
		// Agents also request models and settings, but work without them.
		http.Error(w, `{"error":{"message":"not supported by the benchmark"}}`, http.StatusNotFound)
		return
	}
	tools := toolSight{}
	var body bytes.Buffer
	var sink io.Writer = &tools
	if s.keeps {
		sink = io.MultiWriter(&tools, &body)
	}
	size, err := io.Copy(sink, r.Body)
	if err != nil {
		return
	}
	if !tools.seen {
		// Not part of the conversation: a title, for example.
		p.write(w, p.say("Benchmark"))
		return
	}
	n, answer, last := s.next(p)
	if last != nil {
		last()
	}
	p.write(w, answer)
	s.took(n, call{arrived, time.Now(), size, body.Bytes()})
}

// next returns the next answer, and the function to call before it if it is the last.
func (s *server) next(p protocol) (n int, answer string, last func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n = len(s.calls)
	s.calls = append(s.calls, call{})
	if n >= s.script.rounds {
		return n, p.say("All rounds are done."), s.onLast
	}
	return n, p.call("call_"+strconv.Itoa(n), s.script.tool, s.script.args("echo round-"+strconv.Itoa(n+1))), nil
}

func (s *server) took(n int, c call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n < len(s.calls) {
		s.calls[n] = c
	}
}

// toolSight is a writer that finds out whether a request has tools.
type toolSight struct {
	tail []byte
	seen bool
}

func (t *toolSight) Write(p []byte) (int, error) {
	const sign = `"tools":[{`
	if !t.seen {
		t.tail = append(t.tail, p...)
		t.seen = bytes.Contains(t.tail, []byte(sign))
		t.tail = append(t.tail[:0], t.tail[max(0, len(t.tail)-len(sign)):]...)
	}
	return len(p), nil
}

// protocolOf returns the protocol for a path.
func protocolOf(path string) (protocol, bool) {
	switch {
	case strings.HasSuffix(path, "/responses"):
		return responses, true
	case strings.HasSuffix(path, "/messages"):
		return messages, true
	case strings.HasSuffix(path, ":streamGenerateContent"):
		return generateContent, true
	}
	return protocol{}, false
}
