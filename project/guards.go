package project

import (
	"cmp"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/config"
	"github.com/reins-agent/reins/home"
	"github.com/reins-agent/reins/internal/configtool"
	"github.com/reins-agent/reins/internal/web"
	"github.com/reins-agent/reins/internal/webhook"
	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/tool"
)

// auditLog returns the configuration of the audit log.
func (p *Project) auditLog() (coding.Audit, error) {
	s := p.Settings.Audit
	a := coding.Audit{Off: !s.Enabled, Optional: !s.Required, MaxSize: int64(s.MaxSize) << 20, Keep: s.Keep}
	var err error
	if !a.Off {
		a.Path, err = p.AuditPath()
	}
	return a, err
}

// AuditPath returns the file of the audit log, even if it is disabled.
func (p *Project) AuditPath() (string, error) {
	path := p.Settings.Audit.Path
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		path = filepath.Join(p.getenv("HOME"), rest)
	}
	switch {
	case path == "":
		state, err := p.State()
		return state.Audit(), err
	case !filepath.IsAbs(path):
		return "", mistakef("audit.path %q must be an absolute path, or begin with ~/", path)
	}
	return path, nil
}

// audit returns the configuration of the audit log for a session. A session that is not saved does not need the state
// directory, unless the configuration requires the audit log.
func (p *Project) audit(noSave bool) (coding.Audit, error) {
	a, err := p.auditLog()
	if noSave && p.Layer("audit.required") == config.LayerDefault {
		a.Optional = true
		if errors.Is(err, home.ErrNone) {
			a.Off, err = true, nil
		}
	}
	return a, err
}

// secrets returns what is redacted.
func (p *Project) secrets(more []string) coding.Secrets {
	s := p.Settings
	names := slices.Concat(s.Secrets.Names, []string{searchKey(s.Web)}, more)
	for _, t := range s.Triggers {
		names = append(names, t.SecretEnv)
	}
	for _, c := range s.Providers {
		names = append(names, c.KeyEnv)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == "" })
	return coding.Secrets{Off: !s.Secrets.Redact, Names: names, Patterns: s.Secrets.Patterns}
}

// webTools returns the web tools that the configuration enables.
func (p *Project) webTools() ([]tool.Tool, error) {
	w := p.Settings.Web
	c := web.Config{
		Fetch:        w.Fetch || w.SearchBackend != "",
		AllowPrivate: w.AllowPrivate,
		Search:       web.Search{Backend: w.SearchBackend, URL: w.SearchURL},
	}
	for _, t := range p.Settings.Triggers {
		secret, err := webhook.ParseSecret(p.getenv(t.SecretEnv))
		if err != nil {
			return nil, mistakef("trigger %s: the environment variable %s: %w", t.Name, t.SecretEnv, err)
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
			return nil, mistakef("web.search_backend: set web.search_url to the URL of the SearXNG instance")
		}
	case "brave":
		name := searchKey(w)
		if c.Search.Key = p.getenv(name); c.Search.Key == "" {
			return nil, mistakef("web.search_backend: set the environment variable %s to the API key of Brave Search", name)
		}
	}
	tools, err := web.New(c)
	if err != nil {
		return nil, mistakef("configuration of web: %w", err)
	}
	return tools, nil
}

// searchKey returns the name of the environment variable with the key of the search engine.
func searchKey(w config.Web) string { return cmp.Or(w.SearchKeyEnv, "BRAVE_API_KEY") }

// configTool returns the tool that reads the configuration and asks to change the user's configuration.
func (p *Project) configTool() tool.Tool {
	entries := func() ([]config.Entry, error) { return p.Entries(), nil }
	return configtool.New(entries, func() (config.File, error) { return p.ConfigFile(".", config.LayerUser) })
}

// Entries returns the settings that have a value, without credentials.
func (p *Project) Entries() []config.Entry {
	entries := p.Settings.Entries()
	for i := range entries {
		entries[i].Value = masked(entries[i].Value)
	}
	return entries
}

// masked returns the value of a setting without credentials.
func masked(value any) any {
	switch v := value.(type) {
	case string:
		return wire.RedactURL(v)
	case map[string]config.Provider:
		shown := map[string]config.Provider{}
		for name, p := range v {
			p.BaseURL, p.KeyCommand = wire.RedactURL(p.BaseURL), wire.Redact(p.KeyCommand)
			p.Headers = maps.Clone(p.Headers)
			for header, value := range p.Headers {
				if !strings.HasPrefix(value, "${") {
					p.Headers[header] = "[redacted]"
				}
			}
			shown[name] = p
		}
		return shown
	case []config.Hook:
		v = slices.Clone(v)
		for i := range v {
			v[i].Command = wire.Redact(v[i].Command)
		}
		return v
	}
	return value
}
