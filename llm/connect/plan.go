package connect

import (
	"github.com/reins-agent/reins/llm"
)

// Plan is a provider that the user has signed in to, such as a ChatGPT plan. This package does not import such providers,
// because they save tokens in files.
type Plan struct {
	Name string
	// Open returns the provider. The endpoint has the common settings and Config.BaseURL.
	Open func(e llm.Endpoint, c *llm.Catalogue) (llm.Provider, error)
}

// openPlan returns the provider for the plan called name, or nil if it is not a plan. An entry with the same name is
// used instead of a plan.
func (c Config) openPlan(name string) (llm.Provider, error) {
	if _, replaced := c.entry(name); replaced {
		return nil, nil
	}
	for _, p := range c.Plans {
		if p.Name == name {
			e := c.endpoint()
			e.Name, e.BaseURL = name, c.BaseURL
			return p.Open(e, c.Catalogue)
		}
	}
	return nil, nil
}
