// Package connect creates clients from the environment, for a named provider, or for a model server on this
// machine.
package connect

import (
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// Config configures clients. The zero value uses the process environment and defaults.
type Config struct {
	Getenv     func(string) string // nil means os.Getenv
	Catalogue  *llm.Catalogue      // nil means llm.DefaultCatalogue()
	HTTPClient *http.Client        // nil means one from wire.NewHTTPClient, shared by the providers
	Limits     llm.Limits
	// Retry is the retry policy. The zero value means llm.SessionRetries(), which restarts interrupted
	// answers: consumers of streams must obey Retry.Discard. Retries: -1 disables retries.
	Retry      llm.RetryPolicy
	Middleware []llm.Middleware // outside of Retry, so that it sees the retries
	Default    string           // the provider for requests that name none, for FromEnv
	BaseURL    string           // provider's base URL, for Open
	Header     http.Header      // added to the provider's requests, for Open
	Entries    []Entry          // further providers, for Open
	Plans      []Plan           // further providers that the user has signed in to, for Open
	Search     Search           // where to look for a local server, for Open and Find
	Progress   func(string)     // called when something takes time, such as loading a model; may be nil
	Debug      io.Writer        // receives all HTTP traffic without credentials; may be nil

	quiet *http.Client // HTTPClient without Debug, to request credentials
}

// env returns a variable without surrounding space, such as a line break from a file.
func (c Config) env(name string) string {
	get := c.Getenv
	if get == nil {
		get = os.Getenv
	}
	return strings.TrimSpace(get(name))
}

// endpoint returns the common settings of all endpoints.
func (c Config) endpoint() llm.Endpoint {
	return llm.Endpoint{HTTPClient: c.HTTPClient, Limits: c.Limits, Header: c.Header.Clone()}
}

// localLimits returns the limits for a local server, which may need long to read a prompt before it answers.
func (c Config) localLimits() llm.Limits {
	l := c.Limits
	if l.FirstByte == 0 {
		l.FirstByte = 15 * time.Minute
	}
	return l
}

// prepared returns the configuration with its HTTP client set.
func (c Config) prepared() Config {
	if c.HTTPClient == nil {
		c.HTTPClient = wire.NewHTTPClient(c.Limits)
	}
	c.quiet = c.HTTPClient
	if c.Debug != nil {
		c.HTTPClient = debugClient(c.HTTPClient, c.Debug, c.secrets())
	}
	return c
}

func (c Config) client(standard string, providers ...llm.Provider) (*llm.Client, error) {
	if c.Retry.IsZero() {
		c.Retry = llm.SessionRetries()
	}
	return llm.NewClient(llm.ClientConfig{
		Providers:  providers,
		Default:    standard,
		Middleware: append(c.Middleware[:len(c.Middleware):len(c.Middleware)], c.Retry.Middleware()),
	})
}
