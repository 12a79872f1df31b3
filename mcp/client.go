package mcp

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/reins-agent/reins/tool"
)

// Client holds the connections to servers. All methods may be called concurrently.
type Client struct {
	cfg  Config
	base http.RoundTripper
	own  *http.Transport // base, if the client created it
	ctx  context.Context
	end  context.CancelFunc

	resourceTools func() []tool.Tool

	changes sync.Mutex // held while OnChange runs
	setting sync.Mutex // held while servers are added and removed

	mu      sync.Mutex
	closed  bool
	servers map[string]*server
}

// Open starts to connect to all servers and returns at once; see [Client.Wait]. A server with an invalid configuration
// has the state Failed. The connections are closed when ctx is done, and by Close.
func Open(ctx context.Context, cfg Config) *Client {
	cfg.Connect = cmp.Or(cfg.Connect, 30*time.Second)
	c := &Client{cfg: cfg, servers: map[string]*server{}}
	c.ctx, c.end = context.WithCancel(ctx)
	if h := cfg.HTTPClient; h != nil && h.Transport != nil {
		c.base = h.Transport
	} else {
		c.own = http.DefaultTransport.(*http.Transport).Clone()
		c.base = c.own
	}
	c.resourceTools = sync.OnceValue(c.newResourceTools)
	c.SetServers(cfg.Servers)
	return c
}

// Close closes all connections and waits for the server processes to exit.
func (c *Client) Close() error {
	c.end()
	c.setting.Lock()
	defer c.setting.Unlock()
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	for _, s := range c.all() {
		s.close()
	}
	if c.own != nil {
		c.own.CloseIdleConnections()
	}
	return nil
}

// Wait waits until no server is pending, except the named servers, or until limit has passed.
func (c *Client) Wait(ctx context.Context, limit time.Duration, except ...string) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for _, s := range c.all() {
		if !slices.Contains(except, s.name) && s.wait(ctx) != nil {
			return
		}
	}
}

// all returns the servers, sorted by name.
func (c *Client) all() []*server {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := make([]*server, 0, len(c.servers))
	for _, name := range slices.Sorted(maps.Keys(c.servers)) {
		list = append(list, c.servers[name])
	}
	return list
}

// find returns the server with this name.
func (c *Client) find(name string) (*server, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.servers[name]; s != nil {
		return s, nil
	}
	return nil, fmt.Errorf("unknown MCP server %q", name)
}

// Tools returns the tools of all servers that are or were connected, sorted by server name and then in the server's
// order. If a server has resources, list_mcp_resources and read_mcp_resource follow.
func (c *Client) Tools() []tool.Tool {
	var tools []tool.Tool
	for _, s := range c.all() {
		s.mu.Lock()
		tools = append(tools, s.tools...)
		s.mu.Unlock()
	}
	if c.hasResources() {
		tools = append(tools, c.resourceTools()...)
	}
	return tools
}

// hasResources reports whether a server has resources.
func (c *Client) hasResources() bool {
	return slices.ContainsFunc(c.all(), func(s *server) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.resources
	})
}

// Origin returns the server that offers a tool, and the server's own name for the tool.
func (c *Client) Origin(name string) (server, tool string, ok bool) {
	for _, s := range c.all() {
		s.mu.Lock()
		tool, ok = s.origins[name]
		s.mu.Unlock()
		if ok {
			return s.name, tool, true
		}
	}
	return "", "", false
}

// Status describes all servers, sorted by name.
func (c *Client) Status() []Status {
	var list []Status
	for _, s := range c.all() {
		list = append(list, s.status())
	}
	return list
}

func (s *server) status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := Status{
		Name:    s.name,
		State:   s.state,
		Err:     s.err,
		LeftOut: slices.Clone(s.leftOut),

		ServerName:    s.about.name,
		ServerVersion: s.about.version,
		Protocol:      s.about.protocol,
		Instructions:  s.about.instructions,

		Resources: s.resources,
		Prompts:   s.prompts,
		Stderr:    s.log.String(),
	}
	for _, t := range s.tools {
		st.Tools = append(st.Tools, t.Spec().Name)
	}
	return st
}

// Reconnect connects to a server again. It returns an error if that fails.
func (c *Client) Reconnect(ctx context.Context, name string) error {
	s, err := c.find(name)
	if err != nil {
		return err
	}
	s.revive(true)
	if err := s.wait(ctx); err != nil {
		return err
	}
	st := s.status()
	if st.State == Disabled {
		return fmt.Errorf("MCP server %q is disabled", name)
	}
	return st.Err
}

// Enable enables or disables a server. It waits for an enabled server to connect, and returns an error if that fails. A
// disabled server's tools are removed.
func (c *Client) Enable(ctx context.Context, name string, on bool) error {
	c.setting.Lock()
	s, err := c.find(name)
	if err == nil && s.Disabled == on {
		cfg := s.Server
		cfg.Disabled = !on
		s = c.replace(name, &cfg)
	}
	c.setting.Unlock()
	if s == nil || !on {
		return err
	}
	if err := s.wait(ctx); err != nil {
		return err
	}
	return s.status().Err
}

// Diff lists what SetServers changed.
type Diff struct {
	Added, Removed, Changed []string
	Errors                  map[string]error // errors in configurations, by server
}

// SetServers replaces the set of servers. Servers with an unchanged configuration keep their connection. It does not
// wait for new servers to connect, so Errors contains only configuration errors.
func (c *Client) SetServers(servers map[string]Server) Diff {
	c.setting.Lock()
	defer c.setting.Unlock()
	d := Diff{Errors: map[string]error{}}
	c.mu.Lock()
	known := maps.Clone(c.servers)
	c.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if _, stays := servers[name]; !stays {
			c.replace(name, nil)
			d.Removed = append(d.Removed, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		cfg := servers[name]
		switch old := known[name]; {
		case old == nil:
			d.Added = append(d.Added, name)
		case !reflect.DeepEqual(old.Server, cfg):
			d.Changed = append(d.Changed, name)
		default:
			continue
		}
		if s := c.replace(name, &cfg); s != nil {
			if st := s.status(); st.State == Failed {
				d.Errors[name] = st.Err
			}
		}
	}
	return d
}

// replace stops a server and starts it with a new configuration. If cfg is nil, it removes the server.
func (c *Client) replace(name string, cfg *Server) *server {
	c.mu.Lock()
	old := c.servers[name]
	c.mu.Unlock()
	if old != nil {
		old.close()
	}
	c.mu.Lock()
	delete(c.servers, name)
	var next *server
	if cfg != nil && !c.closed {
		next = c.newServer(name, *cfg)
		c.servers[name] = next
	}
	c.mu.Unlock()
	if old != nil {
		old.retract()
	}
	if next != nil {
		next.begin()
	}
	return next
}
