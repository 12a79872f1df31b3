package connect

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/reins-agent/reins/internal/suggest"
	"github.com/reins-agent/reins/llm"
)

// Find returns the server that has a model, and what it says about it. Without a name it chooses the first model that
// supports tools. It asks the server at Config.BaseURL or, without one, those that Config.Search finds. A server at
// Config.BaseURL may have models that it does not list.
//
// If a server is still loading its model, Find waits for it. An Ollama server loads the model, because its context
// window is known only then.
func Find(ctx context.Context, c Config, model string) (Server, llm.Model, error) {
	return c.prepared().await(ctx, model)
}

// await is like find, but waits for a server that is loading.
func (c Config) await(ctx context.Context, model string) (Server, llm.Model, error) {
	limit, pause := cmp.Or(c.Retry.Loading, 15*time.Minute), cmp.Or(c.Retry.Base, time.Second)
	for waited := time.Duration(0); ; {
		srv, m, loading, err := c.find(ctx, model)
		if err == nil || !loading || waited >= limit {
			return srv, m, err
		}
		if waited == 0 {
			c.progress(srv.String() + " is loading its model; waiting")
		}
		select {
		case <-time.After(pause):
			waited += pause
		case <-ctx.Done():
			return srv, m, llm.Errorf(llm.ErrCancelled, "local", "cancelled while the server loads its model: %w", context.Cause(ctx))
		}
	}
}

// find is like Find, but does not wait. It reports whether a server is loading.
func (c Config) find(ctx context.Context, model string) (srv Server, m llm.Model, loading bool, err error) {
	p := prober{client: c.HTTPClient, header: c.Header, timeout: 10 * c.Search.withDefaults().Timeout}
	var servers []Server
	if c.BaseURL == "" {
		servers, err = c.Search.Local(ctx)
	} else if srv, err = p.listAny(ctx, c.BaseURL); err == nil {
		servers = []Server{srv}
	} else if model != "" {
		return srv, c.unknown(model), false, nil // the first call explains what is wrong, if anything is
	}
	if err != nil {
		return srv, m, false, err
	}
	srv, m, err = c.choose(ctx, p, servers, model)
	if err == nil {
		c.describe(ctx, p, srv, &m, true)
		return srv, m, false, nil
	}
	for _, s := range servers {
		if s.Loading {
			return s, m, true, err
		}
	}
	return srv, m, false, err
}

// unknown returns a model that no server has described. The catalogue may know it from elsewhere.
func (c Config) unknown(model string) llm.Model {
	catalogue := c.Catalogue
	if catalogue == nil {
		catalogue = llm.DefaultCatalogue()
	}
	m, listed := catalogue.Lookup("local", model)
	if !listed {
		m.Reasoning = true // it may be
	}
	return llm.Model{
		ID: model, Provider: "local", Name: cmp.Or(m.Name, model), Tools: true, Vision: m.Vision, Reasoning: m.Reasoning, Thinking: m.Thinking, Efforts: m.Efforts,
	}
}

// choose returns the first server with a model or, without a name, the first model that supports tools.
func (c Config) choose(ctx context.Context, p prober, servers []Server, model string) (Server, llm.Model, error) {
	for _, s := range servers {
		if model != "" && (s.has(model) || c.BaseURL != "" && !s.Loading) {
			return s, c.unknown(model), nil
		}
	}
	if model != "" {
		return Server{}, llm.Model{}, missing(servers, model)
	}
	const most = 32 // models to ask for
	var first *Server
	asked := 0
	for i, s := range servers {
		for _, id := range s.Models {
			m := c.unknown(id)
			if c.describe(ctx, p, s, &m, false); m.Tools || asked >= most {
				return s, m, nil
			}
			if first == nil {
				first = &servers[i]
			}
			asked++
		}
	}
	if first == nil {
		return Server{}, llm.Model{}, llm.Errorf(llm.ErrConfiguration, "local", "%s has no models; load one, or choose one with --model", names(servers))
	}
	return *first, c.unknown(first.Models[0]), nil
}

// missing returns the error for a model that no server has.
func missing(servers []Server, model string) error {
	var all []string
	for _, s := range servers {
		all = append(all, s.Models...)
	}
	near := suggest.Words(model, all)
	if len(near) == 0 {
		near = all[:min(len(all), 5)]
	}
	hint := ""
	if len(near) > 0 {
		hint = "; it has " + strings.Join(near, ", ")
		if len(servers) > 1 {
			hint = "; they have " + strings.Join(near, ", ")
		}
	}
	return llm.Errorf(llm.ErrConfiguration, "local", "%s does not have the model %q%s", names(servers), model, hint)
}

func names(servers []Server) string {
	var list []string
	for _, s := range servers {
		list = append(list, s.String())
	}
	return strings.Join(list, " or ")
}

func (c Config) progress(text string) {
	if c.Progress != nil {
		c.Progress(text)
	}
}
