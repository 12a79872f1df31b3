package connect

import (
	"context"
	"iter"
	"strings"

	"github.com/reins-agent/reins/internal/suggest"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/chat"
)

// Names returns the names that Open accepts, without [Presets].
func Names() []string {
	var names []string
	for _, v := range vendors {
		names = append(names, v.name)
	}
	names = append(names, "local")
	for _, p := range clouds {
		names = append(names, p.name)
	}
	return names
}

// Open returns a client with one provider: "openai", "anthropic", "gemini" or "chat" from the environment as in
// FromEnv, one of Config.Entries, "local" for a server on this machine, at Config.BaseURL or found by Config.Search, a
// cloud platform with its usual variables and files ("bedrock", "vertex", "azure" or "azure-chat"), or one of [Presets]
// with its key variable. With a Config.BaseURL no key is required. The provider is registered under its
// [Config.Canonical] name.
func Open(ctx context.Context, name string, c Config) (*llm.Client, error) {
	name = c.Canonical(name)
	c, err := c.loaded(ctx, name)
	if err != nil {
		return nil, err
	}
	c = c.prepared()
	if name == "local" {
		p, err := c.openLocal(ctx)
		if err != nil {
			return nil, err
		}
		return c.client(name, p)
	}
	if p, err := c.openCloud(name); p != nil || err != nil {
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
			return nil, llm.Errorf(llm.ErrConfiguration, "", "provider %s is not configured: set %s; `reins demo` needs no key",
				name, strings.Join(v.needs, " or "))
		}
		if err := c.planToken(name); err != nil {
			return nil, err
		}
		return c.client(name, v.open(c))
	}
	if e, ok := c.entry(name); ok {
		p, err := e.open(c)
		if err != nil {
			return nil, err
		}
		return c.client(name, p)
	}
	if p := c.preset(name); p != nil {
		opened, err := c.openPreset(p)
		if err != nil {
			return nil, err
		}
		return c.client(name, opened)
	}
	return nil, c.unknown(name)
}

// unknown returns the error for a name that Open cannot use.
func (c Config) unknown(name string) error {
	if why := refusal(name); why != "" {
		return llm.Errorf(llm.ErrConfiguration, "", "provider %s cannot be used: %s", name, why)
	}
	if near := Near(name); len(near) > 0 {
		return llm.Errorf(llm.ErrConfiguration, "", "unknown provider %q; did you mean %s?", name, suggest.Or(near))
	}
	names := Names()
	for _, e := range c.Entries {
		names = append(names, e.Name)
	}
	return llm.Errorf(
		llm.ErrConfiguration,
		"",
		"unknown provider %q; use one of: %s, or one that `reins providers list` shows",
		name,
		strings.Join(names, ", "),
	)
}

func (c Config) openLocal(ctx context.Context) (llm.Provider, error) {
	e := c.endpoint()
	e.Name = "local"
	e.BaseURL = c.BaseURL
	e.Limits = c.localLimits()
	model := ""
	if e.BaseURL == "" {
		srv, m, err := c.await(ctx, "local", "")
		if err != nil {
			return nil, err
		}
		e.BaseURL, model = srv.BaseURL, m.ID
	}
	return defaultModel{chat.New(chat.Config{Endpoint: e, Catalogue: c.Catalogue}), model}, nil
}

// defaultModel is a provider with a model for requests that name none.
type defaultModel struct {
	llm.Provider
	model string
}

func (p defaultModel) Stream(ctx context.Context, r *llm.Request) iter.Seq2[llm.StreamEvent, error] {
	if r.Model == "" {
		named := *r
		named.Model = p.model
		r = &named
	}
	return p.Provider.Stream(ctx, r)
}
