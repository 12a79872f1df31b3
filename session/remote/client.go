package remote

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/reins-agent/reins/ask"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/session"
	"github.com/reins-agent/reins/view"
)

// Config configures [Connect].
type Config struct {
	URL  string // server address
	HTTP *http.Client
	// Patience is how long a client tries to reach a server that it lost; default 10 seconds. [Attach] waits for half a
	// second only if nothing listens on the session's socket: the process has ended.
	Patience time.Duration
	// Lost, if set, is called when a connection is lost that the client tries to restore.
	Lost func(err error)

	socket bool // URL is a socket on this machine, on which nothing listens once the process has ended
}

// client is a session of another process.
type client struct {
	config Config
	id     string

	ctx   context.Context // cancelled by Close
	close context.CancelCauseFunc

	mu       sync.Mutex
	instance string // server instance
}

var _ session.Handle = (*client)(nil)

// Connect returns a Handle on a server's session. It does not wait for a server that cannot be reached.
func Connect(ctx context.Context, c Config) (session.Handle, error) {
	if c.HTTP == nil {
		c.HTTP = http.DefaultClient
	}
	if c.Patience == 0 {
		c.Patience = 10 * time.Second
	}
	c.URL = strings.TrimSuffix(c.URL, "/") + "/"
	k := &client{config: c}
	k.ctx, k.close = context.WithCancelCause(context.Background())
	info, err := once[session.Info](ctx, k, request{method: http.MethodGet, path: "info"})
	if err != nil {
		k.close(session.ErrClosed)
		return nil, k.unreachable(ctx, err)
	}
	k.id = info.ID
	return k, nil
}

// lost is a connection error, after which a request may be repeated.
type lost struct {
	error
	sent bool // the server may have got the request
}

func (e *lost) Unwrap() error { return e.error }

// unreachable returns the error for a request that is not repeated.
func (c *client) unreachable(ctx context.Context, err error) error {
	l, ok := errors.AsType[*lost](err)
	switch {
	case !ok:
		return err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case c.ended(err):
		return &endedError{l.error}
	}
	return fmt.Errorf("%w: %w", ErrUnreachable, l.error)
}

// ended reports whether an error means that nothing listens on the socket any more.
func (c *client) ended(err error) bool {
	return c.config.socket && (isRefused(err) || errors.Is(err, fs.ErrNotExist))
}

// endedError is an [ErrUnreachable] because the process has ended.
type endedError struct{ cause error }

func (e *endedError) Error() string   { return ErrUnreachable.Error() + ": it has ended" }
func (e *endedError) Unwrap() []error { return []error{ErrUnreachable, e.cause} }

// request is a request that may be sent several times.
type request struct {
	method, path string
	body         []byte
	id           string // request ID of a change
	before       string // the instance that may have got it
}

// within returns a context that Close cancels, too.
func (c *client) within(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	undo := context.AfterFunc(c.ctx, func() { cancel(session.ErrClosed) })
	return ctx, func() { undo(); cancel(nil) }
}

// once sends a request once.
func once[T any](ctx context.Context, c *client, r request) (result T, err error) {
	q, err := http.NewRequestWithContext(ctx, r.method, c.config.URL+r.path, bytes.NewReader(r.body))
	if err != nil {
		return result, err
	}
	if r.id != "" {
		q.Header.Set(callID, r.id)
	}
	if r.before != "" {
		q.Header.Set(repeatOf, r.before)
	}
	resp, err := c.config.HTTP.Do(q)
	if err != nil {
		return result, &lost{err, !neverSent(err)}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return result, &lost{err, true}
	}
	if resp.StatusCode != http.StatusOK {
		return result, fmt.Errorf("the session's process answered: %s (%s)", bytes.TrimSpace(b[:min(len(b), 300)]), resp.Status)
	}
	c.mu.Lock()
	c.instance = resp.Header.Get(instanceID)
	c.mu.Unlock()
	var full struct {
		Result *T       `json:"result"`
		Error  *failure `json:"error"`
	}
	full.Result = &result
	if err := json.Unmarshal(b, &full); err != nil {
		return result, fmt.Errorf("the response of the session's process is invalid: %w", err)
	}
	if full.Error != nil {
		return result, full.Error
	}
	return result, nil
}

// neverSent reports whether a request failed before anything was sent.
func neverSent(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

// send sends a request until there is a response.
func send[T any](ctx context.Context, c *client, r request) (result T, err error) {
	ctx, stop := c.within(ctx)
	defer stop()
	c.mu.Lock()
	instance := c.instance
	c.mu.Unlock()
	try := c.retry()
	for {
		result, err = once[T](ctx, c, r)
		l, failed := errors.AsType[*lost](err)
		if !failed {
			return result, err
		}
		if r.id != "" && l.sent {
			r.before = instance
		}
		if again := try.wait(ctx, err); !again {
			return result, c.unreachable(ctx, err)
		}
	}
}

// fetch asks for something.
func fetch[T any](ctx context.Context, c *client, path string) (T, error) {
	return send[T](ctx, c, request{method: http.MethodGet, path: path})
}

// change changes something.
func change[T any](ctx context.Context, c *client, path string, in any) (result T, err error) {
	b, err := json.Marshal(in)
	if err != nil {
		return result, err
	}
	return send[T](ctx, c, request{method: http.MethodPost, path: path, body: b, id: rand.Text()})
}

func (c *client) change(ctx context.Context, path string, in any) error {
	_, err := change[none](ctx, c, path, in)
	return err
}

// ID implements [session.Handle].
func (c *client) ID() string { return c.id }

// Info implements [session.Handle].
func (c *client) Info(ctx context.Context) (session.Info, error) {
	return fetch[session.Info](ctx, c, "info")
}

// Snapshot implements [session.Handle].
func (c *client) Snapshot(ctx context.Context) (*view.State, error) {
	s, err := fetch[view.State](ctx, c, "snapshot")
	if err != nil {
		return nil, err
	}
	return &s, nil
}

// Submit implements [session.Handle].
func (c *client) Submit(ctx context.Context, in session.Input) error {
	return c.change(ctx, "submit", in)
}

// Steer implements [session.Handle].
func (c *client) Steer(ctx context.Context, in session.Input) error {
	return c.change(ctx, "steer", in)
}

// FollowUp implements [session.Handle].
func (c *client) FollowUp(ctx context.Context, in session.Input) error {
	return c.change(ctx, "follow-up", in)
}

// Continue implements [session.Handle].
func (c *client) Continue(ctx context.Context) error { return c.change(ctx, "continue", none{}) }

// Interrupt implements [session.Handle].
func (c *client) Interrupt(ctx context.Context) error { return c.change(ctx, "interrupt", none{}) }

// Wait implements [session.Handle].
func (c *client) Wait(ctx context.Context) (session.Outcome, error) {
	return fetch[session.Outcome](ctx, c, "wait")
}

// Queue implements [session.Handle].
func (c *client) Queue(ctx context.Context) ([]view.Queued, error) {
	return fetch[[]view.Queued](ctx, c, "queue")
}

// Requeue implements [session.Handle].
func (c *client) Requeue(ctx context.Context, edits []session.Edit) error {
	return c.change(ctx, "requeue", edits)
}

// Withdraw implements [session.Handle].
func (c *client) Withdraw(ctx context.Context, seq event.Seq) error {
	return c.change(ctx, "withdraw", withdrawArgs{seq})
}

// Questions implements [session.Handle].
func (c *client) Questions(ctx context.Context) ([]ask.Question, error) {
	return fetch[[]ask.Question](ctx, c, "questions")
}

// Answer implements [session.Handle].
func (c *client) Answer(ctx context.Context, id string, a ask.Answer) error {
	return c.change(ctx, "answer", answerArgs{id, a})
}

// Reconfigure implements [session.Handle].
func (c *client) Reconfigure(ctx context.Context, s session.Settings) error {
	return c.change(ctx, "reconfigure", s)
}

// Compact implements [session.Handle].
func (c *client) Compact(ctx context.Context) (event.Compaction, error) {
	return change[event.Compaction](ctx, c, "compact", none{})
}

// Undo implements [session.Handle].
func (c *client) Undo(ctx context.Context, o session.UndoOptions) (session.Undone, error) {
	return change[session.Undone](ctx, c, "undo", o)
}

// Redo implements [session.Handle].
func (c *client) Redo(ctx context.Context, o session.UndoOptions) (session.Undone, error) {
	return change[session.Undone](ctx, c, "redo", o)
}

// Agents implements [session.Handle].
func (c *client) Agents(ctx context.Context) ([]session.Agent, error) {
	return fetch[[]session.Agent](ctx, c, "agents")
}

// SteerAgent implements [session.Handle].
func (c *client) SteerAgent(ctx context.Context, name string, in session.Input) error {
	return c.change(ctx, "agents/steer", agentArgs{name, in})
}

// StopAgent implements [session.Handle].
func (c *client) StopAgent(ctx context.Context, name string) error {
	return c.change(ctx, "agents/stop", agentArgs{Name: name})
}

// ReadBackground implements [session.Handle].
func (c *client) ReadBackground(ctx context.Context, id string, offset int64) (session.BackgroundOutput, error) {
	query := url.Values{"id": {id}, "offset": {strconv.FormatInt(offset, 10)}}
	return fetch[session.BackgroundOutput](ctx, c, "background?"+query.Encode())
}

// StopBackground implements [session.Handle].
func (c *client) StopBackground(ctx context.Context, id string) error {
	return c.change(ctx, "background/stop", backgroundArgs{id})
}

// Commands implements [session.Handle].
func (c *client) Commands(ctx context.Context) ([]session.Command, error) {
	return fetch[[]session.Command](ctx, c, "commands")
}

// Run implements [session.Handle].
func (c *client) Run(ctx context.Context, line string) (session.Result, error) {
	return change[session.Result](ctx, c, "run", runArgs{line})
}

// Complete implements [session.Handle].
func (c *client) Complete(ctx context.Context, q session.Completion) ([]string, error) {
	return change[[]string](ctx, c, "complete", q)
}

// Close implements [session.Handle]. The session continues.
func (c *client) Close() error {
	c.close(session.ErrClosed)
	c.config.HTTP.CloseIdleConnections()
	return nil
}
