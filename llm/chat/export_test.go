package chat

import "github.com/reins-agent/reins/internal/wire"

type Quirks = quirks

const (
	EffortObject   = effortObject
	EffortTemplate = effortTemplate
)

// QuirksFor returns the quirks that are known for a server and a model.
func QuirksFor(baseURL, model string) Quirks { return quirksFor(baseURL, model) }

// With returns the configuration with fixed quirks.
func (c Config) With(q Quirks) Config {
	c.quirks = &q
	return c
}

func fixed(q quirks) wire.Dialect { return NewDialect(Config{}.With(q)) }
