package connect

import (
	"context"
	"iter"
	"strings"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/chat"
)

// Names lists what Open takes.
func Names() []string {
	var names []string
	for _, v := range vendors {
		names = append(names, v.name)
	}
	return append(names, "local")
}

// Open makes a client of one provider: "openai", "anthropic", "gemini" or "chat" from the
// environment as in FromEnv, or "local" for a server on this machine, which is looked for unless
// Config.BaseURL says where it is. With a Config.BaseURL no key is needed, because a server of
// one's own may have none.
func Open(ctx context.Context, name string, c Config) (*llm.Client, error) {
	c = c.prepared()
	if name == "local" {
		p, err := c.openLocal(ctx)
		if err != nil {
			return nil, err
		}
		return c.client(name, p)
	}
	for _, v := range vendors {
		if v.name != name {
			continue
		}
		if c.BaseURL == "" && !v.present(c) {
			return nil, llm.Errorf(llm.ErrConfiguration, "", "the provider %s is not configured: set %s, or run `reins demo`, which needs no key",
				name, strings.Join(v.needs, " or "))
		}
		return c.client(name, v.open(c))
	}
	return nil, llm.Errorf(llm.ErrConfiguration, "", "there is no provider %q; there are: %s", name, strings.Join(Names(), ", "))
}

func (c Config) openLocal(ctx context.Context) (llm.Provider, error) {
	e := c.endpoint()
	e.Name, e.BaseURL = "local", c.BaseURL
	model := ""
	if e.BaseURL == "" {
		servers, err := c.Search.Local(ctx)
		if err != nil {
			return nil, err
		}
		e.BaseURL, model = servers[0].BaseURL, servers[0].Models[0]
		if c.Found != nil {
			c.Found(servers[0], model)
		}
	}
	return standardModel{chat.New(chat.Config{Endpoint: e, Catalogue: c.Catalogue}), model}, nil
}

// standardModel is a provider with a model for requests that name none.
type standardModel struct {
	llm.Provider
	model string
}

func (p standardModel) Stream(ctx context.Context, r *llm.Request) iter.Seq2[llm.StreamEvent, error] {
	if r.Model == "" {
		named := *r
		named.Model = p.model
		r = &named
	}
	return p.Provider.Stream(ctx, r)
}
