package serve

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// errClientGone is the cause of a context that was cancelled because its client disconnected.
var errClientGone = errors.New("the MCP client disconnected")

// grace is how long calls may run after a client's input has ended. Tests change it.
var grace = 10 * time.Second

// lingering is a transport that delays the end of its input until all requests are answered, at most for the grace
// period. This makes it possible to pipe a file with requests to a server.
type lingering struct {
	sdk.Transport
	ended context.CancelCauseFunc
}

// Connect implements [sdk.Transport].
func (t lingering) Connect(ctx context.Context) (sdk.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	return &lingeringConn{Connection: c, ended: t.ended, idle: make(chan struct{}), closed: make(chan struct{})}, err
}

type lingeringConn struct {
	sdk.Connection
	ended  context.CancelCauseFunc
	idle   chan struct{} // closed when the last request is answered after the input has ended
	closed chan struct{}
	close  sync.Once

	mu   sync.Mutex
	open int // requests without an answer
	over bool
}

// Read returns the next message.
func (c *lingeringConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if req, ok := m.(*jsonrpc.Request); ok && req.IsCall() {
		c.count(1, false)
	}
	switch {
	case errors.Is(err, io.EOF):
		c.count(0, true)
		select {
		case <-c.idle:
		case <-c.closed:
		case <-ctx.Done():
		case <-time.After(grace):
		}
		c.ended(errClientGone)
	case err != nil:
		c.ended(err)
	}
	return m, err
}

// Write sends a message.
func (c *lingeringConn) Write(ctx context.Context, m jsonrpc.Message) error {
	err := c.Connection.Write(ctx, m)
	if _, ok := m.(*jsonrpc.Response); ok {
		c.count(-1, false)
	}
	return err
}

// count updates the number of open requests, and records the end of the input if over is set.
func (c *lingeringConn) count(n int, over bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open += n
	first := over && !c.over
	c.over = c.over || over
	if c.over && c.open == 0 && (n < 0 || first) {
		close(c.idle)
	}
}

// Close closes the connection.
func (c *lingeringConn) Close() error {
	c.close.Do(func() { close(c.closed) })
	return c.Connection.Close()
}
