package connect

import (
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/wire"
)

// Config says how clients are made. The zero value reads the process's environment and takes the
// defaults everywhere else.
type Config struct {
	Getenv     func(string) string // nil is os.Getenv
	Catalogue  *llm.Catalogue      // nil is llm.DefaultCatalogue()
	HTTPClient *http.Client        // nil is one from wire.NewHTTPClient, shared by the providers
	Limits     wire.Limits
	// Retry is innermost. The zero value is llm.SessionRetries(), which starts an answer again that
	// was cut off; consumers of streams are told by Retry.Discard. Retries: -1 switches it off.
	Retry      llm.RetryPolicy
	Middleware []llm.Middleware // outside of Retry, so that it sees the retries
	// Default is the provider that FromEnv's client uses for requests that name none. Without it
	// such requests are errors as soon as there is more than one provider.
	Default string
	// BaseURL replaces the address of the one provider that Open connects to.
	BaseURL string
	// Search says where Open looks for a local server.
	Search Search
	// Found is told which local server Open connects to, and the model for requests that name none,
	// before anything is sent: a server may take minutes to load a model. Nil tells nobody.
	Found func(s Server, model string)
	// Debug gets what goes over the wire, without credentials; nil is nothing.
	Debug io.Writer
}

// env reads a variable. Space around a value, such as the line end of a file that it was read
// from, is never part of it.
func (c Config) env(name string) string {
	get := c.Getenv
	if get == nil {
		get = os.Getenv
	}
	return strings.TrimSpace(get(name))
}

// endpoint makes what the providers' endpoints have in common.
func (c Config) endpoint() wire.Endpoint {
	return wire.Endpoint{HTTPClient: c.HTTPClient, Limits: c.Limits}
}

// prepared is the configuration with its HTTP client made.
func (c Config) prepared() Config {
	if c.HTTPClient == nil {
		c.HTTPClient = wire.NewHTTPClient(c.Limits)
	}
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
