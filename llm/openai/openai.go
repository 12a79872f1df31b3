// Package openai implements the OpenAI Responses API.
//
// # Requests
//
// System messages become the instructions, joined by a blank line; developer messages stay in place. An assistant
// message becomes the items it came from: reasoning, messages, tool calls and any others, in their order. Requests are
// stateless by default: store is false, and reasoning is requested in encrypted form so that it can be sent back. Other
// API parameters (previous_response_id, conversation, …) go through Request.Options. Options for reasoning and text are
// merged member by member. The API has no stop sequences, no top_k and no thinking budget: those request fields are
// ignored. Settings that the model's rules in the catalogue refuse are configuration errors.
//
// If the model's rules have LateSystem, system messages after the conversation's start stay in place, as developer
// messages. If they have InlineTools, tools added during the conversation are sent in additional_tools items in their
// places, after the initial tools; as long as no tool was removed, because the API cannot do that.
//
// # Provider state
//
// A Thinking part's State is the whole reasoning item. It is sent back byte for byte, in its place, to the model that
// produced it. It is omitted for other models, if the item that followed it is missing or was changed (the API refuses
// that), and if it contains neither encrypted nor readable reasoning while store is false. The State of a Text or
// ToolCall holds the item members that have no field, such as id, status and phase, and the reasoning that it followed:
// without that reasoning, it is sent without its ID, because the API refuses it otherwise. Unknown items are Opaque and
// sent back unchanged. A refusal is Text, marked as a refusal in its State; the answer then ends with
// FinishContentFilter.
//
// # Tool calls and results
//
// Arguments are sent as the model wrote them, but empty arguments as {}, and anything else that is not a JSON object as
// {"_raw": "…"}, because servers parse them. The API has no flag for failed tools: a result with IsError starts with
// "Error: ".
package openai

import (
	"bytes"
	"cmp"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// Name is the dialect name.
const Name = "openai-responses"

// BaseURL is the default base URL.
const BaseURL = "https://api.openai.com/v1"

const encryptedReasoning = "reasoning.encrypted_content"

// Config configures a provider.
type Config struct {
	llm.Endpoint // the default Name is "openai", the default BaseURL is [BaseURL]

	Catalogue *llm.Catalogue // nil means llm.DefaultCatalogue()
	// Summary requests reasoning summaries: "auto", "concise", "detailed" or "none". The default is "auto" for
	// reasoning models in the catalogue, until the server refuses it: OpenAI does so for unverified organisations.
	Summary string
	// Obfuscation keeps the random padding in streamed events, which hides the text's length from network observers. It
	// is off by default.
	Obfuscation bool
	// KeyHeader is the header for the API key. By default it is sent as a bearer token.
	KeyHeader string
}

// New returns a provider.
func New(c Config) llm.Provider {
	if c.Endpoint.Name == "" {
		c.Endpoint.Name = "openai"
	}
	if c.BaseURL == "" {
		c.BaseURL = BaseURL
	}
	return wire.NewProvider(NewDialect(c), c.Endpoint)
}

// Azure returns the configuration for Azure OpenAI, where models are named by their deployments. The endpoint is the
// resource's URL, such as "https://my-resource.openai.azure.com", or its name. An empty API version means the current
// one. To use a Microsoft Entra token instead of a key, set KeyHeader to "".
func Azure(endpoint, apiKey, apiVersion string) Config {
	base := strings.TrimRight(endpoint, "/")
	if !strings.Contains(base, "://") {
		if !strings.Contains(base, ".") {
			base += ".openai.azure.com"
		}
		base = "https://" + base
	}
	if !strings.Contains(base, "/openai") {
		base += "/openai/v1"
	}
	query := ""
	if apiVersion != "" {
		query = url.Values{"api-version": {apiVersion}}.Encode()
	}
	return Config{
		Endpoint:  llm.Endpoint{Name: "azure", BaseURL: base, APIKey: apiKey, Query: query},
		KeyHeader: "api-key",
	}
}

// NewDialect returns the dialect alone. It uses only the endpoint's name.
func NewDialect(c Config) wire.Dialect {
	if c.Catalogue == nil {
		c.Catalogue = llm.DefaultCatalogue()
	}
	return &dialect{
		provider:    cmp.Or(c.Endpoint.Name, "openai"),
		catalogue:   c.Catalogue,
		summary:     c.Summary,
		obfuscation: c.Obfuscation,
		keyHeader:   c.KeyHeader,
	}
}

type dialect struct {
	provider    string
	catalogue   *llm.Catalogue
	summary     string
	obfuscation bool
	keyHeader   string
	noSummary   atomic.Bool // the server refused summaries
}

func (d *dialect) Name() string { return Name }

func (d *dialect) Authorize(h http.Header, key string) {
	if d.keyHeader != "" {
		h.Set(d.keyHeader, key)
		return
	}
	h.Set("Authorization", "Bearer "+key)
}

// Learn reports whether the server refused the summaries that no caller asked for. Later requests do without them.
func (d *dialect) Learn(r *llm.Request, e *llm.Error) bool {
	refused := e.Kind == llm.ErrInvalidRequest && bytes.Contains(e.Body, []byte("reasoning.summary"))
	if !refused || d.summary != "" || r.Display != "" {
		return false
	}
	return !d.noSummary.Swap(true)
}

// model returns the catalogue's entry for a model, or for the newest model in its family.
func (d *dialect) model(name string) llm.Model {
	if m, ok := d.catalogue.Lookup(d.provider, name); ok || !d.reasons(name) {
		return m
	}
	m, _ := d.catalogue.Like(d.provider, name)
	return m
}

// reasons reports whether the model reasons: if it does not, the API refuses to return encrypted reasoning. Unknown
// models are assumed to be new.
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
