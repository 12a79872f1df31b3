package mcp

import (
	"context"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reins-agent/reins/tool"
)

// codeRejected is the SDK's error code for a request without an HTTP response.
const codeRejected = -32005

// call calls a server tool.
func (s *server) call(ctx context.Context, name string, c *tool.Call) tool.Result {
	params := &sdk.CallToolParams{Name: name}
	if len(c.Args) > 0 {
		params.Arguments = c.Args
	}
	var res *sdk.CallToolResult
	err := s.do(ctx, c.Output, params, func(ctx context.Context, conn *conn) (err error) {
		res, err = conn.CallTool(ctx, params)
		return err
	})
	if err != nil {
		return s.failure(ctx, err)
	}
	return result(res, c.Vision)
}

// progressParams are request parameters that can ask for progress.
type progressParams interface {
	SetProgressToken(t any)
}

// do makes a request within the server's timeout. If the request did not reach the server, because the connection or
// the session was already lost, it is retried once.
func (s *server) do(ctx context.Context, output func([]byte), p progressParams, f func(context.Context, *conn) error) error {
	for again := true; ; again = false {
		c, err := s.connected(ctx)
		if err != nil {
			return err
		}
		d := c.begin(ctx, output)
		if p != nil {
			p.SetProgressToken(d.token)
		}
		err = f(d.ctx, c)
		if err != nil && context.Cause(d.ctx) == errTimeout {
			err = errTimeout
		}
		d.stop()
		unsent := errors.Is(err, sdk.ErrConnectionClosed) || errors.Is(err, sdk.ErrSessionMissing)
		if unsent || errors.Is(err, errAuth) {
			c.drop(err)
		}
		if !unsent || !again {
			return err
		}
	}
}

// drop closes a broken connection, so that the next request waits for a new one.
func (c *conn) drop(err error) {
	s := c.srv
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != c {
		return
	}
	c.lose(err)
	s.conn = nil
	if errors.Is(err, errAuth) {
		s.state, s.err = NeedsAuth, errAuth
	} else {
		s.pending(nil)
	}
	go c.close()
}

// errDown means that a server is not connected.
type errDown struct{ err error }

func (e errDown) Error() string { return fmt.Sprintf("the server is not connected: %v", e.err) }
func (e errDown) Unwrap() error { return e.err }

// connected returns the connection. If there is none, it waits for one, at most for callWait.
func (s *server) connected(ctx context.Context) (*conn, error) {
	s.revive(false)
	limit, cancel := context.WithTimeout(ctx, callWait)
	defer cancel()
	s.wait(limit)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.conn != nil && s.state == Connected:
		return s.conn, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case s.err != nil:
		return nil, errDown{s.err}
	}
	return nil, errDown{fmt.Errorf("its state is %s", s.state)}
}

// failure returns the result for a failed call.
func (s *server) failure(ctx context.Context, err error) tool.Result {
	var down errDown
	var answer *jsonrpc.Error
	switch {
	case ctx.Err() != nil:
		return tool.Failure(tool.Cancelled, "The call was cancelled: %v", context.Cause(ctx))
	case errors.Is(err, errTimeout):
		return tool.Failure(TimedOut, "MCP server %s did not answer in time. The call was cancelled.", s.name)
	case errors.Is(err, errAuth):
		return tool.Failure(Unavailable, "MCP server %s requires authorization. The user must authorize it.", s.name)
	case errors.As(err, &down):
		return tool.Failure(Unavailable, "MCP server %s is not connected: %s", s.name, clip(down.err.Error()))
	case errors.As(err, &answer) && answer.Code != codeRejected:
		return tool.Failure(ToolFailed, "MCP server %s answered with an error: %s", s.name, clip(answer.Message))
	}
	return tool.Failure(Unavailable, "MCP server %s did not answer the call: %s. The call may or may not have had an effect.",
		s.name, clip(reason(err).Error()))
}
