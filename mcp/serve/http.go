package serve

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Path is the URL path at which the handler serves MCP.
const Path = "/mcp"

// Limits for HTTP connections.
const (
	minToken       = 16 // bytes
	maxSessions    = 64
	maxRequests    = 256
	maxHeader      = 64 << 10
	sessionTimeout = 30 * time.Minute
	idleTimeout    = 2 * time.Minute
	shutdownTime   = 5 * time.Second
)

// delays limits how long a client may take to send a request's header and body, and to read a part of the response.
type delays struct{ header, body, write time.Duration }

// timeouts are the delays for new handlers. Tests change them.
var timeouts = delays{10 * time.Second, 30 * time.Second, 30 * time.Second}

// requestHeader passes an HTTP request's ID to its calls. A client's own value is overwritten.
const requestHeader = "X-Reins-Request"

// HTTPConfig configures access over HTTP.
type HTTPConfig struct {
	// Token is the bearer token that clients must send. It needs at least 16 bytes.
	Token string
	// Hosts are the host names that clients may use for this server, in addition to localhost. IP addresses need not be
	// listed.
	Hosts []string
	// Origins are origins of web pages that may use the server, such as https://example.com, in addition to its own.
	Origins []string
	// MaxSessions limits the sessions. Zero means 64.
	MaxSessions int
	// SessionTimeout is how long a session may have no requests before it is closed. Zero means 30 minutes.
	SessionTimeout time.Duration
	// EventStore lets disconnected clients receive messages that they missed. Without it, a call is cancelled when its
	// client disconnects.
	EventStore sdk.EventStore
}

// Serve serves clients over HTTP at [Path] until ctx is done.
func (s *Server) Serve(ctx context.Context, l net.Listener, c HTTPConfig) error {
	h, err := s.Handler(c)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	requests, cancel := context.WithCancel(ctx)
	defer cancel()
	srv := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: timeouts.header,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,

		BaseContext: func(net.Listener) context.Context { return requests },
	}
	stop := context.AfterFunc(ctx, func() {
		// The request contexts are done, so their calls end too.
		last, cancel := context.WithTimeout(context.Background(), shutdownTime)
		defer cancel()
		if srv.Shutdown(last) != nil {
			srv.Close()
		}
	})
	defer stop()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Handler returns a handler for clients over HTTP. It refuses requests without the token, for another host name, or
// from web pages with another origin.
func (s *Server) Handler(c HTTPConfig) (http.Handler, error) {
	if len(c.Token) < minToken {
		return nil, errors.New("the token for MCP over HTTP is too short: use at least 16 random characters")
	}
	if c.MaxSessions <= 0 {
		c.MaxSessions = maxSessions
	}
	if c.SessionTimeout <= 0 {
		c.SessionTimeout = sessionTimeout
	}
	get := func(*http.Request) *sdk.Server { return s.sdk }
	h := &handler{
		server: s,
		config: c,
		delays: timeouts,
		token:  sha256.Sum256([]byte(c.Token)),
		slots:  make(chan struct{}, maxRequests),
	}
	if c.EventStore != nil {
		h.outliving, _ = s.track(context.Background())
	}
	h.sessions = sdk.NewStreamableHTTPHandler(get, &sdk.StreamableHTTPOptions{
		SessionTimeout: c.SessionTimeout, MaxRequestBodyBytes: maxMessage, EventStore: c.EventStore, DisableLocalhostProtection: true,
	})
	h.single = sdk.NewStreamableHTTPHandler(get, &sdk.StreamableHTTPOptions{
		Stateless: true, PropagateRequestCancellation: true, MaxRequestBodyBytes: maxMessage, DisableLocalhostProtection: true,
	})
	return h, nil
}

type handler struct {
	server   *Server
	config   HTTPConfig
	delays   delays
	token    [sha256.Size]byte
	slots    chan struct{} // full while maxRequests requests are served
	sessions http.Handler  // for clients with sessions
	single   http.Handler  // for clients without sessions, since protocol version 2026-07-28

	outliving string // origin of all calls, if they outlive their requests
}

func (h *handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	w = &patient{ResponseWriter: w, control: http.NewResponseController(w), timeout: h.delays.write}
	if status, problem := h.refuse(req); status != 0 {
		if status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", "Bearer")
		}
		http.Error(w, problem, status)
		return
	}
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	default:
		busy(w, "too many requests at the same time")
		return
	}
	if !h.readBody(w, req) {
		return
	}
	id := h.outliving
	if id == "" {
		var wait func()
		id, wait = h.server.track(req.Context())
		defer wait()
	}
	req.Header.Set(requestHeader, id)
	h.dispatch(w, req)
}

// dispatch passes a request to the SDK.
func (h *handler) dispatch(w http.ResponseWriter, req *http.Request) {
	session := req.Header.Get("Mcp-Session-Id")
	switch {
	case req.Header.Get("Mcp-Protocol-Version") >= asksByResult:
		h.single.ServeHTTP(w, req)
		return
	case session != "" && req.Method == http.MethodDelete:
		h.server.cancel(session) // the SDK waits for its calls
	case session == "" && req.Method == http.MethodPost:
		if !h.server.admit(h.config.MaxSessions) {
			busy(w, "too many sessions")
			return
		}
		defer h.server.admitted()
	}
	h.sessions.ServeHTTP(w, req)
}

func busy(w http.ResponseWriter, problem string) {
	w.Header().Set("Retry-After", "10")
	http.Error(w, problem, http.StatusServiceUnavailable)
}

// admit reports whether another session may be created, and counts it until admitted is called.
func (s *Server) admit(maximum int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.sessions
	for range s.sdk.Sessions() {
		n++
	}
	if n >= maximum {
		return false
	}
	s.sessions++
	return true
}

func (s *Server) admitted() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions--
}

// refuse returns the status and the reason for refusing a request, or 0.
func (h *handler) refuse(req *http.Request) (status int, problem string) {
	scheme, token, _ := strings.Cut(req.Header.Get("Authorization"), " ")
	given := sha256.Sum256([]byte(token))
	switch {
	case !h.known(hostname(req.Host)):
		return http.StatusForbidden, "the name in the Host header is not allowed: use localhost or an IP address, or allow the name"
	case !h.mayAsk(req):
		return http.StatusForbidden, "web pages of this origin are not allowed to use this server"
	case !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(given[:], h.token[:]) != 1:
		return http.StatusUnauthorized, "the bearer token is missing or wrong"
	case req.URL.Path != Path:
		return http.StatusNotFound, "not found; MCP is served at " + Path
	}
	return 0, ""
}

// known reports whether clients may use a host name or address for this server. Addresses are safe: a web page can make
// any name resolve to this machine, but not an address.
func (h *handler) known(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil || strings.EqualFold(host, "localhost") ||
		slices.ContainsFunc(h.config.Hosts, func(name string) bool { return strings.EqualFold(name, host) })
}

// hostname returns the name or address in a Host header.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.Trim(host, "[]")
}

// mayAsk reports whether a request comes from a program or from an allowed web page.
func (h *handler) mayAsk(req *http.Request) bool {
	origins := req.Header.Values("Origin")
	if len(origins) == 0 {
		return true
	}
	own, err := url.Parse(origins[0])
	return len(origins) == 1 && (slices.Contains(h.config.Origins, origins[0]) ||
		err == nil && (own.Scheme == "http" || own.Scheme == "https") && own.Host == req.Host)
}

// readBody reads a request body within a time and size limit, and reports whether it succeeded.
func (h *handler) readBody(w http.ResponseWriter, req *http.Request) bool {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(h.delays.body)) // a test server may not support it
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxMessage))
	if err != nil {
		status := http.StatusBadRequest
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			status = http.StatusRequestEntityTooLarge
		}
		w.Header().Set("Connection", "close")
		http.Error(w, "cannot read the request: "+err.Error(), status)
		return false
	}
	_ = control.SetReadDeadline(time.Time{})
	req.Body = io.NopCloser(bytes.NewReader(body))
	return true
}

// patient is a response writer that limits how long the client may take to read each part.
type patient struct {
	http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
}

func (p *patient) Unwrap() http.ResponseWriter { return p.ResponseWriter }

func (p *patient) Write(b []byte) (int, error) {
	_ = p.control.SetWriteDeadline(time.Now().Add(p.timeout))
	return p.ResponseWriter.Write(b)
}
