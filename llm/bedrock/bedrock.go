// Package bedrock implements the Converse API of Amazon Bedrock, and the signatures of AWS. Converse serves the models
// of every vendor in one form. Claude is better served in Anthropic's own protocol: see anthropic.Bedrock.
//
// # Requests
//
// System and developer messages become system blocks, wherever they are. Consecutive messages with the same role are
// merged. Blank texts are omitted, and a short text replaces media that the API does not support. Tool call arguments
// that are not a JSON object are sent as {"_raw": "…"}, freeform arguments as {"input": "…"}. If the conversation has
// tool calls but the request has no tools, the called tools are declared, because the API requires it. The API has no
// tool choice "none": the tools are then omitted, if the conversation has no calls.
//
// JSON output is requested by an instruction, never by a forced tool, because few models support more. Effort is sent
// to models that are known to support it: Amazon Nova 2, gpt-oss, and Claude with adaptive thinking. Claude's llm.Rules
// decide which settings it accepts: any other setting is an error, and so are CacheTTL and Compact, which Converse
// cannot carry. The service tiers are default, flex, priority and reserved. TopK, ThinkingBudget, ParallelTools,
// ToolDef.Strict, CacheKey and NoCache are ignored. Options replace body members, such as additionalModelRequestFields
// or guardrailConfig.
//
// # Answers
//
// A thinking part's State is a JSON object with its signature or its redacted content. It is sent back to the model
// that produced it; thinking without either is not sent back. The State of a text with citations is its whole block.
// Unknown blocks are llm.Opaque.
package bedrock

import (
	"net/http"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// Name is the dialect name.
const Name = "bedrock-converse"

// Config configures a provider.
type Config struct {
	// The default Name is "bedrock". The BaseURL is "https://bedrock-runtime.REGION.amazonaws.com". The APIKey is a
	// Bedrock API key; without one, Sign must be set.
	llm.Endpoint
	Catalogue *llm.Catalogue // nil means llm.DefaultCatalogue()
}

// New returns a provider.
func New(c Config) llm.Provider {
	if c.Name == "" {
		c.Name = "bedrock"
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

func (dialect) Authorize(h http.Header, key string) { h.Set("Authorization", "Bearer "+key) }
