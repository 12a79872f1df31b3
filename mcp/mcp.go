// Package mcp offers the tools of MCP servers to agents.
//
// [Open] connects to servers over stdio, streamable HTTP or SSE, and also offers tools of the host, without any
// protocol. [Client.Tools] returns their tools, named mcp__server__tool, for the registry of a session. A server that
// fails or disconnects never fails the session: [Client.Status] reports it, the client reconnects in the background,
// and calls to its tools return an error result meanwhile.
//
// Everything a server sends is untrusted. Sizes and rates are bounded, tools with unusable descriptions or schemas are
// left out, and a server's claims about its tools never replace an approval.
package mcp

import (
	"context"
	"net/http"
	"time"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/tool"
)

// Server configures a server. Exactly one of Command, URL and Tools must be set.
type Server struct {
	// Command is a program that speaks MCP over its standard input and output. It runs in Config.Env, inside its
	// sandbox unless Unconfined is set. It gets the variables that commands of that environment get, and Env.
	Command    string
	Args       []string
	Env        map[string]string
	Dir        string // default: the working directory of the environment
	Unconfined bool

	// URL is the address of a server. Type is "http" (streamable HTTP, the default) or "sse". Headers are sent to
	// the origin of the URL only.
	URL     string
	Type    string
	Headers map[string]string

	// Tools are tools of the host. They keep their declared accesses and are called directly.
	Tools []tool.Tool

	Disabled bool
	// Timeout limits how long a call may take without reporting progress. The default is two minutes. A call that
	// reports progress may take ten times as long in total.
	Timeout time.Duration
}

// Config configures a Client. The zero value has no servers.
type Config struct {
	// Env is where servers with a Command run.
	Env     env.Environment
	Servers map[string]Server
	// Connect limits one attempt to connect. The default is 30 seconds.
	Connect time.Duration
	// Version is the host's version, as reported to servers.
	Version string
	// Roots are the directories that are reported to servers as roots.
	Roots []string
	// HTTPClient supplies the transport for HTTP. Its other fields are not used.
	HTTPClient *http.Client

	// Elicit asks the user a server's question. Sample runs a model for a server. Both should let the user decide. If
	// one is nil, servers are told that it is not supported.
	Elicit func(ctx context.Context, server string, r ElicitRequest) (ElicitAnswer, error)
	Sample func(ctx context.Context, server string, r SampleRequest) (SampleAnswer, error)

	// Token returns an access token for a server, or "" if there is none. If the server refuses a token, Token is
	// called again with it, and should return a new one or "". While the server refuses all tokens, its state is
	// NeedsAuth. Token must not wait for the user.
	Token func(ctx context.Context, server, refused string) (string, error)

	// Log receives each line that a server writes to standard error, and lines on standard output that are not
	// messages.
	Log func(server string, line []byte)
	// OnChange receives changes of the tools, in order and one at a time, starting with the first connection. It must
	// not call methods that wait for a server.
	OnChange func(Change)
}

// Change lists the tools of a server that were added or changed, and the names of those removed.
type Change struct {
	Server string
	Add    []tool.Tool
	Remove []string
}

// State is the state of a server.
type State string

// The states of a server.
const (
	Pending   State = "pending" // connecting or reconnecting
	Connected State = "connected"
	Failed    State = "failed"
	Disabled  State = "disabled"
	NeedsAuth State = "needsAuth"
)

// Status describes a server.
type Status struct {
	Name  string
	State State
	// Err is why the server is not connected. It may be set while the server is being reconnected.
	Err     error
	Tools   []string     // names of the tools as the model sees them
	LeftOut []Quarantine // tools that are not offered
	// What the server reports about itself.
	ServerName, ServerVersion, Protocol, Instructions string
	Resources, Prompts                                bool
	// Stderr is the end of the output, except messages, of a server with a Command.
	Stderr string
}

// Quarantine is a tool that is not offered, with the reason.
type Quarantine struct {
	Tool, Reason string
}

// Codes of failed calls.
const (
	ToolFailed  tool.Code = "McpToolFailed"  // the tool reported a failure
	TimedOut    tool.Code = "McpTimeout"     // the server did not answer in time
	Unavailable tool.Code = "McpUnavailable" // the server is not connected, was lost during the call, or sent an invalid answer
)
