package openai

import (
	"net/http"
	"strings"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/wire"
)

// Name is the name of the dialect.
const Name = "openai-responses"

// DefaultBaseURL is the root of OpenAI's own API.
const DefaultBaseURL = "https://api.openai.com/v1"

const encryptedReasoning = "reasoning.encrypted_content"

// Config says where and how the Responses API is spoken.
type Config struct {
	wire.Endpoint // Name is "openai" and BaseURL is DefaultBaseURL if empty

	Catalogue *llm.Catalogue // nil is llm.DefaultCatalogue()
	// Summary asks reasoning models for summaries of their reasoning: "auto", "concise" or
	// "detailed". The default is not to ask, because OpenAI refuses it to organisations that
	// it has not verified.
	Summary string
	// Obfuscation keeps the random padding of streamed events, a protection against listeners
	// who guess at the text from the size of packets. By default it is switched off.
	Obfuscation bool
	// KeyHeader is the header that carries the API key. By default it is sent as a bearer token.
	KeyHeader string
}

// New makes a provider.
func New(c Config) *wire.Provider {
	if c.Endpoint.Name == "" {
		c.Endpoint.Name = "openai"
	}
	if c.BaseURL == "" {
		c.BaseURL = DefaultBaseURL
	}
	return wire.NewProvider(NewDialect(c), c.Endpoint)
}

// NewDialect makes the codec alone. It uses the settings of c other than the endpoint.
func NewDialect(c Config) wire.Dialect {
	if c.Catalogue == nil {
		c.Catalogue = llm.DefaultCatalogue()
	}
	return &dialect{c.Catalogue, c.Summary, c.Obfuscation, c.KeyHeader}
}

type dialect struct {
	catalogue   *llm.Catalogue
	summary     string
	obfuscation bool
	keyHeader   string
}

func (d *dialect) Name() string { return Name }

func (d *dialect) Authorize(h http.Header, key string) {
	if d.keyHeader != "" {
		h.Set(d.keyHeader, key)
		return
	}
	h.Set("Authorization", "Bearer "+key)
}

// reasons reports whether the model is one that reasons. The API refuses to be asked for the
// encrypted reasoning of one that does not. Models that nobody knows are taken for new ones.
func (d *dialect) reasons(model string) bool {
	if m, ok := d.catalogue.Exact("openai", model); ok {
		return m.Reasoning
	}
	model = model[strings.LastIndexByte(model, '/')+1:]
	for _, old := range []string{"gpt-3", "gpt-4", "chatgpt-4"} {
		if strings.HasPrefix(model, old) {
			return false
		}
	}
	return true
}
