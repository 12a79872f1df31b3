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

// server is a scripted model without latency: it asks for one command per request, and says that
// it is done when it has asked for all of them. It never looks into a request, so that what it
// costs does not grow with the conversation, apart from taking the bytes in.
type server struct {
	URL  string
	http *http.Server

	mu     sync.Mutex
	script script
	calls  []call
	onLast func() // called before the last answer is given
}

// script is what one run is answered.
type script struct {
	rounds int
	tool   string              // the agent's shell tool
	args   func(string) string // its arguments for a command
}

// call is one request for an answer of the model.
type call struct {
	arrived  time.Time // its header is there
	answered time.Time // the answer is written
	size     int64     // of its body
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

// play sets the script of the next run.
func (s *server) play(sc script, onLast func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script, s.calls, s.onLast = sc, nil, onLast
}

// taken are the calls of the run so far.
func (s *server) taken() []call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]call(nil), s.calls...)
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	arrived := time.Now()
	p, ok := protocolOf(r.URL.Path)
	if !ok || r.Method != http.MethodPost {
		// Agents ask for lists of models, settings and the like, and can do without.
		http.Error(w, `{"error":{"message":"the benchmark's model does not know this"}}`, http.StatusNotFound)
		return
	}
	tools := toolSight{}
	size, err := io.Copy(&tools, r.Body)
	if err != nil {
		return
	}
	if !tools.seen {
		// A call beside the conversation, such as for a title.
		p.write(w, p.say("Benchmark"))
		return
	}
	n, answer, last := s.next(p)
	if last != nil {
		last()
	}
	p.write(w, answer)
	s.took(n, call{arrived, time.Now(), size})
}

// next is the answer to the next call of the conversation, and what is to be done before the last.
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

// toolSight takes a body in and looks whether its call offers tools.
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

// protocolOf is the protocol that a path belongs to.
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
