package coding

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/mcp"
)

// mcpWait is how long Open waits for MCP servers. The tools of slower servers are added later.
const mcpWait = 5 * time.Second

// servers are the MCP servers of a session.
type servers struct {
	client *mcp.Client
	warn   func(error)
	given  func(mcp.Change) // the OnChange of the host

	mu      sync.Mutex
	session *agent.Session
	pending []mcp.Change // before the session was opened
}

// connectServers connects to the MCP servers and adds their tools.
func (b *builder) connectServers(ctx context.Context) error {
	c := b.config.MCP
	if len(c.Servers) == 0 {
		return nil
	}
	s := &servers{warn: b.config.Warn, given: c.OnChange}
	if c.Env == nil {
		c.Env = b.session.Env
	}
	if c.Roots == nil {
		c.Roots = []string{b.session.Env.Info().Dir}
	}
	c.OnChange = s.changed
	s.client = mcp.Open(context.WithoutCancel(ctx), c)     // until the session is closed
	b.made = slices.Insert(b.made, 0, io.Closer(s.client)) // before the environment that they run in
	b.servers = s
	s.client.Wait(ctx, mcpWait)
	s.mu.Lock()
	s.pending = nil // they are in the list
	b.config.Tools = append(slices.Clip(b.config.Tools), s.client.Tools()...)
	s.mu.Unlock()
	about := map[string]string{}
	maps.Copy(about, b.config.Prompt.About)
	for _, st := range s.client.Status() {
		about["MCP server "+st.Name] = st.Instructions
		s.report(st)
	}
	b.config.Prompt.About = about
	return nil
}

// report warns about a server that cannot be used yet.
func (s *servers) report(st mcp.Status) {
	switch {
	case s.warn == nil:
	case st.Err != nil:
		s.warn(fmt.Errorf("MCP server %s cannot be used: %w", st.Name, st.Err))
	case st.State == mcp.Pending:
		s.warn(fmt.Errorf("MCP server %s did not answer within %v; its tools are added when it is ready", st.Name, mcpWait))
	}
}

// follow passes changes of the tools to the session from now on. Changes that arrive meanwhile wait, so that they keep
// their order.
func (s *servers) follow(session *agent.Session) {
	if s == nil {
		return
	}
	for {
		s.mu.Lock()
		pending := s.pending
		if s.pending = nil; len(pending) == 0 {
			s.session = session
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
		for _, c := range pending {
			s.apply(session, c)
		}
	}
}

func (s *servers) changed(c mcp.Change) {
	s.mu.Lock()
	session := s.session
	if session == nil {
		s.pending = append(s.pending, c)
	}
	s.mu.Unlock()
	if session != nil {
		s.apply(session, c)
	}
	if s.given != nil {
		s.given(c)
	}
}

// apply changes the tools of the session.
func (s *servers) apply(session *agent.Session, c mcp.Change) {
	err := session.Reconfigure(context.Background(), agent.Change{Add: c.Add, Remove: c.Remove})
	if err != nil && !errors.Is(err, agent.ErrClosed) && s.warn != nil {
		s.warn(fmt.Errorf("the tools of MCP server %s changed, but cannot be used: %w", c.Server, err))
	}
}
