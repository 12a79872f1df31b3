// Package exchanges replays HTTP exchanges that were recorded with real local model servers, for tests. Large
// request bodies are left out.
package exchanges

import (
	"bufio"
	"embed"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"strings"
	"sync"
	"testing"
)

//go:embed testdata
var files embed.FS

// Answer is a recorded answer. Closed means that the server closed the connection without one.
type Answer struct {
	Status string // such as "200 OK"
	Header http.Header
	Body   string
	Closed bool
}

// Load returns a recorded answer, by its file name without the extension.
func Load(t testing.TB, name string) Answer {
	t.Helper()
	data, err := files.ReadFile("testdata/" + name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(data), "======== response ========\n")
	r := textproto.NewReader(bufio.NewReader(strings.NewReader(text)))
	line, _ := r.ReadLine()
	if strings.HasPrefix(line, "UPSTREAM ERROR") {
		return Answer{Closed: true}
	}
	status, _, _ := strings.Cut(line, " (after")
	header, err := r.ReadMIMEHeader()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	body, _ := io.ReadAll(r.R)
	end := strings.LastIndex(string(body), "\n[end after")
	return Answer{Status: status, Header: http.Header(header), Body: string(body[:max(end, 0)])}
}

// Request is a request that a Server received.
type Request struct {
	Method, Path string
	Header       http.Header
	Body         string
}

// Server answers requests with recordings.
type Server struct {
	*httptest.Server
	mu   sync.Mutex
	seen []Request
}

// Requests returns the requests so far to a path; "" means all.
func (s *Server) Requests(path string) (list []Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.seen {
		if path == "" || r.Path == path {
			list = append(list, r)
		}
	}
	return list
}

// Serve starts a server. Choose returns the answer to a request: a recording's name, or a body that begins with a
// brace. It returns "" for 404. Calls to choose do not overlap.
func Serve(t testing.TB, choose func(Request) string) *Server {
	t.Helper()
	s := &Server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		req := Request{r.Method, r.URL.Path, r.Header, string(body)}
		s.mu.Lock()
		s.seen = append(s.seen, req)
		name := choose(req)
		s.mu.Unlock()
		switch {
		case name == "":
			http.NotFound(w, r)
		case strings.HasPrefix(name, "{"):
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, name)
		default:
			Load(t, name).write(t, w)
		}
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// write sends the answer. Like llama-server, a server that sends a Keep-Alive header closes the connection when the
// next request arrives on it after a stream.
func (a Answer) write(t testing.TB, w http.ResponseWriter) {
	stale := a.Header.Get("Keep-Alive") != "" && strings.HasPrefix(a.Header.Get("Content-Type"), "text/event-stream")
	if !a.Closed && !stale {
		for k, v := range a.Header {
			w.Header()[k] = v
		}
		var status int
		_, _ = fmt.Sscan(a.Status, &status)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, a.Body)
		return
	}
	conn, rw, err := w.(http.Hijacker).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	if a.Closed {
		return
	}
	fmt.Fprintf(rw, "HTTP/1.1 %s\r\nTransfer-Encoding: chunked\r\n", a.Status)
	_ = a.Header.Write(rw)
	fmt.Fprintf(rw, "\r\n%x\r\n%s\r\n0\r\n\r\n", len(a.Body), a.Body)
	_ = rw.Flush()
	_, _ = rw.ReadByte() // the next request
}
