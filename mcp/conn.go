package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// legacy is the last protocol version with an initialize request. Some servers exit when they receive the first request
// from newer versions.
const legacy = "2025-11-25"

// conn is a connection to a server.
type conn struct {
	*sdk.ClientSession
	srv  *server
	dead chan struct{} // closed when the connection is lost
	err  error         // why; read it after dead is closed
	once sync.Once     // closes dead

	end  context.CancelFunc // ends all requests and calls at once
	wait func()             // waits for the process; nil for HTTP
	link atomic.Pointer[sdk.Connection]
	http *remote // nil for a process

	calls    atomic.Int32 // unanswered requests to the server
	asking   atomic.Int32 // the server's requests that the user or a model is answering
	progress sync.Map     // progress tokens to *deadline
	tokens   atomic.Int64
}

// tap records a transport's connection, so that it can be closed directly: closing the SDK session waits for its calls.
type tap struct {
	sdk.Transport
	conn *conn
}

func (t tap) Connect(ctx context.Context) (sdk.Connection, error) {
	link, err := t.Transport.Connect(ctx)
	if err == nil {
		t.conn.link.Store(&link)
	}
	return link, err
}

// connect connects to the server before limit is done. The caller closes the connection.
func (s *server) connect(ctx, limit context.Context, version string) (*conn, error) {
	c := &conn{srv: s, dead: make(chan struct{})}
	transport, err := c.transport(limit)
	if err != nil {
		return nil, startError{err}
	}
	// With limit as the context of Connect, the SDK would close some connections when it ends, and let some requests
	// outlive it.
	stop := context.AfterFunc(limit, func() {
		c.end()
		c.unlink()
	})
	c.ClientSession, err = s.sdkClient(c).Connect(ctx, tap{transport, c}, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if !stop() {
		err = context.Cause(limit)
	}
	if err != nil {
		c.close()
		if c.http != nil && c.http.refused.Load() != nil {
			err = *c.http.refused.Load()
		}
		return nil, err
	}
	go func() { c.lose(c.Wait()) }()
	return c, nil
}

// lose records that the connection is lost. While a handler runs, the SDK notices it late.
func (c *conn) lose(err error) {
	c.once.Do(func() {
		c.err = err
		close(c.dead)
	})
}

// startError means that a process could not be started, or that a URL is invalid.
type startError struct{ error }

// transport starts a server process, or prepares HTTP.
func (c *conn) transport(limit context.Context) (sdk.Transport, error) {
	s := c.srv
	if s.Command != "" {
		p, err := startStdio(limit, s.client.cfg.Env, s.Server, s.log, c.lose)
		if err != nil {
			return nil, err
		}
		c.wait, c.end = p.wait, func() { p.Close() }
		return p, nil
	}
	r, err := newRemote(limit, s.client.base, s.Server)
	if err != nil {
		return nil, err
	}
	if token := s.client.cfg.Token; token != nil {
		r.token = func(ctx context.Context, refused string) (string, error) { return token(ctx, s.name, refused) }
	}
	c.end, c.http = r.end, r
	return r.transport(s.Server), nil
}

// close ends the connection, and its process.
func (c *conn) close() {
	timer := time.AfterFunc(time.Second, c.end)
	defer timer.Stop()
	c.unlink()
	c.end()
	if c.ClientSession != nil {
		go c.Close() // waits for host callbacks
	}
	if c.wait != nil {
		c.wait()
	}
}

// unlink closes the SDK's connection. Over HTTP, this sends a request.
func (c *conn) unlink() {
	if link := c.link.Load(); link != nil {
		(*link).Close()
	}
}

// sdkClient returns an SDK client for a connection.
func (s *server) sdkClient(c *conn) *sdk.Client {
	cfg := s.client.cfg
	changed := func() {
		select {
		case s.changed <- struct{}{}:
		default:
		}
	}
	o := &sdk.ClientOptions{
		Logger:                 slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelError})),
		Capabilities:           &sdk.ClientCapabilities{},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { changed() },
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			token, _ := r.Params.ProgressToken.(string) // the server may send anything
			if d, ok := c.progress.Load(token); ok {
				d.(*deadline).progress(r.Params)
			}
		},
	}
	if cfg.Elicit != nil {
		o.Capabilities.Elicitation = &sdk.ElicitationCapabilities{
			Form: &sdk.FormElicitationCapabilities{},
			URL:  &sdk.URLElicitationCapabilities{},
		}
		o.ElicitationHandler = c.elicit
	}
	if cfg.Sample != nil {
		//lint:ignore SA1019 servers still use it
		o.CreateMessageHandler = c.sample
	}
	if len(cfg.Roots) > 0 {
		//lint:ignore SA1019 servers still use it
		o.Capabilities.RootsV2 = &sdk.RootCapabilities{}
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "reins", Version: cmp.Or(cfg.Version, buildVersion())}, o)
	client.AddReceivingMiddleware(survive)
	if err := sdk.AddSendingCustomMethod[*rawParams, *rawTools](client, rawList); err != nil {
		panic(err) // only if the SDK itself defines the method
	}
	for _, dir := range cfg.Roots {
		//lint:ignore SA1019 servers still use it
		client.AddRoots(&sdk.Root{URI: fileURI(dir), Name: dir[strings.LastIndexAny(dir, `/\`)+1:]})
	}
	return client
}

// survive turns a panic over a malformed message into an error.
func survive(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (res sdk.Result, err error) {
		if method == "notifications/elicitation/complete" {
			return nil, nil // not used; without parameters, the SDK panics and keeps a lock
		}
		defer func() {
			if v := recover(); v != nil {
				res, err = nil, fmt.Errorf("%s: malformed message", method)
			}
		}()
		return next(ctx, method, r)
	}
}

// fileURI returns the URI of an absolute path on any operating system.
func fileURI(path string) string {
	path = strings.ReplaceAll(path, `\`, "/")
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// reason returns an error's cause, without the request URL, which may contain a secret, and without the context that
// the SDK adds.
func reason(err error) error {
	var request *url.Error
	switch {
	case errors.As(err, &request):
		return request.Err
	case errors.Is(err, io.EOF):
		return errors.New("the server closed the connection")
	}
	return err
}

// explain adds the server process's last output to an error.
func (s *server) explain(err error) error {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("the server did not answer within %v", s.client.cfg.Connect)
	default:
		err = reason(err)
	}
	if last := s.log.last(); last != "" && s.Command != "" {
		return fmt.Errorf("%w; its last output: %s", err, last)
	}
	return err
}

// buildVersion returns the program version, or "devel" if it was not built from a version.
var buildVersion = sync.OnceValue(func() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "(devel)" {
		return cmp.Or(info.Main.Version, "devel")
	}
	return "devel"
})
