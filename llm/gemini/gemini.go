// Package gemini speaks Google's generateContent protocol, as the Gemini API and Vertex AI serve it.
//
// # Mapping
//
// System and developer messages become systemInstruction, wherever they stand. The other messages
// become contents of the roles user and model, which alternate: neighbours of one role are merged.
// Tool results are functionResponse parts whose response is {"result": text} or {"error": text};
// the text is never taken apart, even if it is JSON. Pictures of a result stand in its parts for
// models that take them there (from Gemini 3 on) and behind it as parts of their own for others.
//
// Gemini usually gives function calls no ids. The decoder then makes one: [CallIDPrefix], the id
// of the response and a number, or random digits if the response has no usable id. Ids with that
// prefix are never sent; those that the API gave are, with the call and with its result.
//
// # Provider state
//
// The State of a text, a thought or a call is its thoughtSignature, as the base64 text that was
// received. It goes back in the same place to the model that made it. A part that carries a
// signature is never merged with another one, even if its text is empty. For other models
// signatures are left out and thoughts dropped; models that insist on a signature (from Gemini 3
// on) get Google's documented stand-in on the first call of each content. Parts that are not
// modelled, such as executableCode or toolCall, are llm.Opaque.
//
// Arguments that are no JSON object are sent as {"_raw": text}, and those of freeform tools as
// {"input": text}.
//
// # What has no place here
//
// ParallelTools, ToolDef.Strict, Image.Detail, CacheKey and NoCache have no counterpart and are
// passed over. Caching is implicit.
package gemini

import (
	"net/http"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/wire"
)

// Name is the name of the dialect.
const Name = "gemini"

// BaseURL is the root of Google's public Gemini API.
const BaseURL = "https://generativelanguage.googleapis.com"

// CallIDPrefix begins the ids that this package makes for calls that came without one.
const CallIDPrefix = "gemini-call-"

// Config says where and how Gemini is reached. The zero value with an APIKey is the public API.
type Config struct {
	wire.Endpoint
	Catalogue *llm.Catalogue // nil is llm.DefaultCatalogue
}

// New makes a provider. Its name is "gemini" unless the configuration gives another.
func New(c Config) *wire.Provider {
	if c.Name == "" {
		c.Name = "gemini"
	}
	if c.BaseURL == "" {
		c.BaseURL = BaseURL
	}
	return wire.NewProvider(NewDialect(c), c.Endpoint)
}

// NewDialect makes the codec alone; the endpoint is not looked at.
func NewDialect(c Config) wire.Dialect {
	if c.Catalogue == nil {
		c.Catalogue = llm.DefaultCatalogue()
	}
	return dialect{c.Catalogue}
}

type dialect struct{ catalogue *llm.Catalogue }

func (dialect) Name() string { return Name }

// Authorize puts the key into a header. The API takes it in the URL as well, where logs would
// show it.
func (dialect) Authorize(h http.Header, key string) { h.Set("X-Goog-Api-Key", key) }
