package agent

import "github.com/reins-agent/reins/tool"

// Offered lists the tools that a session with this configuration offers its model: those of the
// registry that are allowed, and the tools for subagents.
func Offered(c Config) []tool.Spec {
	if c.Tools == nil {
		c.Tools = &tool.Registry{}
	}
	c.Subagents = c.Subagents.withDefaults()
	s := &Session{config: c}
	s.agents = &agents{session: s}
	r, err := s.registry()
	if err != nil {
		return nil
	}
	return r.Specs()
}
