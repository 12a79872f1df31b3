package llmtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/reins-agent/reins/internal/requests"
	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// Server plays a script over HTTP in all wire protocols, cloud platforms included. The request path selects the
// protocol. Requests that the real API would refuse are refused with the same kind of error.
type Server struct {
	config    ServerConfig
	protocols []protocol
	url       string
	http      http.Server

	mu         sync.Mutex
	running    sync.WaitGroup
	closed     bool
	n          int
	violations []error
	bodies     [][]byte
	dropped    []string
	cached     int
}

// ServerConfig configures a server. Only Script is required.
type ServerConfig struct {
	Script *Script
	// Key is the API key that requests must have; "" accepts any key but an empty one.
	Key string
	// Alternate refuses chats with two consecutive user messages, as the templates of many local models do.
	Alternate bool
	// Blind answers without parsing the conversation: nothing is validated, and the script only sees the model.
	// This is faster for long sessions. Check Bodies afterwards.
	Blind bool
	// MaxInput is the maximum input in tokens, estimated as a quarter of the bytes. 0 means the model's limit.
	MaxInput int64
	// NeedPhase refuses answers of OpenAI models without a phase, also if they are not known to have had one.
	NeedPhase bool

	// Claude models bind thinking to everything before it and refuse requests that changed that, unless a request asks
	// for thinking to be dropped. Dropped returns the dropped thinking.
	//
	// NeverDrop refuses such requests too. CountDrops records dropped thinking in Violations.
	NeverDrop, CountDrops bool
	// OldAccount only reports thinking that does not fit, as the API does for accounts created before the check.
	OldAccount bool
}

// NewServer starts a server for a script on a loopback port. The caller must close it.
func NewServer(script *Script) *Server { return StartServer(ServerConfig{Script: script}) }

// StartServer starts a server on a loopback port. The caller must close it.
func StartServer(c ServerConfig) *Server {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic("llmtest: " + err.Error())
	}
	s := &Server{config: c, protocols: protocols(), url: "http://" + listener.Addr().String()}
	s.http.Handler = http.HandlerFunc(s.serve)
	s.running.Go(func() { _ = s.http.Serve(listener) })
	return s
}

func protocols() []protocol {
	return []protocol{
		openaiProtocol{}, chatProtocol{}, anthropicProtocol{}, geminiProtocol{}, converseProtocol{},
		bedrockClaude, vertexClaude, bedrockMessages{},
	}
}

// Close closes all connections and waits for the server to stop.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	_ = s.http.Close()
	s.running.Wait()
}

// BaseURL returns the base URL for a dialect ("openai-responses", "openai-chat", "anthropic", "gemini",
// "bedrock-converse") or a provider ("openai", "chat", "bedrock", "vertex"). It panics on any other name.
func (s *Server) BaseURL(name string) string {
	var names []string
	for _, p := range s.protocols {
		provider, path := p.base()
		dialect := p.dialect().Name()
		if name == dialect || name == provider {
			return s.url + path
		}
		if !slices.Contains(names, dialect) {
			names = append(names, dialect)
		}
	}
	panic(fmt.Sprintf("llmtest: Server.BaseURL: unknown dialect %q; use one of %s", name, strings.Join(names, ", ")))
}

// Violations returns the errors for the requests refused so far.
func (s *Server) Violations() []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.violations)
}

// Dropped returns the thinking in requests so far that was not shown to the model, as its place and the reason:
// "messages.1.content.0: prefix_binding_mismatch".
func (s *Server) Dropped() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.dropped)
}

// Cached returns the number of requests so far to OpenRouter's Claude models that have cache_control. The others are
// not cached.
func (s *Server) Cached() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cached
}

// Bodies returns the request bodies received so far.
func (s *Server) Bodies() [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.bodies)
}

// Validate checks a request body as the server does, by dialect name.
func Validate(dialect string, body []byte) error {
	for _, p := range protocols() {
		if p.dialect().Name() == dialect {
			if err := p.validate(nil, body); err != nil {
				return err
			}
			_, err := examine(ServerConfig{}, p, nil, body)
			return err
		}
	}
	return fmt.Errorf("unknown dialect %q", dialect)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.running.Add(1)
	s.mu.Unlock()
	defer s.running.Done()
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
	if !authorized(p, r, body, s.config.Key) {
		refuse(w, p, http.StatusUnauthorized, "invalid API key")
		return
	}
	req, found, err := s.read(r, p, body)
	if err != nil {
		s.violated(err)
		refuse(w, p, http.StatusBadRequest, err.Error())
		return
	}
	req.Model = modelOf(r, req.Model)
	if found.compact && req.Compact == "" {
		req.Compact = "summarize"
	}
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
	rep := reply{
		ID: id, Model: req.Model, Parts: turn.Parts, Finish: turn.Finish, Usage: turn.Usage, Chunk: turn.Chunk, Request: req,
		Detail: turn.Detail, found: found,
	}
	play(w, r, p, turn, rep, p.streaming(r, body))
}

// cloudProtocol is implemented by protocols of cloud platforms.
type cloudProtocol interface {
	// authorized reports whether a request is signed with the key, or has it as a token; "" accepts any key.
	authorized(r *http.Request, body []byte, key string) bool
	// contentType is a stream's type, and reframe encodes a server-sent event for it.
	contentType() string
	reframe(sse []byte) []byte
	// errorType is the value for the header X-Amzn-Errortype, or "".
	errorType(status int) string
}

func authorized(p protocol, r *http.Request, body []byte, key string) bool {
	if c, ok := p.(cloudProtocol); ok {
		return c.authorized(r, body, key)
	}
	sent := p.key(r)
	return sent != "" && (key == "" || sent == key)
}

// read parses a request, unless the real API would refuse it.
func (s *Server) read(r *http.Request, p protocol, body []byte) (*llm.Request, findings, error) {
	if s.config.Blind {
		return &llm.Request{Model: wire.Value(body).Get("model").Str()}, findings{}, nil
	}
	if err := p.validate(r, body); err != nil {
		return nil, findings{}, err
	}
	if err := alternates(body); err != nil && s.config.Alternate && p == (chatProtocol{}) {
		return nil, findings{}, err
	}
	found, err := examine(s.config, p, r, body)
	if err != nil {
		return nil, found, err
	}
	s.note(found)
	req, _, err := requests.Parse(p.dialect(), body)
	return req, found, err
}

// note records what tests ask for.
func (s *Server) note(found findings) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found.cached {
		s.cached++
	}
	if found.thread == nil {
		return
	}
	for _, d := range found.thread.drops {
		if d.kind != "thinking_dropped" {
			continue
		}
		entry := d.path + ": " + d.reason
		s.dropped = append(s.dropped, entry)
		if s.config.CountDrops && d.reason == "prefix_binding_mismatch" {
			s.violations = append(s.violations, errors.New(entry))
		}
	}
}

// modelOf returns a request's model. Gemini and the cloud platforms have it in the path.
func modelOf(r *http.Request, model string) string {
	if _, rest, ok := strings.Cut(r.URL.Path, "/model/"); ok && model == "" {
		return rest[:strings.LastIndexByte(rest, '/')]
	}
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
	if c, ok := p.(cloudProtocol); ok && c.errorType(status) != "" {
		w.Header().Set("X-Amzn-Errortype", c.errorType(status))
	}
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
	frames = spoil(f, p, frames, stream)
	if c, ok := p.(cloudProtocol); ok && stream {
		w.Header().Set("Content-Type", c.contentType())
		for i := range frames {
			frames[i] = c.reframe(frames[i])
		}
	}
	send(w, r, turn, frames)
}

// spoil applies the faults that change the frames.
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

// repeatable reports whether a frame has no content, so that clients must accept it twice.
func repeatable(fr []byte, last bool) bool {
	return last || bytes.HasPrefix(fr, []byte("event:")) && !bytes.Contains(fr, []byte("delta"))
}

// send writes the frames until the connection fails.
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

// reset resets the connection.
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
