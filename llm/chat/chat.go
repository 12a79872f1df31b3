package chat

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strings"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/chat/texttools"
	"github.com/reins-agent/reins/llm/wire"
)

// Name is the dialect's name.
const Name = "openai-chat"

// DefaultBaseURL is where requests go if the configuration does not say.
const DefaultBaseURL = "https://api.openai.com/v1"

// Config configures a provider.
type Config struct {
	wire.Endpoint
	Catalogue *llm.Catalogue // default: llm.DefaultCatalogue()
	Quirks    *Quirks        // default: QuirksFor the base URL and the model
}

// Provider calls a Chat Completions server.
type Provider struct {
	*wire.Provider
	dialect *dialect
}

// New returns a provider. By default its name is "chat" and its base URL DefaultBaseURL.
func New(c Config) *Provider {
	if c.Name == "" {
		c.Name = "chat"
	}
	if c.BaseURL == "" {
		c.BaseURL = DefaultBaseURL
	}
	d := &dialect{baseURL: c.BaseURL, catalogue: c.Catalogue, cacheKey: Name + " " + c.BaseURL}
	if d.catalogue == nil {
		d.catalogue = llm.DefaultCatalogue()
	}
	if c.Quirks != nil {
		d.fix(*c.Quirks)
	}
	return &Provider{wire.NewProvider(d, c.Endpoint), d}
}

// Stream calls the model. It recovers tool calls written as text, unless Quirks.NoTextTools is set.
func (p *Provider) Stream(ctx context.Context, r *llm.Request) iter.Seq2[llm.StreamEvent, error] {
	if p.dialect.quirks(r.Model).NoTextTools {
		return p.Provider.Stream(ctx, r)
	}
	return texttools.Recover(p.Provider.Stream)(ctx, r)
}

// NewDialect is the protocol with fixed quirks. The zero Quirks are the protocol as OpenAI
// publishes it.
func NewDialect(q Quirks) wire.Dialect {
	d := new(dialect)
	d.fix(q)
	return d
}

// Azure fills in the configuration for a resource of Azure OpenAI, such as
// "https://name.openai.azure.com". Request.Model names the deployment. With an empty version the
// resource's v1 API is used, which needs none; with one, such as "2024-10-21", its deployment URLs.
func Azure(resource, apiVersion string, c Config) Config {
	c.BaseURL = strings.TrimRight(resource, "/") + "/openai/v1"
	if apiVersion != "" {
		c.BaseURL = strings.TrimRight(resource, "/") + "/openai/deployments"
		c.Query = "api-version=" + url.QueryEscape(apiVersion)
		c.Rewrite = func(r *llm.Request, call *wire.Call) error {
			call.Path = "/" + url.PathEscape(r.Model) + call.Path
			return nil
		}
	}
	if c.Name == "" {
		c.Name = "azure"
	}
	if c.Quirks == nil {
		q := azure
		c.Quirks = &q
	}
	return c
}

type dialect struct {
	fixed     *Quirks
	baseURL   string
	catalogue *llm.Catalogue
	cacheKey  string // names this dialect's encoder in a cache
}

func (d *dialect) fix(q Quirks) {
	d.fixed = &q
	d.cacheKey = fmt.Sprintf("%s %v", Name, q)
}

func (d *dialect) Name() string { return Name }

func (d *dialect) quirks(model string) Quirks {
	if d.fixed != nil {
		return *d.fixed
	}
	return QuirksFor(d.baseURL, model)
}

// Authorize sets the key's header.
func (d *dialect) Authorize(h http.Header, key string) {
	if header := d.quirks("").KeyHeader; header != "" {
		h.Set(header, key)
		return
	}
	h.Set("Authorization", "Bearer "+key)
}

// known is what the catalogue says of a model, if it knows it.
func (d *dialect) known(model string) (llm.Model, bool) {
	if d.catalogue == nil {
		return llm.Model{}, false
	}
	return d.catalogue.Lookup("", model)
}
