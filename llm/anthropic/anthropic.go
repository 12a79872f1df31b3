package anthropic

import (
	"net/http"
	"strings"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/wire"
)

// Name is what llm.State and llm.Request.Options call this dialect.
const Name = "anthropic"

// BaseURL is the root of Anthropic's own API.
const BaseURL = "https://api.anthropic.com"

// DefaultMaxTokens is the max_tokens of models that the catalogue does not know. Every model since
// Claude 4 takes it.
const DefaultMaxTokens = 32000

const version = "2023-06-01"

// Config says how a provider is reached.
type Config struct {
	wire.Endpoint
	// AuthToken is sent as a bearer token, in place of the API key.
	AuthToken string
	// Catalogue tells the limits and abilities of models; nil is llm.DefaultCatalogue().
	Catalogue *llm.Catalogue
}

// New makes a provider. Its name is "anthropic" and its base URL is Anthropic's, unless the
// configuration says otherwise.
func New(c Config) *wire.Provider {
	if c.Name == "" {
		c.Name = Name
	}
	if c.BaseURL == "" {
		c.BaseURL = BaseURL
	}
	if c.AuthToken != "" {
		c.APIKey = c.AuthToken
	}
	return wire.NewProvider(NewDialect(c), c.Endpoint)
}

// NewDialect makes the codec alone; the endpoint is not looked at.
func NewDialect(c Config) wire.Dialect {
	d := newDialect(c.Catalogue)
	d.bearer = c.AuthToken != ""
	return d
}

type dialect struct {
	catalogue *llm.Catalogue
	bearer    bool
}

func newDialect(catalogue *llm.Catalogue) *dialect {
	if catalogue == nil {
		catalogue = llm.DefaultCatalogue()
	}
	return &dialect{catalogue: catalogue}
}

func (*dialect) Name() string { return Name }

func (d *dialect) Authorize(h http.Header, key string) {
	if d.bearer {
		h.Set("Authorization", "Bearer "+key)
	} else {
		h.Set("X-Api-Key", key)
	}
}

// model is what the catalogue knows of a model, which Bedrock and Vertex give names of their own.
func (d *dialect) model(name string) (llm.Model, bool) {
	if m, ok := d.catalogue.Exact(Name, name); ok {
		return m, true
	}
	return d.catalogue.Exact(Name, plainModel(name))
}

// plainModel is Anthropic's name for a model of Bedrock, such as
// "us.anthropic.claude-haiku-4-5-20251001-v1:0".
func plainModel(name string) string {
	if _, rest, ok := strings.Cut(name, "anthropic."); ok {
		name = rest
	}
	if i := strings.LastIndex(name, "-v"); i > 0 && strings.Trim(name[i+2:], "0123456789:") == "" {
		name = name[:i]
	}
	return name
}
