// Package anthropic implements Anthropic's Messages API.
//
// # Requests
//
// System and developer messages become system blocks, wherever they are in the conversation. Consecutive messages with
// the same role are merged, because user and assistant must alternate, and tool results come first in their user
// message. Thinking is sent back with its signature to the model that produced it and omitted for any other. Empty
// texts are omitted; a short text replaces media that the API does not support. Tool call arguments that are not a JSON
// object are sent as {"_raw": "…"}, freeform arguments as {"input": "…"}.
//
// The messages are last in the body, so that each request begins with the same bytes as the previous one, up to where
// its messages ended. Cache breakpoints are the exception: one is after the tools and the system blocks, one after the
// last message, and one where the previous request ended. They are placed unless Request.NoCache is set or the caller
// sets cache_control.
//
// max_tokens is Request.MaxTokens, or the model's limit in the catalogue, or 32000.
//
// Effort becomes adaptive thinking with output_config.effort on models that the catalogue lists as
// "adaptive". On others it becomes a token budget for thinking, always less than max_tokens:
//
//	minimal 1024 · low 4096 · medium 10240 · high 24576 · xhigh 32768 · max 65536
//
// Thinking is not requested where the API refuses it: if a tool is forced and, for budgets, in the middle of a
// tool round that began without it. While it is on, sampling parameters that the API refuses are omitted: a
// temperature other than 1, top_k, and top_p below 0.95. Of temperature and top_p, only the temperature is
// sent.
//
// Output to a schema uses output_config.format if the model supports it according to the catalogue. Otherwise,
// and for JSON without a schema, the model must call a tool with a reserved name, and the decoder turns that
// call into text.
//
// # Answers
//
// State is a JSON object with the block members that have no field in the part: a thinking signature, text citations, a
// tool call's caller. Server tool blocks and unknown blocks are stored whole as llm.Opaque. So is the container in an
// answer, which the next request names.
//
// A stream is complete only with its message_stop event.
package anthropic

import (
	"net/http"
	"strings"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// Name is the dialect name.
const Name = "anthropic"

// BaseURL is the default base URL.
const BaseURL = "https://api.anthropic.com"

// defaultMaxTokens is max_tokens for unknown models. Every model since Claude 4 supports it.
const defaultMaxTokens = 32000

const version = "2023-06-01"

// Config configures a provider.
type Config struct {
	llm.Endpoint                // the default Name is "anthropic", the default BaseURL is [BaseURL]
	AuthToken    string         // sent as a bearer token instead of the API key
	Catalogue    *llm.Catalogue // nil means llm.DefaultCatalogue()
	// Cloud means that the endpoint belongs to a cloud platform, which does not accept tool definitions in messages.
	Cloud bool
}

// New returns a provider.
func New(c Config) llm.Provider {
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

// NewDialect returns the dialect alone. It ignores the endpoint.
func NewDialect(c Config) wire.Dialect {
	if c.Catalogue == nil {
		c.Catalogue = llm.DefaultCatalogue()
	}
	return &dialect{catalogue: c.Catalogue, bearer: c.AuthToken != "", cloud: c.Cloud}
}

type dialect struct {
	catalogue *llm.Catalogue
	bearer    bool
	cloud     bool
}

func (*dialect) Name() string { return Name }

func (d *dialect) Authorize(h http.Header, key string) {
	if d.bearer {
		h.Set("Authorization", "Bearer "+key)
	} else {
		h.Set("X-Api-Key", key)
	}
}

// model looks a model up, also by its name on Bedrock or Vertex.
func (d *dialect) model(name string) (llm.Model, bool) {
	if m, ok := d.catalogue.Exact(Name, name); ok {
		return m, true
	}
	if m, ok := d.catalogue.Like(Name, plainModel(name)); ok && m.Provider == Name {
		return m, true
	}
	return llm.Model{}, false
}

// plainModel returns Anthropic's name for a model of Bedrock, such as
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
