package connect

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/anthropic"
	"github.com/reins-agent/reins/llm/chat"
	"github.com/reins-agent/reins/llm/gemini"
	"github.com/reins-agent/reins/llm/openai"
)

// Entry is a provider that the user has configured: a service that uses a vendor's protocol.
type Entry struct {
	Name     string // must not be one of Names
	BaseURL  string
	Protocol string // one of Protocols; "" means "chat"
	Key      string // "" sends no key
	KeyFrom  string // names the source of Key, for errors
	Header   http.Header
	Models   []llm.Model // their Provider is ignored; the first one is the default
	// Load, if set, returns Key and Header when the provider is opened.
	Load func(ctx context.Context) (key string, header http.Header, err error)
}

// Protocols returns the protocols that an Entry can have.
func Protocols() []string { return []string{"chat", "responses", "messages", "gemini"} }

// loaded returns the configuration with the key and the headers from the entry called name, if any.
func (c Config) loaded(ctx context.Context, name string) (Config, error) {
	i := slices.IndexFunc(c.Entries, func(e Entry) bool { return e.Name == name })
	if i < 0 || c.Entries[i].Load == nil {
		return c, nil
	}
	c.Entries = slices.Clone(c.Entries)
	e := &c.Entries[i]
	key, header, err := e.Load(ctx)
	if err != nil {
		return c, llm.Errorf(llm.ErrConfiguration, "", "provider %s: %w", name, err)
	}
	e.Key = key
	e.Header = header
	e.Load = nil
	return c, nil
}

var vendorOf = map[string]string{"responses": "openai", "messages": "anthropic", "gemini": "gemini"}

func (c Config) hasEntry(name string) bool {
	return slices.ContainsFunc(c.Entries, func(e Entry) bool { return e.Name == name })
}

func (c Config) entry(name string) (Entry, bool) {
	i := slices.IndexFunc(c.Entries, func(e Entry) bool { return e.Name == name })
	if i < 0 {
		return Entry{}, false
	}
	e := c.Entries[i]
	e.BaseURL = cmp.Or(c.BaseURL, e.BaseURL)
	e.Header = e.Header.Clone()
	if e.Header == nil {
		e.Header = http.Header{}
	}
	maps.Copy(e.Header, c.Header)
	return e, true
}

func (e Entry) secrets() []string {
	list := urlSecrets(e.BaseURL)
	if e.Key != "" {
		list = append(list, e.Key)
	}
	for _, values := range e.Header {
		list = append(list, long(values)...)
	}
	return list
}

func (e Entry) open(c Config) (llm.Provider, error) {
	if e.BaseURL == "" {
		return nil, llm.Errorf(llm.ErrConfiguration, "", "provider %s has no base URL", e.Name)
	}
	to := llm.Endpoint{
		Name:       e.Name,
		BaseURL:    e.BaseURL,
		APIKey:     e.Key,
		KeyFrom:    e.KeyFrom,
		Header:     e.Header,
		HTTPClient: c.HTTPClient,
		Limits:     c.Limits,
	}
	catalogue, err := Catalogue(c.Catalogue, c.Entries)
	if err != nil {
		return nil, err
	}
	if vendor := vendorOf[e.Protocol]; vendor != "" { // whose models the adapter looks up
		models := slices.Clone(e.Models)
		for i := range models {
			models[i].Provider, models[i].Default = vendor, false
		}
		if catalogue, err = Extend(catalogue, models...); err != nil {
			return nil, err
		}
	}
	switch e.Protocol {
	case "", "chat":
		return chat.New(chat.Config{Endpoint: to, Catalogue: catalogue}), nil
	case "responses":
		return openai.New(openai.Config{Endpoint: to, Catalogue: catalogue}), nil
	case "messages":
		return anthropic.New(anthropic.Config{Endpoint: to, Catalogue: catalogue}), nil
	case "gemini":
		return gemini.New(gemini.Config{Endpoint: to, Catalogue: catalogue}), nil
	}
	return nil, llm.Errorf(
		llm.ErrConfiguration,
		"", "provider %s has the unknown protocol %q; use %s", e.Name, e.Protocol, strings.Join(Protocols(), ", "),
	)
}

// Catalogue returns a catalogue with the models of entries, after the others. Nil means llm.DefaultCatalogue().
func Catalogue(base *llm.Catalogue, entries []Entry) (*llm.Catalogue, error) {
	if base == nil {
		base = llm.DefaultCatalogue()
	}
	var models []llm.Model
	for _, e := range entries {
		for i, m := range e.Models {
			m.Provider = e.Name
			m.Name = cmp.Or(m.Name, m.ID)
			m.Default = i == 0
			models = append(models, m)
		}
	}
	if len(models) == 0 {
		return base, nil
	}
	return Extend(base, models...)
}

// Extend returns a catalogue with further models; see [llm.Catalogue.Extend].
func Extend(base *llm.Catalogue, models ...llm.Model) (*llm.Catalogue, error) {
	return base.Extend(models...)
}
