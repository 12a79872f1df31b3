// Package serve offers a pipeline's tools to MCP clients, over standard input and output or over HTTP.
//
// Every call goes through the pipeline: it is validated, checked against the policy, approved, sandboxed, redacted,
// truncated and audited like a model's call. A client sees what a model would see. If a call needs approval and the
// client supports elicitation, the client's user is asked; otherwise the pipeline's own approver decides.
package serve

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/tool"
)

// maxMessage limits the size of a client's message, in bytes.
const maxMessage = 8 << 20

// defaultCalls is the default for Config.MaxCalls.
const defaultCalls = 16

// Config configures a server.
type Config struct {
	Name, Version string // the server's name and version, as reported to clients

	// Pipeline runs every call. Its Approve decides on calls that need approval if the client cannot ask its user; nil
	// refuses them.
	Pipeline *tool.Pipeline
	Env      env.Environment // where the tools run
	// Describe returns the text that a user is shown before they approve a call. The default names the tool, its
	// arguments, its accesses and why it needs approval. It may be called concurrently.
	Describe func(ctx context.Context, r tool.Request) string
	// Guard, if set, is called before a user or Pipeline.Approve is asked. If it returns an answer, the call is refused
	// with it. It may be called concurrently.
	Guard func(ctx context.Context, r tool.Request) *tool.Approval
	// MaxCalls limits the calls that run at the same time; others wait. Zero means 16.
	MaxCalls int

	// Options and Extend configure the SDK's server, for example to add resources and prompts. Tools that they add do
	// not go through the pipeline.
	Options sdk.ServerOptions
	Extend  func(*sdk.Server)
}

// Server offers a pipeline's tools.
type Server struct {
	config Config
	sdk    *sdk.Server
	slots  chan struct{} // full while MaxCalls calls run
	open   questions

	mu       sync.Mutex
	running  map[*running]struct{}
	requests map[string]*origin // connections and HTTP requests with calls, by a random ID
	sessions int                // sessions that are being created
}

// running is a running call.
type running struct {
	session *sdk.ServerSession
	cancel  context.CancelCauseFunc
}

// New returns a server for the tools that the pipeline has now. It fails if MCP cannot describe a tool.
func New(c Config) (*Server, error) {
	if c.Pipeline == nil || c.Pipeline.Registry == nil || c.Env == nil {
		return nil, errors.New("an MCP server needs a pipeline with tools and an environment")
	}
	if c.MaxCalls <= 0 {
		c.MaxCalls = defaultCalls
	}
	if c.Describe == nil {
		c.Describe = describe
	}
	if c.Options.Capabilities == nil {
		c.Options.Capabilities = &sdk.ServerCapabilities{}
	}
	s := &Server{
		config:   c,
		slots:    make(chan struct{}, c.MaxCalls),
		running:  make(map[*running]struct{}),
		requests: make(map[string]*origin),

		sdk: sdk.NewServer(&sdk.Implementation{Name: c.Name, Version: c.Version}, &c.Options),
	}
	for _, spec := range c.Pipeline.Registry.Specs() {
		if err := s.add(spec); err != nil {
			return nil, err
		}
	}
	if c.Extend != nil {
		c.Extend(s.sdk)
	}
	return s, nil
}

// add offers a tool.
func (s *Server) add(spec tool.Spec) (err error) {
	defer func() {
		if v := recover(); v != nil { // the SDK panics if the schema is invalid
			err = fmt.Errorf("tool %s: %v", spec.Name, v)
		}
	}()
	out, err := structured(spec.Output)
	if err != nil {
		return fmt.Errorf("tool %s: invalid output schema: %w", spec.Name, err)
	}
	t := &sdk.Tool{Name: spec.Name, Description: spec.Description, InputSchema: spec.Input, Annotations: &sdk.ToolAnnotations{
		ReadOnlyHint: spec.ReadOnly, DestructiveHint: &spec.Destructive, IdempotentHint: spec.Idempotent, OpenWorldHint: &spec.OpenWorld,
	}}
	if out != nil {
		t.OutputSchema = out.schema
	}
	s.sdk.AddTool(t, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return s.call(ctx, req, out)
	})
	return nil
}

// Run serves one client until in ends or parent is done. When in ends, running calls have two seconds to finish. Run
// then cancels the rest and waits for them. It does not close the streams.
func (s *Server) Run(parent context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancelCause(parent)
	id, wait := s.track(ctx)
	defer wait()
	defer cancel(errClientGone)
	// A read from standard input cannot be interrupted. It may outlive this server.
	r, w := io.Pipe()
	go func() {
		_, err := io.Copy(w, in)
		w.CloseWithError(err)
	}()
	t := &sdk.IOTransport{Reader: r, Writer: noClose{out}, MaxLineLength: maxMessage}
	err := s.sdk.Run(context.WithValue(ctx, requestKey{}, id), lingering{t, cancel})
	switch cause := context.Cause(ctx); {
	case cause == nil:
		return err
	case cause == errClientGone, parent.Err() != nil:
		return nil
	default:
		return fmt.Errorf("cannot read the input of the MCP client: %w", cause)
	}
}

// noClose is a writer whose Close does nothing.
type noClose struct{ io.Writer }

func (noClose) Close() error { return nil }

// requestKey is the context key for the ID that track returned.
type requestKey struct{}

// origin is a connection or an HTTP request with calls.
type origin struct {
	ctx   context.Context
	calls sync.WaitGroup
}

// track registers the context of a connection or a request, and returns an ID for its calls. They are cancelled when
// the context is done; the SDK does not derive their contexts from it. wait ends the registration, so that no further
// call can start, and waits for running calls.
func (s *Server) track(ctx context.Context) (id string, wait func()) {
	id = rand.Text()
	r := &origin{ctx: ctx}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests[id] = r
	return id, func() {
		s.mu.Lock()
		delete(s.requests, id)
		s.mu.Unlock()
		r.calls.Wait()
	}
}

// begin registers a call. It returns a context that ends with the call's origin, and a function that unregisters the
// call.
func (s *Server) begin(ctx context.Context, req *sdk.CallToolRequest) (context.Context, func(), error) {
	id, _ := ctx.Value(requestKey{}).(string)
	if req.Extra != nil && req.Extra.Header.Get(requestHeader) != "" {
		id = req.Extra.Header.Get(requestHeader)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	c := &running{session: req.Session, cancel: cancel}
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.requests[id]
	if !ok { // the origin has ended
		cancel(nil)
		return nil, nil, errClientGone
	}
	s.running[c] = struct{}{}
	r.calls.Add(1)
	stop := context.AfterFunc(r.ctx, func() { cancel(errClientGone) })
	return ctx, func() {
		stop()
		cancel(nil)
		s.mu.Lock()
		delete(s.running, c)
		s.mu.Unlock()
		r.calls.Done()
	}, nil
}

// cancel cancels a session's calls.
func (s *Server) cancel(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for r := range s.running {
		if r.session.ID() == session {
			r.cancel(errClientGone)
		}
	}
}

// result describes a tool's structured content.
type result struct {
	schema json.RawMessage
	fields map[string]bool // properties in the schema
}

// structured returns the output schema for clients. It omits model_output, because clients get that as their output. It
// returns nil if the tool has no output schema.
func structured(schema json.RawMessage) (*result, error) {
	if len(schema) == 0 {
		return nil, nil
	}
	var all map[string]any
	if err := json.Unmarshal(schema, &all); err != nil {
		return nil, err
	}
	properties, _ := all["properties"].(map[string]any)
	r := &result{fields: make(map[string]bool)}
	for name := range properties {
		r.fields[name] = name != modelOutput
	}
	delete(properties, modelOutput)
	if required, ok := all["required"].([]any); ok {
		kept := []any{}
		for _, name := range required {
			if name != modelOutput {
				kept = append(kept, name)
			}
		}
		all["required"] = kept
	}
	var err error
	r.schema, err = json.Marshal(all)
	return r, err
}

// Properties in tool output schemas: the whole output, and the part that the model sees. Clients get the latter as the
// output.
const (
	wholeOutput = "output"
	modelOutput = "model_output"
)
