// Package web provides tools for the web: web_fetch returns a page as text, web_search queries a search engine, and
// remote_trigger calls the user's webhooks.
//
// The tools run in the host's process, not in a session's environment. web_fetch connects only to public addresses,
// unless [Config.AllowPrivate] is set. It does not send cookies or credentials, and follows redirects only on the host
// that was approved.
package web

import (
	"net"
	"net/netip"
	"time"

	"github.com/reins-agent/reins/tool"
)

// Config configures the tools. The zero value offers none.
type Config struct {
	// Fetch offers web_fetch.
	Fetch bool
	// AllowPrivate lets web_fetch and remote_trigger connect to private addresses, such as this machine and its
	// network, and use the proxy that the process environment configures. A proxy resolves names itself, so the
	// addresses cannot be checked. Link-local and cloud metadata addresses are always refused.
	AllowPrivate bool
	// Search configures web_search. If its backend is empty, the tool is not offered.
	Search Search
	// Triggers are the webhooks for remote_trigger, by name. Without triggers, the tool is not offered.
	Triggers map[string]Trigger

	turn chan struct{} // slots for running conversions

	// For tests:
	resolver *net.Resolver // nil means the system's
	timeout  time.Duration
	public   netip.Addr // a private address that counts as public
}

// Limits for the tools.
const (
	maxTime      = 30 * time.Second // maximum time per call
	maxBody      = 5 << 20          // page bytes, decompressed
	maxRedirects = 5
	pageChars    = 50_000 // maximum characters that one call returns
	maxURL       = 4096   // bytes

	maxConversions = 2 // maximum number at the same time
)

const userAgent = "Reins/1.0 (coding agent; +https://github.com/reins-agent/reins)"

// New returns the tools that a configuration offers. It returns an error if the search engine or a trigger is
// misconfigured.
func New(c Config) ([]tool.Tool, error) {
	if c.timeout == 0 {
		c.timeout = maxTime
	}
	c.turn = make(chan struct{}, maxConversions)
	var all []tool.Tool
	if c.Fetch {
		all = append(all, c.fetchTool())
	}
	if len(c.Triggers) > 0 {
		t, err := c.triggerTool()
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	if c.Search.Backend == "" {
		return all, nil
	}
	e, err := c.Search.engine()
	if err != nil {
		return nil, err
	}
	return append(all, e.tool(c.timeout)), nil
}
