package feature

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/mcp"
	"github.com/reins-agent/reins/tool"
)

// mcpWait is how long Open waits for MCP servers by default.
const mcpWait = 5 * time.Second

// Servers are the MCP servers of one session. Their extension is Attach: it connects and waits for a limited time. The tools of slower
// servers, and changes of tools, reach the session later. Closing the session disconnects from the servers.
type Servers struct {
	// Config configures the servers. Env and Roots default to the session's environment and directory.
	Config mcp.Config
	// Wait is how long Open waits. It defaults to five seconds; a negative value means not at all.
	Wait time.Duration
	// Slow names servers that Open does not wait for.
	Slow []string
	// DeferAbove is the size of all tool definitions, in bytes, above which the model searches for the tools instead of
	// seeing all definitions. Zero means no limit.
	DeferAbove int
	// Report is called with the state of all servers when Open has waited and before each change of tools. It defaults to
	// warnings about servers that cannot be used.
	Report func([]mcp.Status)

	client   *mcp.Client
	warn     func(error)
	deferred bool

	mu      sync.Mutex
	session *agent.Session
	pending []mcp.Change // before the session was opened
}

// Client returns the connections to the servers, or nil if there are none.
func (s *Servers) Client() *mcp.Client {
	if s == nil {
		return nil
	}
	return s.client
}

// Command expands user input that names a server's prompt; see [mcp.Client.Command].
func (s *Servers) Command(ctx context.Context, input string) ([]llm.Part, bool, error) {
	if s.Client() == nil {
		return nil, false, nil
	}
	return s.client.Command(ctx, input)
}

// Attach is a [coding.Extension]. It connects to the servers and adds their tools.
func (s *Servers) Attach(ctx context.Context, h *coding.Host) (coding.Feature, error) {
	if len(s.Config.Servers) == 0 {
		return coding.Feature{}, nil
	}
	s.warn = h.Warn
	if s.Report == nil {
		s.Report = s.warnings
	}
	c := s.Config
	if c.Env == nil {
		c.Env = h.Env
	}
	if c.Roots == nil {
		c.Roots = []string{h.Env.Info().Dir}
	}
	c.OnChange = s.changed
	s.client = mcp.Open(context.WithoutCancel(ctx), c) // until the session is closed
	s.client.Wait(ctx, cmp.Or(s.Wait, mcpWait), s.Slow...)
	s.mu.Lock()
	s.pending = nil // they are in the list
	tools := s.offer(s.client.Tools())
	s.mu.Unlock()
	status := s.client.Status()
	s.Report(status)
	return coding.Feature{
		Tools:  tools,
		Prompt: About(status),
		Follow: s.follow,
		Close:  s.client.Close,
	}, nil
}

// About returns what adds the descriptions that MCP servers give of themselves to the prompt, for
// coding.Feature.Prompt.
func About(status []mcp.Status) func(*coding.PromptConfig) {
	return func(c *coding.PromptConfig) {
		about := map[string]string{}
		maps.Copy(about, c.About)
		for _, st := range status {
			about["MCP server "+st.Name] = st.Instructions
		}
		c.About = about
	}
}

// offer defers the tools if their definitions are too long in total. Once deferred, they stay deferred, so that the
// beginning of requests does not change. The caller must hold mu.
func (s *Servers) offer(tools []tool.Tool) []tool.Tool {
	s.deferred = s.deferred || s.DeferAbove > 0 && tool.DefinitionSize(tools) > s.DeferAbove
	if !s.deferred {
		return tools
	}
	later := make([]tool.Tool, len(tools))
	for i, t := range tools {
		later[i] = tool.Defer(t)
	}
	return later
}

// warnings warns about servers that cannot be used yet.
func (s *Servers) warnings(list []mcp.Status) {
	for _, st := range list {
		switch {
		case st.Err != nil:
			s.warn(fmt.Errorf("MCP server %s cannot be used: %w", st.Name, st.Err))
		case st.State == mcp.Pending:
			s.warn(
				fmt.Errorf(
					"MCP server %s did not answer within %v; its tools are added when it is ready",
					st.Name, cmp.Or(s.Wait, mcpWait),
				),
			)
		}
	}
}

// follow passes tool changes to the session from now on. Changes that arrive meanwhile wait, so that they keep
// their order.
func (s *Servers) follow(_ context.Context, session *agent.Session) error {
	for {
		s.mu.Lock()
		pending := s.pending
		if s.pending = nil; len(pending) == 0 {
			s.session = session
			s.mu.Unlock()
			return nil
		}
		s.mu.Unlock()
		for _, c := range pending {
			s.apply(session, c)
		}
	}
}

func (s *Servers) changed(c mcp.Change) {
	s.mu.Lock()
	session := s.session
	if session == nil {
		s.pending = append(s.pending, c)
	}
	s.mu.Unlock()
	if session != nil {
		s.apply(session, c)
	}
	if s.Config.OnChange != nil {
		s.Config.OnChange(c)
	}
}

// apply changes the session's tools.
func (s *Servers) apply(session *agent.Session, c mcp.Change) {
	s.mu.Lock()
	add := s.offer(c.Add)
	s.mu.Unlock()
	if s.Report != nil {
		s.Report(s.client.Status())
	}
	if len(add)+len(c.Remove) == 0 {
		return
	}
	err := session.Reconfigure(context.Background(), agent.Change{Add: add, Remove: c.Remove})
	if err != nil && !errors.Is(err, agent.ErrClosed) {
		s.warn(fmt.Errorf("the tools of MCP server %s changed, but cannot be used: %w", c.Server, err))
	}
}
