// Package chat implements OpenAI's Chat Completions protocol for all compatible servers: hosted vendors, gateways
// and local servers.
//
// Servers differ in the requests they accept. The type quirks describes the differences, which depend on
// the model and the base URL's host. Answers need no table: the decoder accepts every known form
// from every server. Package texttools recovers tool calls that a model wrote as text.
//
// # Differences from llm.Request
//
//   - A message's text parts are sent as one string, separated by a blank line (without a separator in an assistant
//     message), because many servers do not accept lists of text.
//   - Tool messages contain only text. Images and files in tool results follow in a user message after the turn's last
//     result, and the tool message refers to them.
//   - A failed tool result starts with "Error: ".
//   - Freeform tools are sent as functions with one string parameter, "input". Their calls arrive as ordinary calls with the
//     arguments {"input": …}.
//   - Tool call arguments that are not a JSON object are sent as {"_raw": "…"}, empty arguments as {}.
//   - A refusal is an opaque part of kind "refusal", and the answer finishes with llm.FinishContentFilter.
//   - Only the first choice in an answer is read.
//   - Thinking between <think> tags before the text becomes a Thinking part without state.
//   - Without MaxTokens, the limit is the model's max_output, if the catalogue lists it for this provider.
//
// # Provider state
//
// A Thinking part's state determines where its text is sent back: a JSON string names an assistant message member
// ("reasoning_content"), an object with a type is a content part (Mistral), and any other object contains whole members
// ("reasoning_details"). The state of a ToolCall, and an Opaque part with kind "message", contain further members for
// the call or the message. The state of a Text part is its content part. Thinking without state for this dialect and
// model is not sent, but see quirks.ReasoningDue.
//
// # Settings
//
// A setting that the server does not have or that the catalogue's rules for the model refuse is a configuration error:
// temperature, top_p, a thinking budget, a cache lifetime, a service tier, and tools on OpenAI models that accept them
// only over the Responses API.
//
// # Parse
//
// Parsing a request and encoding it again gives the same JSON, except that null members are dropped and tools get
// their type. A member that llm.Request cannot reproduce is stored whole in the request's options.
package chat

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strings"

	"github.com/reins-agent/reins/internal/texttools"
	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// Name is the dialect's name.
const Name = "openai-chat"

// BaseURL is the default base URL.
const BaseURL = "https://api.openai.com/v1"

// Config configures a provider.
type Config struct {
	llm.Endpoint
	Catalogue *llm.Catalogue // default: llm.DefaultCatalogue()
	// Like is the base URL of the server that this one stands for, such as the vendor behind a gateway. Differences from
	// OpenAI's API that are known for that server apply.
	Like string

	quirks *quirks // instead of those known for the server
}

type provider struct {
	*wire.Provider
	dialect *dialect
}

// New returns a provider. By default its name is "chat" and its base URL [BaseURL].
func New(c Config) llm.Provider {
	if c.Name == "" {
		c.Name = "chat"
	}
	if c.BaseURL == "" {
		c.BaseURL = BaseURL
	}
	if c.Catalogue == nil {
		c.Catalogue = llm.DefaultCatalogue()
	}
	d := newDialect(c)
	return &provider{wire.NewProvider(d, c.Endpoint), d}
}

// Stream calls the model. It recovers tool calls written as text, unless quirks.NoTextTools is set.
func (p *provider) Stream(ctx context.Context, r *llm.Request) iter.Seq2[llm.StreamEvent, error] {
	if p.dialect.quirks(r.Model).NoTextTools {
		return p.Provider.Stream(ctx, r)
	}
	return texttools.Recover(p.Provider.Stream)(ctx, r)
}

// NewDialect returns the protocol. Without a base URL it is OpenAI's published API, for any model.
func NewDialect(c Config) wire.Dialect {
	if c.BaseURL == "" && c.quirks == nil {
		c.quirks = new(quirks)
	}
	return newDialect(c)
}

func newDialect(c Config) *dialect {
	d := &dialect{
		fixed:     c.quirks,
		provider:  c.Name,
		server:    c.BaseURL,
		catalogue: c.Catalogue,
		cacheKey:  Name + " " + c.BaseURL,
	}
	if d.fixed != nil {
		d.cacheKey = fmt.Sprintf("%s %v", Name, *d.fixed)
	}
	if c.Like != "" && quirksFor(c.Like, "") != compatible {
		d.server = c.Like
	}
	return d
}

// Azure configures a provider for an Azure OpenAI resource, such as "https://name.openai.azure.com". Request.Model is the
// deployment. With an API version, such as "2024-10-21", requests go to the deployment's URL, otherwise to the v1 API.
func Azure(resource, apiVersion string, c Config) Config {
	c.BaseURL = strings.TrimRight(resource, "/") + "/openai/v1"
	if apiVersion != "" {
		c.BaseURL = strings.TrimRight(resource, "/") + "/openai/deployments"
		c.Query = "api-version=" + url.QueryEscape(apiVersion)
		c.Rewrite = func(r *llm.Request, call *llm.Call) error {
			call.Path = "/" + url.PathEscape(r.Model) + call.Path
			return nil
		}
	}
	if c.Name == "" {
		c.Name = "azure"
	}
	c.Like = "https://x.openai.azure.com"
	return c
}

type dialect struct {
	fixed     *quirks
	provider  string
	server    string // base URL that quirks are known for
	catalogue *llm.Catalogue
	cacheKey  string // key of the encoder in an llm.Cache
}

func (d *dialect) Name() string { return Name }

func (d *dialect) quirks(model string) quirks {
	if d.fixed != nil {
		return *d.fixed
	}
	return quirksFor(d.server, model)
}

// Authorize sets the header with the API key.
func (d *dialect) Authorize(h http.Header, key string) {
	if header := d.quirks("").KeyHeader; header != "" {
		h.Set(header, key)
		return
	}
	h.Set("Authorization", "Bearer "+key)
}

// known returns a model from the catalogue, or the newest model in its family.
func (d *dialect) known(model string) (llm.Model, bool) {
	if d.catalogue == nil {
		return llm.Model{}, false
	}
	return d.catalogue.Like(d.provider, model)
}

// serves reports whether the catalogue lists a model for this provider.
func (d *dialect) serves(model string) bool {
	if d.catalogue == nil {
		return false
	}
	_, ok := d.catalogue.Exact(d.provider, model)
	return ok
}

// maxTokens returns the output limit: from the request or, for a model that the catalogue lists for this provider, from
// the model. Without a limit, some servers let a model write without end.
func (d *dialect) maxTokens(r *llm.Request) int64 {
	if r.MaxTokens > 0 || d.catalogue == nil {
		return int64(r.MaxTokens)
	}
	m, _ := d.catalogue.Exact(d.provider, r.Model)
	if m.ContextWindow > 0 && m.MaxOutput >= m.ContextWindow {
		return 0 // there would be no room for the prompt
	}
	return m.MaxOutput
}
