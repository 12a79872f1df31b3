// Package lsp uses language servers to find definitions and references, rename symbols and report diagnostics of
// compilers and checkers.
//
// A [Workspace] starts servers when they are first needed, in its environment and thus in its sandbox. Workspaces with
// the same key share their servers. A server that crashes is restarted at its next use. Idle servers are stopped.
// Renames do not change files: they return new file contents for the caller to write.
package lsp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/reins-agent/reins/env"
)

// Config configures a workspace.
type Config struct {
	// Servers are the servers that may be used. The default is [Servers].
	Servers []Server
	// Trusted means that the user trusts the project; see [Server.RunsProject].
	Trusted bool
	// Idle is how long an unused server keeps running. The default is 5 minutes.
	Idle time.Duration

	// For tests:
	after func(time.Duration, func()) (stop func() bool)
	now   func() time.Time
}

const (
	defaultIdle = 5 * time.Minute
	startTime   = 2 * time.Minute // how long a server may take to start
	maxFailures = 6               // maximum number of failed starts in a row
)

func (c Config) withDefaults() Config {
	if c.Servers == nil {
		c.Servers = Servers()
	}
	if c.Idle <= 0 {
		c.Idle = defaultIdle
	}
	if c.after == nil {
		c.after = func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }
	}
	if c.now == nil {
		c.now = time.Now
	}
	return c
}

// Workspace provides language servers for an environment. Its methods may be called concurrently.
type Workspace struct {
	pool *pool
	key  any
	env  env.Environment
	once sync.Once
}

// pool holds the servers that workspaces share.
type pool struct {
	config Config
	ctx    context.Context // done when the pool is closed
	cancel context.CancelFunc
	jobs   sync.WaitGroup // starts and stops of servers

	mu    sync.Mutex
	users []*Workspace
	slots map[string]*slot
}

// slot is a server's state, whether it is running or not.
type slot struct {
	server   Server
	client   *client       // nil if the server is not running
	starting chan struct{} // closed when the current start has ended
	err      error         // from the last start
	failures int           // in a row
	again    time.Time     // the next start must not be earlier
	stop     func() bool   // stops the idle timer
	uses     int
	gen      int // number of uses so far, for the idle timer
}

var shared = struct {
	sync.Mutex
	pools map[any]*pool
}{pools: make(map[any]*pool)}

// Open opens a workspace. Workspaces with equal keys share servers: they must have the same directory, the same kind of
// environment and the same configuration. Close it before its environment.
func Open(key any, e env.Environment, c Config) *Workspace {
	shared.Lock()
	defer shared.Unlock()
	p := shared.pools[key]
	if p == nil {
		p = &pool{config: c.withDefaults(), slots: make(map[string]*slot)}
		p.ctx, p.cancel = context.WithCancel(context.Background())
		for _, s := range p.config.Servers {
			p.slots[s.Name] = &slot{server: s}
		}
		shared.pools[key] = p
	}
	w := &Workspace{pool: p, key: key, env: e}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.users = append(p.users, w)
	return w
}

// Close closes the workspace. The last workspace with a key stops the servers. Servers that run in this workspace's
// environment are always stopped; other workspaces restart them when needed.
func (w *Workspace) Close() error {
	w.once.Do(func() {
		shared.Lock()
		w.pool.mu.Lock()
		w.pool.users = slices.DeleteFunc(w.pool.users, func(u *Workspace) bool { return u == w })
		last := len(w.pool.users) == 0
		if last {
			w.pool.cancel()
			delete(shared.pools, w.key)
		}
		var mine []*client
		for _, s := range w.pool.slots {
			if s.client != nil && (last || s.client.owner == w) {
				mine = append(mine, s.drop())
			}
		}
		w.pool.mu.Unlock()
		shared.Unlock()
		var closing sync.WaitGroup
		for _, c := range mine {
			closing.Go(c.conn.close)
		}
		closing.Wait()
		if last {
			w.pool.jobs.Wait()
		}
	})
	return nil
}

// drop removes a slot's client and returns it; pool.mu is held.
func (s *slot) drop() *client {
	c := s.client
	s.client = nil
	if s.stop != nil {
		s.stop()
		s.stop = nil
	}
	return c
}

// serverOf returns the server for a file.
func (p *pool) serverOf(paths env.Paths, path string) (*slot, error) {
	for _, s := range p.config.Servers {
		if s.language(paths, path) != "" {
			return p.slots[s.Name], nil
		}
	}
	return nil, fmt.Errorf("%w: %s", ErrNoServer, paths.Base(path))
}

// Usable reports whether there may be a server for a file, given by its real path: the file is in the workspace, its
// type is supported, and starting the server has not failed permanently.
func (w *Workspace) Usable(path string) bool {
	paths := w.env.Info().Paths()
	s, err := w.pool.serverOf(paths, path)
	if err != nil {
		return false
	}
	if root, err := w.env.RealPath(context.Background(), w.env.Info().Dir); err != nil || !paths.Within(root, path) {
		return false
	}
	w.pool.mu.Lock()
	defer w.pool.mu.Unlock()
	return s.client != nil || !final(s.err) && s.failures < maxFailures
}

// final reports whether a start that failed with this error would fail again.
func final(err error) bool { return errors.Is(err, ErrNotInstalled) || errors.Is(err, ErrUntrusted) }

// Server returns the server for a file by its extension.
func (w *Workspace) Server(path string) (Server, bool) {
	s, err := w.pool.serverOf(w.env.Info().Paths(), path)
	if err != nil {
		return Server{}, false
	}
	return s.server, true
}

// client returns the running server for a file, and starts it if needed. If ctx ends, the start continues in the
// background.
func (w *Workspace) client(ctx context.Context, path string) (*client, error) {
	s, err := w.pool.serverOf(w.env.Info().Paths(), path)
	if err != nil {
		return nil, err
	}
	for {
		c, wait, err := w.get(s)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.server.Name, err)
		}
		if c != nil {
			return c, nil
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// get returns a slot's client, or a channel that is closed when its start has ended.
func (w *Workspace) get(s *slot) (*client, <-chan struct{}, error) {
	w.pool.mu.Lock()
	defer w.pool.mu.Unlock()
	if w.pool.ctx.Err() != nil || !slices.Contains(w.pool.users, w) {
		return nil, nil, errClosed
	}
	if c := s.client; c != nil {
		if c.conn.ended() == nil {
			w.pool.used(s)
			return c, nil, nil
		}
		w.pool.failed(s, c.conn.ended())
		s.drop()
	}
	if s.starting != nil {
		return nil, s.starting, nil
	}
	if s.err != nil && (final(s.err) || s.failures >= maxFailures) {
		return nil, nil, s.err
	}
	if wait := s.again.Sub(w.pool.config.now()); s.err != nil && wait > 0 {
		return nil, nil, fmt.Errorf("%w; try again in %v", s.err, wait.Round(time.Second))
	}
	done := make(chan struct{})
	s.starting = done
	w.pool.jobs.Go(func() { w.start(s, done) })
	return nil, done, nil
}

// failed records that a server failed; p.mu is held. After the first failure the server can be restarted at once, after
// each further failure only after a longer delay.
func (p *pool) failed(s *slot, err error) {
	s.err = err
	s.failures++
	s.again = p.config.now()
	if s.failures > 1 {
		s.again = s.again.Add(min(time.Second<<(s.failures-2), time.Minute))
	}
}

// start starts a server in the workspace's environment.
func (w *Workspace) start(s *slot, done chan struct{}) {
	ctx, cancel := context.WithTimeout(w.pool.ctx, startTime)
	defer cancel()
	c, err := w.launch(ctx, s.server)
	w.pool.mu.Lock()
	s.starting = nil
	gone := w.pool.ctx.Err() != nil || !slices.Contains(w.pool.users, w)
	switch {
	case err != nil && !gone:
		w.pool.failed(s, err)
	case err == nil && !gone:
		s.client, s.err = c, nil
		w.pool.used(s)
	}
	w.pool.mu.Unlock()
	close(done)
	if err == nil && gone {
		c.conn.close()
	}
}

func (w *Workspace) launch(ctx context.Context, s Server) (*client, error) {
	if s.RunsProject && !w.pool.config.Trusted {
		return nil, ErrUntrusted
	}
	if len(s.Command) == 0 {
		return nil, fmt.Errorf("%w: it is disabled", ErrNotInstalled)
	}
	root, err := w.env.RealPath(ctx, w.env.Info().Dir)
	if err != nil {
		return nil, err
	}
	program, err := s.find(ctx, w.env, root)
	if err != nil {
		return nil, err
	}
	if s.prepare != nil {
		if err := s.prepare(ctx, w.env, &s, program, w.pool.config.Trusted); err != nil {
			return nil, err
		}
	}
	c, err := connect(ctx, w.env, s, program, root)
	if err != nil {
		return nil, err
	}
	c.owner = w
	return c, nil
}

// used restarts a server's idle timer; p.mu is held.
func (p *pool) used(s *slot) {
	if s.stop != nil {
		s.stop()
	}
	s.gen++
	gen := s.gen
	s.stop = p.config.after(p.config.Idle, func() { p.expire(s, gen) })
}

// expire stops a server that has not been used since its idle timer was started.
func (p *pool) expire(s *slot, gen int) {
	p.mu.Lock()
	if s.client == nil || s.gen != gen || p.ctx.Err() != nil {
		p.mu.Unlock()
		return
	}
	if s.uses > 0 {
		p.used(s)
		p.mu.Unlock()
		return
	}
	c := s.drop()
	p.jobs.Add(1)
	p.mu.Unlock()
	defer p.jobs.Done()
	c.conn.close()
}

// with calls f with the server for a file. The server does not count as idle while f runs.
func (w *Workspace) with(ctx context.Context, path string, f func(c *client) error) error {
	c, err := w.client(ctx, path)
	if err != nil {
		return err
	}
	s := w.pool.slots[c.server.Name]
	w.pool.mu.Lock()
	s.uses++
	w.pool.mu.Unlock()
	err = f(c)
	w.pool.mu.Lock()
	defer w.pool.mu.Unlock()
	s.uses--
	if s.client == c && c.conn.ended() == nil {
		w.pool.used(s)
		if err == nil {
			s.failures = 0
		}
	}
	return err
}

// Touched reports to the servers that files may have changed, for example because a command ran.
func (w *Workspace) Touched() {
	for _, c := range w.running() {
		c.stale.Store(true)
	}
}

// running returns the running servers.
func (w *Workspace) running() (all []*client) {
	w.pool.mu.Lock()
	defer w.pool.mu.Unlock()
	for _, s := range w.pool.slots {
		if s.client != nil && s.client.conn.ended() == nil {
			all = append(all, s.client)
		}
	}
	return all
}
