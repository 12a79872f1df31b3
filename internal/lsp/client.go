package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reins-agent/reins/env"
)

// client is a running server.
type client struct {
	server Server
	env    env.Environment // does not follow symbolic links
	paths  env.Paths
	root   string // workspace's real path
	conn   *conn
	owner  *Workspace // the server runs in its environment
	enc    encoding
	pull   bool          // diagnostics must be requested
	ready  chan struct{} // closed when the server has loaded the project, if it reports that
	once   sync.Once     // closes ready

	syncing sync.Mutex // held while documents are sent
	docs    map[string]*document
	uses    int              // number of uses of documents so far
	files   map[string]stamp // files that the server knows; nil if there are too many
	stale   atomic.Bool      // files may have changed

	warm atomic.Bool // the server has answered a request about a document

	mu      sync.Mutex
	busy    map[string]bool     // tokens of work in progress that the server reported
	working bool                // the server reports that it is not done; see Server.ReportsStatus
	due     bool                // a check after a save has not started yet; see Server.CheckToken
	quiet   chan struct{}       // closed when one of these changes
	found   map[string]findings // by path key
	seq     int                 // number of publications so far
	changed chan struct{}       // closed at the next publication
}

// connect starts a server.
func connect(ctx context.Context, e env.Environment, s Server, program, root string) (*client, error) {
	c := &client{
		server: s,
		env:    env.NoLinks(e),
		paths:  e.Info().Paths(),
		root:   root,
		enc:    utf16Units,
		ready:  make(chan struct{}),

		docs:    make(map[string]*document),
		found:   make(map[string]findings),
		changed: make(chan struct{}),

		busy:  make(map[string]bool),
		quiet: make(chan struct{}),
	}
	if !s.ReportsStatus {
		close(c.ready)
	}
	var err error
	command := append([]string{program}, s.Command[1:]...)
	if c.conn, err = dial(e, env.Command{Args: command, Dir: root, Env: s.env}, c.notified, c.answer); err != nil {
		return nil, err
	}
	if err := c.initialize(ctx); err != nil {
		c.conn.close()
		return nil, err
	}
	c.scan(ctx)
	return c, nil
}

func (c *client) folders() any {
	return []any{map[string]any{"uri": uriOf(c.paths, c.root), "name": c.paths.Base(c.root)}}
}

func (c *client) initialize(ctx context.Context) error {
	var got initialized
	err := c.conn.call(ctx, "initialize", map[string]any{
		"processId": nil, "clientInfo": map[string]any{"name": "reins"}, "capabilities": capabilities,
		"rootUri": uriOf(c.paths, c.root), "workspaceFolders": c.folders(), "initializationOptions": c.server.Options,
	}, &got)
	if err != nil {
		return err
	}
	switch e := got.Capabilities.PositionEncoding; e {
	case utf8Units, utf16Units, utf32Units:
		c.enc = e
	case "":
	default:
		return fmt.Errorf("the server uses the position encoding %.20q, which is not supported", string(e))
	}
	p := got.Capabilities.Diagnostics
	c.pull = len(p) > 0 && string(p) != "null" && string(p) != "false" || c.server.diagnose != nil
	if err := c.conn.notify("initialized", struct{}{}); err != nil || c.server.Settings == nil {
		return err
	}
	return c.conn.notify("workspace/didChangeConfiguration", map[string]any{"settings": c.server.Settings})
}

// answer answers a request from the server. Requests cannot change anything.
func (c *client) answer(method string, params json.RawMessage) (any, *rpcError) {
	switch method {
	case "workspace/configuration":
		var asked struct{ Items []struct{ Section string } }
		if err := json.Unmarshal(params, &asked); err != nil {
			return nil, &rpcError{Code: -32602, Message: err.Error()}
		}
		list := make([]any, len(asked.Items))
		for i, item := range asked.Items {
			list[i] = c.server.Settings[item.Section]
		}
		return list, nil
	case "workspace/workspaceFolders":
		return c.folders(), nil
	case "workspace/applyEdit":
		return map[string]any{"applied": false, "failureReason": "the client does not apply edits"}, nil
	case "window/showDocument":
		return map[string]any{"success": false}, nil
	case "client/registerCapability", "client/unregisterCapability", "window/workDoneProgress/create", "window/showMessageRequest",
		"workspace/diagnostic/refresh", "workspace/semanticTokens/refresh", "workspace/inlayHint/refresh", "workspace/codeLens/refresh":
		return nil, nil
	}
	return nil, &rpcError{Code: codeNoMethod, Message: "unknown method: " + method}
}

// notified handles a notification from the server.
func (c *client) notified(method string, params json.RawMessage) {
	switch method {
	case "textDocument/publishDiagnostics":
		if c.server.diagnose == nil {
			c.published(params)
		}
	case "$/progress":
		c.progress(params)
	case "experimental/serverStatus":
		var status struct{ Quiescent bool }
		if json.Unmarshal(params, &status) == nil && c.server.ReportsStatus {
			c.reported(status.Quiescent)
		}
	}
}

// reported records whether the server has finished its background work.
func (c *client) reported(quiescent bool) {
	if quiescent {
		c.once.Do(func() { close(c.ready) })
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.working = !quiescent
	c.wake()
}

// wake wakes goroutines that wait for progress; c.mu is held.
func (c *client) wake() {
	close(c.quiet)
	c.quiet = make(chan struct{})
}

const retryInterval = 50 * time.Millisecond

// request sends a request about the current files. It retries while the server reports that files have changed.
func (c *client) request(ctx context.Context, method string, params, result any) error {
	select {
	case <-c.ready:
	case <-c.conn.gone:
		return c.conn.ended()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for {
		err := c.conn.call(ctx, method, params, result)
		var refused *rpcError
		if !errors.As(err, &refused) || refused.Code != codeServerCancelled && refused.Code != codeContentModified {
			return err
		}
		select {
		case <-time.After(retryInterval):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// maxProgress is the maximum number of progress tokens that are tracked.
const maxProgress = 100

// progress records the background work that the server reports.
func (c *client) progress(params json.RawMessage) {
	var p struct {
		Token json.RawMessage
		Value struct{ Kind string }
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch token := string(p.Token); p.Value.Kind {
	case "begin":
		if len(c.busy) < maxProgress {
			c.busy[token] = true
		}
		if c.isCheck(token) {
			c.due = false
		}
	case "end":
		delete(c.busy, token)
	default:
		return
	}
	c.wake()
}

// isCheck reports whether a JSON-encoded token belongs to a check after a save.
func (c *client) isCheck(token string) bool {
	return c.server.CheckToken != "" && strings.HasPrefix(token, `"`+c.server.CheckToken)
}

// checked waits until the check after the last save has ended and the server has finished its other work, because only
// then does it send the errors. It also waits briefly for a further check, which would replace that one. If no check
// starts, it returns: checks may be disabled.
func (c *client) checked(ctx context.Context) error {
	for {
		c.mu.Lock()
		running := c.working
		due := c.due
		quiet := c.quiet
		for token := range c.busy {
			running = running || c.isCheck(token)
		}
		c.mu.Unlock()
		var settled <-chan time.Time
		switch {
		case running:
		case due:
			settled = time.After(checkTime)
		default:
			settled = time.After(settleTime)
		}
		select {
		case <-quiet:
		case <-settled:
			c.mu.Lock()
			c.due = false
			c.mu.Unlock()
			return nil
		case <-c.conn.gone:
			return c.conn.ended()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// loaded waits until the server has no background work, such as loading or indexing the project: until then, its
// answers about other files are incomplete. Some servers start that work at the first request.
func (c *client) loaded(ctx context.Context, path string) error {
	if !c.warm.Swap(true) {
		if err := c.request(ctx, "textDocument/documentSymbol", map[string]any{"textDocument": c.id(path)}, nil); c.conn.ended() != nil {
			return err
		}
	}
	for {
		c.mu.Lock()
		n, quiet := len(c.busy), c.quiet
		c.mu.Unlock()
		if n == 0 {
			return nil
		}
		select {
		case <-quiet:
		case <-c.conn.gone:
			return c.conn.ended()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
