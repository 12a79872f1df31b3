package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/reins-agent/reins/internal/hidden"
	"github.com/reins-agent/reins/tool"
)

const (
	// maxFailures limits consecutive failed attempts to reconnect. After that, a tool call tries again.
	maxFailures = 6
	// stableTime is how long a connection must last for earlier failures to be forgotten.
	stableTime = time.Minute
	// callWait is how long a call waits for a server that is being reconnected.
	callWait = 10 * time.Second
	// Changed tools are listed again after minRefresh. While a server keeps changing them, that time is doubled, up
	// to maxRefresh.
	minRefresh = 100 * time.Millisecond
	maxRefresh = time.Minute
)

// server is a configured server with its connection. A goroutine connects, reconnects and updates the tool list.
type server struct {
	Server
	name   string
	client *Client
	log    *tail

	ctx     context.Context
	stop    context.CancelFunc
	done    chan struct{} // closed when the goroutine has ended
	retry   chan struct{} // requests a connection now
	changed chan struct{} // the tools may have changed

	mu      sync.Mutex
	running bool // the goroutine runs
	manual  bool // do not retry after the next failure, but report it
	state   State
	err     error
	conn    *conn         // nil unless connected
	settled chan struct{} // closed while the server is not pending
	listing               // what the server last offered
}

// listing holds a server's offers.
type listing struct {
	tools     []tool.Tool
	origins   map[string]string // tool names to the server's own names
	leftOut   []Quarantine
	about     about
	resources bool
	prompts   bool
}

type about struct{ name, version, protocol, instructions string }

// newServer returns a server; c.mu is held.
func (c *Client) newServer(name string, cfg Server) *server {
	s := &server{
		Server:  cfg,
		name:    name,
		client:  c,
		log:     &tail{},
		done:    make(chan struct{}),
		settled: make(chan struct{}),

		retry:   make(chan struct{}, 1),
		changed: make(chan struct{}, 1),
		state:   Pending,
	}
	if c.cfg.Log != nil {
		s.log.line = func(line []byte) { c.cfg.Log(name, line) }
	}
	s.ctx, s.stop = context.WithCancel(c.ctx)
	if err := c.check(name, cfg); cfg.Disabled {
		s.settle(Disabled, nil)
	} else if err != nil {
		s.settle(Failed, err)
	}
	return s
}

// begin starts to connect to the server.
func (s *server) begin() {
	s.mu.Lock()
	s.running = s.state == Pending && s.Tools == nil
	own := s.state == Pending && s.Tools != nil
	s.mu.Unlock()
	if s.running {
		go s.run(s.ctx)
		return
	}
	if own {
		s.offer(s.own())
		s.settle(Connected, nil)
	}
	close(s.done)
}

// maxServerName limits the length of a server name, which becomes part of a log file name.
const maxServerName = 64

// check checks a server's configuration; c.mu is held.
func (c *Client) check(name string, s Server) error {
	n := 0
	for _, set := range []bool{s.Command != "", s.URL != "", s.Tools != nil} {
		if set {
			n++
		}
	}
	switch {
	case name == "":
		return errors.New("a server needs a name")
	case len(name) > maxServerName:
		return fmt.Errorf("its name is longer than %d bytes; rename it", maxServerName)
	case hidden.Find(name) != nil || strings.ContainsFunc(name, unicode.IsControl):
		return errors.New("its name contains invisible characters; rename it")
	case n != 1:
		return errors.New("a server needs either a command or a URL")
	case s.URL != "" && s.Type != "" && s.Type != "http" && s.Type != "sse":
		return fmt.Errorf("unknown type %q: use http or sse", s.Type)
	}
	for other := range c.servers {
		if serverKey(other) == serverKey(name) {
			return fmt.Errorf("its tools would have the same names as those of server %q; rename one of them", other)
		}
	}
	return nil
}

// close closes the connection and waits until it is closed.
func (s *server) close() {
	s.stop()
	<-s.done
}

// errRetry means that a new connection was requested.
var errRetry = errors.New("reconnecting")

// run connects to the server, and reconnects when the connection is lost.
func (s *server) run(ctx context.Context) {
	defer close(s.done)
	failures := 0
	known := false
	version := ""
	for {
		began := time.Now()
		c, err := s.attempt(ctx, &version)
		if err == nil {
			known = true
			err = s.follow(ctx, c)
			c.close()
			select {
			case <-s.retry:
				err = errRetry
			default:
			}
		}
		if ctx.Err() != nil {
			s.mu.Lock()
			s.running = false
			s.mu.Unlock()
			s.settle(Failed, errors.New("the client was closed"))
			return
		}
		if failures++; err == errRetry || time.Since(began) > stableTime {
			failures = 1
		}
		if delay, again := s.lost(err, known, failures); again {
			s.pause(ctx, time.After(delay))
			continue
		}
		s.pause(ctx, nil)
		failures = 0
		s.pend(err)
	}
}

// lost records that there is no connection, and returns whether and when to try again.
func (s *server) lost(err error, known bool, failures int) (delay time.Duration, again bool) {
	if err == errRetry {
		s.pend(nil)
		return 0, true
	}
	s.mu.Lock()
	manual := s.manual
	s.manual = false
	s.mu.Unlock()
	err = s.explain(err)
	switch {
	case errors.Is(err, errAuth):
		s.settle(NeedsAuth, err)
		return 0, false
	case !known || manual || failures > maxFailures:
		s.settle(Failed, err)
		return 0, false
	}
	s.pend(err)
	if failures > 1 {
		delay = min(time.Second<<(failures-2), 30*time.Second)
	}
	return delay, true
}

// pause waits for until, or until a connection is requested.
func (s *server) pause(ctx context.Context, until <-chan time.Time) {
	select {
	case <-until:
	case <-s.retry:
	case <-ctx.Done():
	}
}

// attempt connects and lists the tools. version is the protocol version to try first, and is set to the version that
// worked.
func (s *server) attempt(ctx context.Context, version *string) (*conn, error) {
	limit, cancel := context.WithTimeout(ctx, s.client.cfg.Connect)
	defer cancel()
	c, err := s.connect(ctx, limit, *version)
	var start startError
	if err != nil && s.Command != "" && *version == "" && limit.Err() == nil && !errors.As(err, &start) {
		c, err = s.connect(ctx, limit, legacy)
	}
	if err != nil {
		*version = ""
		return nil, err
	}
	l, err := c.list(limit)
	if err != nil {
		c.close()
		return nil, fmt.Errorf("cannot list its tools: %w", err)
	}
	if l.about.protocol <= legacy {
		*version = legacy
	}
	s.offer(l)
	s.mu.Lock()
	s.conn, s.manual = c, false
	s.mu.Unlock()
	select {
	case <-s.retry: // requested before this connection
	default:
	}
	s.settle(Connected, nil)
	return c, nil
}

// follow lists the tools again when they change. It returns the reason when the connection is lost.
func (s *server) follow(ctx context.Context, c *conn) error {
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.conn == c {
			s.conn = nil
			s.pending(nil)
		}
	}()
	wait := minRefresh
	var refresh <-chan time.Time
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.dead:
			if c.err != nil {
				return c.err
			}
			return errors.New("the server closed the connection")
		case <-s.retry:
			return errRetry
		case <-s.changed:
			if refresh == nil {
				if time.Since(last) > 2*maxRefresh {
					wait = minRefresh
				}
				refresh = time.After(wait)
			}
		case <-refresh:
			refresh = nil
			last = time.Now()
			wait = min(2*wait, maxRefresh)
			limit, cancel := context.WithTimeout(ctx, s.client.cfg.Connect)
			if l, err := c.list(limit); err == nil {
				s.offer(l)
			}
			cancel()
		}
	}
}

// settle records a state other than Pending.
func (s *server) settle(state State, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == Pending {
		close(s.settled)
	}
	s.state, s.err = state, err
}

// pend records that the server is being connected, and why the last connection was lost.
func (s *server) pend(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending(err)
}

// pending is pend with s.mu held.
func (s *server) pending(err error) {
	if s.state != Pending {
		s.settled = make(chan struct{})
	}
	s.state, s.err = Pending, err
}

// revive requests a new connection. If manual is false, it does so only if the last attempt failed.
func (s *server) revive(manual bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.running || !manual && s.state != Failed && s.state != NeedsAuth {
		return
	}
	s.manual = manual
	s.pending(s.err)
	select {
	case s.retry <- struct{}{}:
	default:
	}
}

// wait waits until the server is not pending.
func (s *server) wait(ctx context.Context) error {
	s.mu.Lock()
	settled := s.settled
	s.mu.Unlock()
	select {
	case <-settled:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
