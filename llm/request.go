package llm

import (
	"encoding/json"
	"sync"
)

// Request asks a model for one answer.
type Request struct {
	Provider string `json:"provider,omitempty"` // "" means the client's default
	Model    string `json:"model"`
	// Messages is the conversation. System and developer messages may be anywhere; adapters move them if
	// the protocol has one place for instructions.
	Messages []Message `json:"messages"`

	Tools         []ToolDef  `json:"tools,omitempty"`
	ToolChoice    ToolChoice `json:"tool_choice,omitzero"`
	ParallelTools *bool      `json:"parallel_tools,omitempty"` // nil means the provider's default

	MaxTokens   int      `json:"max_tokens,omitempty"` // 0 means the model's limit
	Temperature *float64 `json:"temperature,omitempty"`
	TopP        *float64 `json:"top_p,omitempty"`
	TopK        *int     `json:"top_k,omitempty"`
	Stop        []string `json:"stop,omitempty"`

	// Effort is the reasoning effort: "none", "minimal", "low", "medium", "high" or another value that the catalogue
	// lists for the model; "" means the provider's default. ThinkingBudget sets a number of tokens instead, if the
	// provider supports it.
	Effort         string `json:"effort,omitempty"`
	ThinkingBudget *int   `json:"thinking_budget,omitempty"`

	Output *OutputFormat `json:"output,omitempty"` // nil means free text

	// CacheKey groups requests of one conversation for the provider's prompt cache. NoCache disables
	// automatic cache breakpoints.
	CacheKey string `json:"cache_key,omitempty"`
	NoCache  bool   `json:"no_cache,omitempty"`
	// CacheTTL is how long the provider keeps the cache. It must be in the model's Rules.CacheTTLs; "" means the
	// default.
	CacheTTL string `json:"cache_ttl,omitempty"`
	// Tier is the service tier, such as "flex" or "priority"; "" means the provider's default. Tiers have their own
	// prices.
	Tier string `json:"tier,omitempty"`
	// Display is how thinking is shown: "summarized", "omitted" or another value that the provider accepts; "" means
	// summaries if the provider has them.
	Display string `json:"display,omitempty"`
	// Compact, if not empty, asks the server to summarise the conversation with these instructions instead of answering
	// it, on models whose Rules have Compacts. The answer is a Text with state and finishes with FinishCompaction. Sent
	// in place of the summarised messages, it leaves the thinking in later messages valid.
	Compact string `json:"compact,omitempty"`

	// Attempts is the maximum number of attempts, if a client would make more; 0 means no limit. With a limit, it waits
	// at most 10 seconds between them and does not repeat a timeout, because the caller has another model.
	Attempts int `json:"attempts,omitempty"`

	// Unary requests one whole answer instead of a stream. The caller gets the same events.
	Unary bool `json:"unary,omitempty"`

	// Options add members and headers to a request, by dialect ("openai-responses", "openai-chat", "anthropic",
	// "gemini"). They override the adapter's own.
	Options map[string]Options `json:"options,omitempty"`

	// Cache stores encoded messages and tools between the requests of one conversation.
	Cache *Cache `json:"-"`
}

// Options are additions to a request for one dialect.
type Options struct {
	Body   map[string]json.RawMessage `json:"body,omitempty"`   // top-level request body members
	Header map[string]string          `json:"header,omitempty"` // HTTP headers
	Betas  []string                   `json:"betas,omitempty"`  // feature names for anthropic-beta
}

// ToolDef describes a tool to the model.
type ToolDef struct {
	Name        string          `json:"name,omitempty"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"` // JSON Schema with type object
	Strict      *bool           `json:"strict,omitempty"`
	// Freeform makes the input text instead of JSON. Dialects without such tools use a function with one
	// string parameter, "input".
	Freeform *Freeform `json:"freeform,omitempty"`
	// Hosted is a tool that the provider runs itself, as the dialect writes it. The other fields are then unused, and
	// other dialects omit the tool.
	Hosted State `json:"hosted,omitzero"`
}

// Freeform describes a freeform tool's input. The zero value accepts any text.
type Freeform struct {
	Syntax     string `json:"syntax,omitempty"` // "lark" or "regex"
	Definition string `json:"definition,omitempty"`
}

// ToolChoice determines whether the model may, must or must not call tools.
type ToolChoice struct {
	Mode ToolMode `json:"mode,omitempty"`
	Name string   `json:"name,omitempty"` // for ToolNamed
}

// ToolMode selects how a ToolChoice restricts the model.
type ToolMode string

// The tool choices. The zero value means the provider's default, which is ToolAuto if there are tools.
const (
	ToolAuto     ToolMode = "auto"
	ToolNone     ToolMode = "none"
	ToolRequired ToolMode = "required"
	ToolNamed    ToolMode = "named"
)

// OutputFormat requests JSON instead of free text. Without a Schema, any JSON object is valid.
type OutputFormat struct {
	Name        string          `json:"name,omitempty"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`
	Strict      *bool           `json:"strict,omitempty"`
}

// Cache holds a conversation's encoded messages and tools, so that each is encoded once. Messages and tools must not
// change after they were in a request with it. The zero value is ready to use. A Cache is safe for concurrent use.
type Cache struct {
	mu       sync.Mutex
	encoders map[string]any
}

// Encoder calls use with the encoder called name, which it creates with create at first use. Calls to use never
// overlap. A nil Cache always creates an encoder.
func (c *Cache) Encoder(name string, create func() any, use func(encoder any)) {
	if c == nil {
		use(create())
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.encoders[name]
	if !ok {
		if c.encoders == nil {
			c.encoders = make(map[string]any)
		}
		e = create()
		c.encoders[name] = e
	}
	use(e)
}
