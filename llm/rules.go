package llm

import (
	"slices"
	"strings"
)

// Rules are the settings that the API accepts for a model, and its defaults. Adapters read them instead of model names.
// The zero value accepts everything.
type Rules struct {
	// ThinkingTypes lists the accepted values of Anthropic's thinking.type: "adaptive", "between_tools", "enabled",
	// "disabled". Empty means unknown.
	ThinkingTypes []string `json:"thinking_types,omitempty"`
	// Thinks means that the model thinks unless the request turns it off.
	Thinks bool `json:"thinks,omitempty"`
	// DefaultEffort is the effort for a request that names none.
	DefaultEffort string `json:"default_effort,omitempty"`
	// Hides means that the text of thinking is empty unless the request asks for it.
	Hides bool `json:"hides,omitempty"`
	// ForcedTools and Sampling say when the API refuses a forced tool, and temperature, top_p and top_k.
	ForcedTools Refusal `json:"forced_tools,omitempty"`
	Sampling    Refusal `json:"sampling,omitempty"`
	// Budget says when the API refuses a number of thinking tokens.
	Budget Refusal `json:"budget,omitempty"`
	// ChatTools says when Chat Completions refuses tools.
	ChatTools Refusal `json:"chat_tools,omitempty"`
	// NoPrefill means that a conversation must not end with an assistant message.
	NoPrefill bool `json:"no_prefill,omitempty"`
	// PrefixCheck means that thinking is bound to everything before it: it is refused if the system prompt, the tools
	// or an earlier message changed.
	PrefixCheck bool `json:"prefix_check,omitempty"`
	// LateSystem, InlineTools and Compacts mean that the API accepts changes that leave everything before thinking
	// unchanged: system messages in the conversation, tools added and removed there, and compaction by the server.
	LateSystem  bool `json:"late_system,omitempty"`
	InlineTools bool `json:"inline_tools,omitempty"`
	Compacts    bool `json:"compacts,omitempty"`
	// NeedsThinking means that answers with tool calls must be sent back with their thinking, even if it is empty.
	NeedsThinking bool `json:"needs_thinking,omitempty"`
	// Invoke means that Amazon Bedrock serves the model only through InvokeModel.
	Invoke bool `json:"invoke,omitempty"`
	// MaxInput is the maximum input in tokens, if it is less than the context window.
	MaxInput int64 `json:"max_input,omitempty"`
	// MaxUnary is the maximum output in tokens for an answer that is not streamed, if it is less than MaxOutput.
	MaxUnary int64 `json:"max_unary,omitempty"`
	// Cache is the request member that controls the prompt cache: "cache_control", "prompt_cache_options" or
	// "prompt_cache_retention". CacheTTLs lists the accepted lifetimes, the default first.
	Cache     string   `json:"cache,omitempty"`
	CacheTTLs []string `json:"cache_ttls,omitempty"`
}

// Refusal is when an API refuses a setting.
type Refusal string

// The refusals. The zero value means that the setting is accepted.
const (
	RefusedAlways   Refusal = "always"
	RefusedThinking Refusal = "thinking" // while the model thinks
	RefusedChanged  Refusal = "changed"  // unless it has its default value
	RefusedBoth     Refusal = "both"     // temperature and top_p together
)

// Forbids reports whether a setting is refused in a request that thinks or not.
func (r Refusal) Forbids(thinks bool) bool {
	return r == RefusedAlways || r == RefusedThinking && thinks
}

// Accepts reports whether the model accepts a type of thinking.
func (r Rules) Accepts(thinkingType string) bool {
	return slices.Contains(r.ThinkingTypes, thinkingType)
}

// InputLimit returns the maximum input in tokens, 0 if unknown.
func (m Model) InputLimit() int64 {
	if most := m.Rules.MaxInput; most > 0 && (m.ContextWindow == 0 || most < m.ContextWindow) {
		return most
	}
	return m.ContextWindow
}

// Family is a group of models whose names begin in the same way. An unknown model in the family has the same rules as
// Like, its newest model.
type Family struct {
	Provider string `json:"provider"`
	Prefix   string `json:"prefix"`
	Like     string `json:"like"`
}

// Like returns the model or, if the catalogue does not have it, the newest model in its family under that name, without
// a price. It reports whether it found either.
func (c *Catalogue) Like(provider, name string) (Model, bool) {
	if m, ok := c.Lookup(provider, name); ok {
		return m, true
	}
	m, ok := c.family(provider, name)
	if !ok {
		return Model{}, false
	}
	m.ID = name
	m.Name = name
	m.Aliases = nil
	m.Price = nil
	m.Default = false
	m.Cutoff = ""
	m.Ends = ""
	return m, true
}

// family returns the newest model in the family that a name belongs to.
func (c *Catalogue) family(provider, name string) (Model, bool) {
	for _, g := range c.groups {
		for _, f := range g.of(provider).families {
			if f.Provider == provider && strings.HasPrefix(name, f.Prefix) {
				return c.Exact(provider, f.Like)
			}
		}
	}
	return Model{}, false
}
