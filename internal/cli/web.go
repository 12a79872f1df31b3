package cli

import (
	"cmp"

	"github.com/reins-agent/reins/config"
	"github.com/reins-agent/reins/internal/web"
	"github.com/reins-agent/reins/internal/webhook"
	"github.com/reins-agent/reins/tool"
)

// webTools returns the web tools that the configuration enables. The demo has no configuration.
func (h Host) webTools(s *config.Settings) ([]tool.Tool, error) {
	if s == nil {
		return nil, nil
	}
	w := s.Web
	c := web.Config{
		Fetch: w.Fetch || w.SearchBackend != "", AllowPrivate: w.AllowPrivate,
		Search: web.Search{Backend: w.SearchBackend, URL: w.SearchURL},
	}
	for _, t := range s.Triggers {
		secret, err := webhook.ParseSecret(h.Getenv(t.SecretEnv))
		if err != nil {
			return nil, usagef("trigger %s: the environment variable %s: %w", t.Name, t.SecretEnv, err)
		}
		if c.Triggers == nil {
			c.Triggers = map[string]web.Trigger{}
		}
		c.Triggers[t.Name] = web.Trigger{URL: t.URL, Secret: secret}
	}
	switch w.SearchBackend {
	case "provider": // see feature.HostedSearch
		c.Search = web.Search{}
	case "searxng":
		if w.SearchURL == "" {
			return nil, usagef("web.search_backend: set web.search_url to the URL of the SearXNG instance")
		}
	case "brave":
		name := searchKey(w)
		if c.Search.Key = h.Getenv(name); c.Search.Key == "" {
			return nil, usagef("web.search_backend: set the environment variable %s to the API key of Brave Search", name)
		}
	}
	tools, err := web.New(c)
	if err != nil {
		return nil, usagef("configuration of web: %w", err)
	}
	return tools, nil
}

// searchKey returns the name of the environment variable with the key of the search engine.
func searchKey(w config.Web) string { return cmp.Or(w.SearchKeyEnv, "BRAVE_API_KEY") }
