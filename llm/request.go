package llm

import (
	"encoding/json"
	"sync"
)

// Request asks a model for one answer.
type Request struct {
	Provider string `json:"provider,omitempty"` // "" is the client's default
	Model    string `json:"model"`
	// Messages is the conversation. System and developer messages may stand anywhere; protocols
	// that have one place for instructions get them there.
	Messages []Message `json:"messages"`

	Tools         []ToolDef  `json:"tools,omitempty"`
	ToolChoice    ToolChoice `json:"tool_choice,omitzero"`
	ParallelTools *bool      `json:"parallel_tools,omitempty"` // nil is the provider's default

	MaxTokens   int      `json:"max_tokens,omitempty"` // 0 is the model's own limit
	Temperature *float64 `json:"temperature,omitempty"`
	TopP        *float64 `json:"top_p,omitempty"`
	TopK        *int     `json:"top_k,omitempty"`
	Stop        []string `json:"stop,omitempty"`

	// Effort is how hard the model thinks: "none", "minimal", "low", "medium", "high", … as the
	// model lists them in the catalogue; "" is the provider's default. ThinkingBudget sets a
	// number of tokens instead, where the provider takes one.
	Effort         string `json:"effort,omitempty"`
	ThinkingBudget *int   `json:"thinking_budget,omitempty"`

	Output *OutputFormat `json:"output,omitempty"` // nil is free text

	// CacheKey groups requests of one conversation for the provider's prompt cache. NoCache
	// switches off the cache breakpoints that are otherwise placed automatically.
	CacheKey string `json:"cache_key,omitempty"`
	NoCache  bool   `json:"no_cache,omitempty"`

	// Unary asks for one whole answer instead of a stream on the wire. The caller sees the same
	// events either way.
	Unary bool `json:"unary,omitempty"`

	// Options pass anything else through, by dialect ("openai-responses", "openai-chat",
	// "anthropic", "gemini"). They are applied last and win over what the adapter would send.
	Options map[string]Options `json:"options,omitempty"`

	// Cache keeps encoded messages between the requests of one conversation.
	Cache *Cache `json:"-"`
}

// Options are a dialect's extras for one request.
type Options struct {
	Body   map[string]json.RawMessage `json:"body,omitempty"`   // top-level members of the request body
	Header map[string]string          `json:"header,omitempty"` // HTTP headers
	Betas  []string                   `json:"betas,omitempty"`  // feature names for anthropic-beta
}

// ToolDef describes a tool to the model.
type ToolDef struct {
	Name        string          `json:"name,omitempty"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"` // JSON Schema, an object at its root
	Strict      *bool           `json:"strict,omitempty"`
	// Freeform makes a tool whose input is text instead of JSON, where the dialect has such
	// tools; elsewhere it is offered as a function with one string parameter, "input".
	Freeform *Freeform `json:"freeform,omitempty"`
	// Hosted is a tool that the provider runs itself, as the dialect writes it. The other
	// fields are then unused, and other dialects leave it out.
	Hosted State `json:"hosted,omitzero"`
}

// Freeform says what text a freeform tool takes. The zero value is any text.
type Freeform struct {
	Syntax     string `json:"syntax,omitempty"` // "lark" or "regex"
	Definition string `json:"definition,omitempty"`
}

// ToolChoice says whether the model may, must or must not call tools.
type ToolChoice struct {
	Mode ToolMode `json:"mode,omitempty"`
	Name string   `json:"name,omitempty"` // for ToolNamed
}

// ToolMode is the kind of a ToolChoice.
type ToolMode string

// The tool choices. The zero value leaves it to the provider, which is ToolAuto wherever there
// are tools.
const (
	ToolAuto     ToolMode = "auto"
	ToolNone     ToolMode = "none"
	ToolRequired ToolMode = "required"
	ToolNamed    ToolMode = "named"
)

// OutputFormat asks for JSON instead of free text. Without a Schema any JSON object will do.
type OutputFormat struct {
	Name        string          `json:"name,omitempty"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`
	Strict      *bool           `json:"strict,omitempty"`
}

// Cache remembers, for one conversation, the encoded form of the messages already sent, so that
// a request costs what is new in it. Adapters keep their encoder in it, one per dialect. The zero
// value is ready; a Cache may be shared by concurrent requests.
type Cache struct {
	mu       sync.Mutex
	encoders map[string]any
}

// Encoder calls use with the dialect's encoder, made by create when there is none yet, while no
// other request uses it.
func (c *Cache) Encoder(dialect string, create func() any, use func(encoder any)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.encoders[dialect]
	if !ok {
		if c.encoders == nil {
			c.encoders = make(map[string]any)
		}
		e = create()
		c.encoders[dialect] = e
	}
	use(e)
}
