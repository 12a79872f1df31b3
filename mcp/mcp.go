// Package mcp offers tools from MCP servers to agents.
//
// [Open] connects to servers over stdio, streamable HTTP or SSE, and also offers host tools, without any protocol.
// [Client.Tools] returns all tools, named mcp__server__tool, for a session's registry. A server that fails or
// disconnects never fails the session: [Client.Status] reports it, the client reconnects in the background, and calls
// to its tools return an error result meanwhile.
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
	// sandbox unless Unconfined is set. It gets the variables that commands in that environment get, and Env.
	Command    string
	Args       []string
	Env        map[string]string
	Dir        string // default: the environment's working directory
	Unconfined bool

	// URL is the server's address. Type is "http" (streamable HTTP, the default) or "sse". Headers are sent only to the
	// URL's origin.
	URL     string
	Type    string
	Headers map[string]string

	// Tools are host tools. They keep their declared accesses and are called directly.
	Tools []tool.Tool

	Disabled bool
	// Timeout limits how long a call may take without reporting progress. Zero means two minutes. A call that reports
	// progress may take ten times as long in total.
	Timeout time.Duration
}

// Config configures a Client. The zero value has no servers.
//
// The functions are called until the client is closed. They may be called concurrently, except OnChange. All are optional:
// a nil function disables its feature.
type Config struct {
	// Env is where servers with a Command run. It is required only for these.
	Env     env.Environment
	Servers map[string]Server
	// Connect limits one attempt to connect. Zero means 30 seconds.
	Connect time.Duration
	// Version is the host's version, as reported to servers.
	Version string
	// Roots are the directories that servers are told to work in.
	Roots []string
	// HTTPClient supplies the transport for HTTP. Its other fields are not used. nil means a copy of
	// http.DefaultTransport.
	HTTPClient *http.Client

	// Elicit asks the user a server's question. Sample runs a model for a server. Both should let the user decide.
	// Servers can call them only during a tool call, at most four at a time per server; the call's timeout stops
	// meanwhile. ctx ends with the call, and an answer after that is discarded. An error is reported to the server. If
	// a function is nil, servers are told that it is not supported.
	Elicit func(ctx context.Context, server string, r ElicitRequest) (ElicitAnswer, error)
	Sample func(ctx context.Context, server string, r SampleRequest) (SampleAnswer, error)

	// Token returns an access token for a server, or "" if there is none. If the server refuses a token, Token is
	// called again with it, and should return a new token or "". While the server refuses all tokens, its state is
	// NeedsAuth. Token must not wait for the user.
	Token func(ctx context.Context, server, refused string) (string, error)

	// Log receives each line that a server writes to standard error, and lines on standard output that are not
	// messages. line is valid only during the call.
	Log func(server string, line []byte)
	// OnChange receives tool changes, in order and one at a time, starting with the first connection. It must not call
	// methods that wait for a server.
	OnChange func(Change)
}

// Change lists tools that a server has added or changed, and the names of tools that it has removed.
type Change struct {
	Server string
	Add    []tool.Tool
	Remove []string
}

// State is a server's connection state.
type State string

// Server states.
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
	Tools   []string     // as the model sees them
	LeftOut []Quarantine // tools that are not offered
	// As reported by the server itself.
	ServerName, ServerVersion, Protocol, Instructions string
	Resources, Prompts                                bool
	// Stderr is the end of the output, except messages, from a server with a Command.
	Stderr string
}

// Quarantine is a tool that is not offered, with the reason.
type Quarantine struct {
	Tool, Reason string
}

// Codes for failed calls.
const (
	ToolFailed  tool.Code = "McpToolFailed"  // the tool reported a failure
	TimedOut    tool.Code = "McpTimeout"     // the server did not answer in time
	Unavailable tool.Code = "McpUnavailable" // the server is not connected, was lost during the call, or sent an invalid answer
)
