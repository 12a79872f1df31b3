package llmtest

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/wire"
)

// Server plays a script over HTTP in all four wire protocols, at once: the path of a request says
// which one it speaks. Requests that the real API would refuse are refused in its own words' shape.
type Server struct {
	config    ServerConfig
	protocols []protocol
	http      *httptest.Server

	mu         sync.Mutex
	n          int
	violations []error
	bodies     [][]byte
}

// ServerConfig sets up a server. Only Script is needed.
type ServerConfig struct {
	Script *Script
	// Key is the API key that requests must bring; "" accepts any but none.
	Key string
	// Lenient accepts requests that the real API would refuse.
	Lenient bool
	// Alternate refuses chats in which two user messages follow one another, as the templates of many
	// local models do.
	Alternate bool
	// Blind answers without looking at the conversations that requests hold: nothing is checked, and
	// the script is shown the model only. It is for long sessions, of which every request would be
	// read from its start again; Bodies has what to check.
	Blind bool
}

// NewServer starts a server on a loopback port. It must be closed.
func NewServer(script *Script) *Server { return StartServer(ServerConfig{Script: script}) }

// StartServer starts a server on a loopback port. It must be closed.
func StartServer(c ServerConfig) *Server {
	s := &Server{config: c, protocols: protocols()}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	return s
}

func protocols() []protocol {
	return []protocol{openaiProtocol{}, chatProtocol{}, anthropicProtocol{}, geminiProtocol{}}
}

// Close stops the server and breaks off what it is doing.
func (s *Server) Close() {
	s.http.CloseClientConnections()
	s.http.Close()
}

// BaseURL returns the base URL for an adapter, by the name of its dialect ("openai-responses",
// "openai-chat", "anthropic", "gemini") or of its provider ("openai", "chat"). It panics on any
// other name.
func (s *Server) BaseURL(name string) string {
	var names []string
	for _, p := range s.protocols {
		provider, path := p.base()
		dialect := p.dialect().Name()
		if name == dialect || name == provider {
			return s.http.URL + path
		}
		names = append(names, dialect)
	}
	panic(fmt.Sprintf("llmtest: Server.BaseURL: no dialect %q; use one of %s", name, strings.Join(names, ", ")))
}

// Violations are the reasons for which requests were refused so far.
func (s *Server) Violations() []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]error(nil), s.violations...)
}

// Bodies are the bodies of the requests that arrived so far.
func (s *Server) Bodies() [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([][]byte(nil), s.bodies...)
}

// Validate checks a request body as the server does.
func Validate(dialect string, body []byte) error {
	for _, p := range protocols() {
		if p.dialect().Name() == dialect {
			return p.validate(nil, body)
		}
	}
	return fmt.Errorf("there is no dialect %q", dialect)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	for _, p := range s.protocols {
		if p.match(r) {
			s.answer(w, r, p)
			return
		}
	}
	http.Error(w, fmt.Sprintf(`{"error":{"message":"unknown path %s"}}`, r.URL.Path), http.StatusNotFound)
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, p protocol) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 256<<20))
	if err != nil {
		return
	}
	id := s.record(body)
	w.Header().Set(p.requestID("req_" + id))
	if key := p.key(r); key == "" || (s.config.Key != "" && key != s.config.Key) {
		refuse(w, p, http.StatusUnauthorized, "invalid API key")
		return
	}
	req, err := s.read(r, p, body)
	if err != nil {
		s.violated(err)
		refuse(w, p, http.StatusBadRequest, err.Error())
		return
	}
	req.Model = modelOf(r, req.Model)
	list, complain := p.refusal()
	if path := poisoned(body, list, s.config.Script.Poison); path != nil {
		s.config.Script.record(req, true)
		refuse(w, p, http.StatusBadRequest, complain(path))
		return
	}
	turn, err := s.config.Script.next(req)
	if err != nil {
		s.violated(err)
		refuse(w, p, http.StatusBadRequest, err.Error())
		return
	}
	rep := reply{ID: id, Model: req.Model, Parts: turn.Parts, Finish: turn.Finish, Usage: turn.Usage, Chunk: turn.Chunk, Request: req}
	play(w, r, p, turn, rep, p.streaming(r, body))
}

// read makes a request of its body, if the real API would take it.
func (s *Server) read(r *http.Request, p protocol, body []byte) (*llm.Request, error) {
	if s.config.Blind {
		return &llm.Request{Model: wire.Value(body).Get("model").Str()}, nil
	}
	if err := p.validate(r, body); err != nil && !s.config.Lenient {
		return nil, err
	}
	if err := alternates(body); err != nil && s.config.Alternate && p == (chatProtocol{}) {
		return nil, err
	}
	req, _, err := p.dialect().(wire.Parser).Parse(body)
	return req, err
}

// modelOf is the model of a request, which Gemini has in the path.
func modelOf(r *http.Request, model string) string {
	if _, rest, ok := strings.Cut(r.URL.Path, "/models/"); ok && model == "" {
		model, _, _ = strings.Cut(rest, ":")
	}
	return model
}

func (s *Server) record(body []byte) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	s.bodies = append(s.bodies, body)
	return fmt.Sprintf("%06d", s.n)
}

func (s *Server) violated(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.violations = append(s.violations, err)
}

func refuse(w http.ResponseWriter, p protocol, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(p.failure(status, message))
}

// play writes the turn with its faults.
func play(w http.ResponseWriter, r *http.Request, p protocol, turn Turn, rep reply, stream bool) {
	f := turn.Fault
	if f.StallAtOnce {
		<-r.Context().Done()
		return
	}
	if f.Reset && f.CutAt == 0 {
		reset(w)
		return
	}
	if pause(r.Context(), turn.Delay+f.SlowFirstByte) != nil {
		return
	}
	if f.Status != 0 {
		if f.RetryAfter != "" {
			w.Header().Set("Retry-After", f.RetryAfter)
		}
		refuse(w, p, f.Status, f.message())
		return
	}
	frames := [][]byte{p.unary(rep)}
	w.Header().Set("Content-Type", "application/json")
	if stream {
		frames = p.stream(rep)
		w.Header().Set("Content-Type", "text/event-stream")
	}
	send(w, r, turn, spoil(f, p, frames, stream))
}

// spoil applies the faults that change what is sent.
func spoil(f Fault, p protocol, frames [][]byte, stream bool) [][]byte {
	if f.Malformed {
		broken := []byte(`{"type":"oops`)
		if stream {
			broken = frame("", broken)
		}
		return append(frames[:len(frames)/2:len(frames)/2], broken)
	}
	if !stream {
		return frames
	}
	var out [][]byte
	for i, fr := range frames {
		if f.MidStream != 0 && i == len(frames)-1 {
			return append(out, p.midFailure(f.MidStream, f.message()))
		}
		if f.Pings {
			out = append(out, []byte(": ping\n\n"))
		}
		out = append(out, fr)
		if f.Duplicate && repeatable(fr, i == len(frames)-1) {
			out = append(out, fr)
		}
	}
	return out
}

// repeatable reports whether a frame carries no piece of content of its own, so that a client can
// be asked to take it twice.
func repeatable(fr []byte, last bool) bool {
	return last || bytes.HasPrefix(fr, []byte("event:")) && !bytes.Contains(fr, []byte("delta"))
}

// send writes the frames one by one, up to where the connection breaks.
func send(w http.ResponseWriter, r *http.Request, turn Turn, frames [][]byte) {
	f := turn.Fault
	out := http.NewResponseController(w)
	sent := 0
	for _, fr := range frames {
		for _, limit := range []int{f.CutAt, f.StallAt} {
			if limit > 0 && sent+len(fr) > limit {
				fr = fr[:limit-sent]
			}
		}
		if _, err := w.Write(fr); err != nil || out.Flush() != nil {
			return
		}
		sent += len(fr)
		switch {
		case f.StallAt > 0 && sent >= f.StallAt:
			<-r.Context().Done()
			return
		case f.CutAt > 0 && sent >= f.CutAt:
			if f.Reset {
				reset(w)
			}
			return
		}
		if pause(r.Context(), turn.Gap) != nil {
			return
		}
	}
}

// reset breaks the connection off hard.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
