package connect

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/reins-agent/reins/internal/suggest"
	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// Find asks a provider's server about a model, or chooses a model if the name is empty. For the provider "local", it
// uses the server at Config.BaseURL or else the first server with the model that Config.Search finds. Other providers
// are asked only if their server is on this machine, or if the name is empty. If the server is not asked or does not
// answer, Find returns a nil server and a model with only its name.
//
// If the name is empty, Find chooses the first model that supports tools; an unknown kind of server must have only one
// model. If a server is still loading its model, Find waits for it. It makes an Ollama server load the model, because
// the context window is known only then.
func Find(ctx context.Context, provider string, c Config, model string) (*Server, llm.Model, error) {
	provider = c.Canonical(provider)
	c, err := c.loaded(ctx, provider)
	if err != nil {
		return nil, llm.Model{}, err
	}
	if err := c.usable(provider); err != nil {
		return nil, llm.Model{}, err
	}
	return c.prepared().await(ctx, provider, model)
}

// await waits for a server that is loading.
func (c Config) await(ctx context.Context, provider, model string) (*Server, llm.Model, error) {
	limit, pause := cmp.Or(c.Retry.Loading, 15*time.Minute), cmp.Or(c.Retry.Base, time.Second)
	t := c.target(provider)
	if model != "" && provider != "local" && !onThisMachine(t.base) {
		return nil, llm.Model{ID: model, Provider: provider}, nil
	}
	for waited := time.Duration(0); ; {
		srv, m, loading, err := t.find(ctx, model)
		if err == nil || !loading || waited >= limit {
			if err != nil && model != "" && provider != "local" {
				return nil, llm.Model{ID: model, Provider: provider}, nil // the first call explains any failure
			}
			return srv, m, err
		}
		if waited == 0 {
			c.progress(srv.String() + " is loading its model; waiting")
		}
		select {
		case <-time.After(pause):
			waited += pause
		case <-ctx.Done():
			return srv, m, llm.Errorf(llm.ErrCancelled, provider, "cancelled while the server loads its model: %w", context.Cause(ctx))
		}
	}
}

// target is where to ask for models.
type target struct {
	Config
	prober
	provider string
	base     string // "" searches this machine
}

// target returns where to ask a provider. The other protocols have no list of models in a form that this package reads,
// unless a local server has several protocols.
func (c Config) target(provider string) target {
	e, _ := c.entry(provider)
	if p := c.preset(provider); p != nil {
		e = Entry{BaseURL: cmp.Or(c.BaseURL, c.base(p.base)), Header: c.Header.Clone(), Protocol: p.speaks}
		e.Key, _ = c.key(p.keys...)
	}
	switch provider {
	case "local":
		e = Entry{BaseURL: c.BaseURL, Header: c.Header.Clone()}
	case "chat":
		e = Entry{BaseURL: c.baseURL(chatURL), Header: c.Header.Clone()}
		e.Key, _ = c.key(chatKey)
	case "openai":
		e = Entry{BaseURL: c.baseURL(openaiURL), Header: c.Header.Clone(), Protocol: "responses"}
		e.Key, _ = c.key(openaiKey)
	case "anthropic":
		e = Entry{BaseURL: c.baseURL(anthropicURL), Header: c.Header.Clone(), Protocol: "messages"}
	}
	if e.Header == nil {
		e.Header = http.Header{}
	}
	if e.Key != "" {
		e.Header.Set("Authorization", "Bearer "+e.Key)
	}
	if (e.Protocol == "messages" || e.Protocol == "gemini") && !onThisMachine(e.BaseURL) {
		e.BaseURL = ""
	}
	return target{c, prober{client: c.HTTPClient, header: e.Header, timeout: 10 * c.Search.withDefaults().Timeout}, provider, e.BaseURL}
}

// onThisMachine reports whether a URL's host is this machine.
func onThisMachine(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// find asks once. It reports whether a server is loading.
func (t target) find(ctx context.Context, model string) (*Server, llm.Model, bool, error) {
	servers, err := t.servers(ctx)
	if err != nil {
		if t.provider == "local" && t.base != "" && model != "" {
			return &Server{BaseURL: t.base}, t.unknown(model), false, nil
		}
		return nil, llm.Model{}, false, err
	}
	srv, m, err := t.choose(ctx, servers, model)
	if err == nil {
		t.describe(ctx, t.prober, srv, &m, true)
		return &srv, m, false, nil
	}
	for _, s := range servers {
		if s.Loading {
			return &s, m, true, err
		}
	}
	return nil, m, false, err
}

// servers lists the servers to ask.
func (t target) servers(ctx context.Context) ([]Server, error) {
	if t.base == "" && t.provider == "local" {
		return t.Search.Local(ctx)
	}
	if t.base == "" {
		return nil, llm.Errorf(llm.ErrConfiguration, "", "no model given, and provider %s has no default: choose one (--model)", t.provider)
	}
	srv, err := t.listAny(ctx, t.base)
	if err != nil {
		return nil, llm.Errorf(
			llm.ErrConfiguration,
			"", "no model given, and %s does not list its models (%w): choose one (--model)", wire.RedactURL(t.base), err,
		)
	}
	if t.provider != "local" && srv.Name == "" && len(srv.Models) > 1 {
		srv.several = true
	}
	return []Server{srv}, nil
}

// unknown returns a model that no server has described. The catalogue may know it from elsewhere.
func (t target) unknown(model string) llm.Model {
	catalogue := t.Catalogue
	if catalogue == nil {
		catalogue = llm.DefaultCatalogue()
	}
	m, listed := catalogue.Lookup(t.provider, model)
	if !listed {
		m.Reasoning = true // it may be
	}
	return llm.Model{
		ID:        model,
		Provider:  t.provider,
		Name:      cmp.Or(m.Name, model),
		Tools:     true,
		Vision:    m.Vision,
		Reasoning: m.Reasoning,
		Thinking:  m.Thinking,
		Efforts:   m.Efforts,
	}
}

// choose returns the first server with a model or, without a name, the first model that supports tools.
func (t target) choose(ctx context.Context, servers []Server, model string) (Server, llm.Model, error) {
	for _, s := range servers {
		if model != "" && (s.has(model) || t.base != "" && !s.Loading) {
			return s, t.unknown(model), nil
		}
	}
	if model != "" {
		return Server{}, llm.Model{}, missing(servers, model)
	}
	if s := servers[0]; s.several {
		return Server{}, llm.Model{}, llm.Errorf(
			llm.ErrConfiguration,
			"",
			"no model given: choose one of provider %s (--model), such as %s",
			t.provider,
			strings.Join(s.Models[:min(len(s.Models), 5)], ", "),
		)
	}
	const most = 32 // models to ask for
	var first *Server
	asked := 0
	for i, s := range servers {
		for _, id := range s.Models {
			m := t.unknown(id)
			if t.describe(ctx, t.prober, s, &m, false); m.Tools || asked >= most {
				return s, m, nil
			}
			if first == nil {
				first = &servers[i]
			}
			asked++
		}
	}
	if first == nil {
		return Server{}, llm.Model{}, llm.Errorf(
			llm.ErrConfiguration,
			"local", "%s has no models; load one, or choose one with --model", names(servers),
		)
	}
	return *first, t.unknown(first.Models[0]), nil
}

// missing returns the error for a model that no server has.
func missing(servers []Server, model string) error {
	var all []string
	for _, s := range servers {
		for _, id := range s.Models {
			all = append(all, strings.TrimSuffix(id, ":latest"))
		}
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
