// Package gemini implements Google's generateContent protocol for the Gemini API and Vertex AI.
//
// # Requests
//
// System and developer messages become systemInstruction, wherever they are. The other messages become contents with
// the roles user and model; consecutive messages with the same role are merged. Tool results are functionResponse parts
// whose response is {"result": text} or {"error": text}, even if the text is JSON. Images in a result are among its
// parts for models that support that (from Gemini 3 on) and after it for others.
//
// Gemini usually sends function calls without IDs. The decoder then generates one: "gemini-call-", the response ID and
// a number, or random digits if the response has no usable ID. IDs with that prefix are never sent. IDs from the API
// are sent with the call and with its result.
//
// Arguments that are not a JSON object are sent as {"_raw": text}, and freeform arguments as {"input": text}.
//
// ParallelTools, ToolDef.Strict, Image.Detail, CacheKey and NoCache are ignored: the protocol has no
// counterpart. Caching is implicit, so CacheTTL is an error, and so is Compact. The service tiers are flex, standard and
// priority. Summaries of thoughts are requested from models that always think, unless Display is "omitted".
//
// A model's llm.Rules decide which settings it accepts. A setting that the model refuses is an error; an effort that it
// does not list is replaced by the nearest one. Unknown models have the same rules as the newest model in their family.
//
// # Provider state
//
// The State of a text, thought or call is its thoughtSignature, as received. It is sent back in the same place to the
// model that produced it. A part with a signature is never merged with another, even if its text is empty. For other
// models, signatures are omitted and thoughts dropped. Models that require a signature (from Gemini 3 on) get Google's
// documented placeholder on the first call in each content. A result is sent with its call's name, even if the result
// has another, and with its ID. Unknown parts, such as executableCode or toolCall, are llm.Opaque.
package gemini

import (
	"net/http"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// Name is the dialect name.
const Name = "gemini"

// BaseURL is the default base URL.
const BaseURL = "https://generativelanguage.googleapis.com"

// callIDPrefix is the prefix of ids for calls that came without one.
const callIDPrefix = "gemini-call-"

// Config configures a provider.
type Config struct {
	llm.Endpoint                // the default Name is "gemini", the default BaseURL is [BaseURL]
	Catalogue    *llm.Catalogue // nil means llm.DefaultCatalogue()
}

// New returns a provider.
func New(c Config) llm.Provider {
	if c.Name == "" {
		c.Name = "gemini"
	}
	if c.BaseURL == "" {
		c.BaseURL = BaseURL
	}
	return wire.NewProvider(NewDialect(c), c.Endpoint)
}

// NewDialect returns the dialect alone. It ignores the endpoint.
func NewDialect(c Config) wire.Dialect {
	if c.Catalogue == nil {
		c.Catalogue = llm.DefaultCatalogue()
	}
	return dialect{c.Catalogue}
}

type dialect struct{ catalogue *llm.Catalogue }

func (dialect) Name() string { return Name }

// Authorize sets a header, not the URL parameter that the API also accepts, because logs would show that.
func (dialect) Authorize(h http.Header, key string) { h.Set("X-Goog-Api-Key", key) }
