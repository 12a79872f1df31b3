package llmtest

import (
	"slices"
	"strings"
)

// The tables below list the settings that the APIs accept for each model. They are written from the vendors'
// documentation and share nothing with package llm's catalogue, so that a mistake in either of them shows. Models that
// are not listed have only their protocol's general rules.

// refusal is when an API refuses a setting.
type refusal int

const (
	never    refusal = iota
	always           // with any value
	thinking         // while the model thinks
	changed          // unless it has its default value
	both             // temperature and top_p together
)

// claudeRules are the rules for a Claude model.
type claudeRules struct {
	name     string
	thinking string // accepted values of thinking.type
	thinks   bool   // also if the request does not ask for it
	hides    bool   // the default of thinking.display is omitted
	efforts  string
	forced   refusal // tool_choice any and tool
	sampling refusal // temperature, top_p and top_k
	prefill  refusal // a conversation that ends with an answer
	bound    bool    // thinking is bound to what precedes it
	everyone bool    // for accounts of any age
	reads    string  // models whose thinking it reads, besides its own
	late     bool    // accepts system messages in the conversation
	inline   bool    // accepts changes of tools in them
	compacts bool    // accepts requests for compaction
	input    int64   // maximum tokens
}

const (
	fiveEfforts = "low medium high xhigh max"
	sixEfforts  = "none low medium high xhigh max"
)

var claudeModels = []claudeRules{
	{
		name:     "claude-fable-5-2",
		thinking: "adaptive",
		thinks:   true,
		hides:    true,
		efforts:  fiveEfforts,
		prefill:  always,
		forced:   always,
		sampling: always,
		bound:    true,
		everyone: true,
		reads:    "claude-mythos-5-2 claude-haiku-5-5",
		late:     true,
		inline:   true,
		compacts: true,
		input:    1_000_000,
	},
	{
		name:     "claude-mythos-5-2",
		thinking: "adaptive",
		thinks:   true,
		hides:    true,
		efforts:  fiveEfforts,
		prefill:  always,
		forced:   always,
		sampling: always,
		bound:    true,
		everyone: true,
		reads:    "claude-fable-5-2 claude-haiku-5-5",
		late:     true,
		inline:   true,
		compacts: true,
		input:    1_000_000,
	},
	{
		name:     "claude-fable-5-1",
		thinking: "adaptive",
		thinks:   true,
		hides:    true,
		efforts:  fiveEfforts,
		prefill:  always,
		forced:   always,
		sampling: always,
		bound:    true,
		reads:    "claude-mythos-5-1 claude-opus-5 claude-opus-5-5 claude-haiku-5-5",
		late:     true,
		inline:   true,
		compacts: true,
		input:    1_000_000,
	},
	{
		name:     "claude-mythos-5-1",
		thinking: "adaptive",
		thinks:   true,
		hides:    true,
		efforts:  fiveEfforts,
		prefill:  always,
		forced:   always,
		sampling: always,
		bound:    true,
		everyone: true,
		reads:    "claude-fable-5-1 claude-haiku-5-5",
		late:     true,
		inline:   true,
		compacts: true,
		input:    1_000_000,
	},
	{
		name:     "claude-fable-5",
		thinking: "adaptive",
		thinks:   true,
		hides:    true,
		efforts:  fiveEfforts,
		forced:   thinking,
		sampling: changed,
		prefill:  always,
		reads:    "claude-mythos-5",
		late:     true,
		inline:   true,
		compacts: true,
		input:    1_000_000,
	},
	{
		name:     "claude-mythos-5",
		thinking: "adaptive",
		thinks:   true,
		hides:    true,
		efforts:  fiveEfforts,
		forced:   thinking,
		sampling: changed,
		prefill:  always,
		reads:    "claude-fable-5",
		late:     true,
		inline:   true,
		compacts: true,
		input:    1_000_000,
	},
	{
		name:     "claude-opus-5-5",
		thinking: "adaptive",
		thinks:   true,
		hides:    true,
		efforts:  fiveEfforts,
		forced:   always,
		sampling: always,
		prefill:  always,
		bound:    true,
		reads:    "claude-haiku-5-5",
		late:     true,
		inline:   true,
		compacts: true,
		input:    1_000_000,
	},
	{
		name:     "claude-sonnet-5-5",
		thinking: "adaptive between_tools",
		thinks:   true,
		hides:    true,
		efforts:  fiveEfforts,
		forced:   always,
		sampling: always,
		prefill:  always,
		bound:    true,
		reads:    "claude-haiku-5-5",
		late:     true,
		inline:   true,
		compacts: true,
		input:    1_000_000,
	},
	{
		name:     "claude-haiku-5-5",
		thinking: "adaptive disabled",
		thinks:   true,
		hides:    true,
		efforts:  fiveEfforts,
		sampling: always,
		prefill:  always,
		bound:    true,
		late:     true,
		inline:   true,
		compacts: true,
		input:    1_000_000,
	},
	{
		name:     "claude-opus-5",
		thinking: "adaptive disabled",
		thinks:   true,
		hides:    true,
		efforts:  fiveEfforts,
		prefill:  always,
		forced:   thinking,
		sampling: changed,
		late:     true,
		inline:   true,
		compacts: true,
		input:    1_000_000,
	},
	{
		name:     "claude-sonnet-5",
		thinking: "adaptive disabled",
		thinks:   true,
		hides:    true,
		efforts:  fiveEfforts,
		prefill:  always,
		forced:   thinking,
		sampling: changed,
		compacts: true,
		input:    1_000_000,
	},
	{
		name:     "claude-opus-4-8",
		thinking: "adaptive disabled",
		hides:    true,
		efforts:  fiveEfforts,
		prefill:  always,
		forced:   thinking,
		sampling: changed,
		late:     true,
		inline:   true,
		compacts: true,
		input:    1_000_000,
	},
	{
		name:     "claude-opus-4-7",
		thinking: "adaptive disabled",
		hides:    true,
		efforts:  fiveEfforts,
		prefill:  always,
		forced:   thinking,
		sampling: changed,
		compacts: true,
		input:    1_000_000,
	},
	{
		name:     "claude-opus-4-6",
		thinking: "adaptive enabled disabled",
		efforts:  "low medium high max",
		prefill:  always,
		forced:   thinking,
		sampling: thinking,
		compacts: true,
		input:    1_000_000,
	},
	{
		name:     "claude-sonnet-4-6",
		thinking: "adaptive enabled disabled",
		efforts:  "low medium high max",
		prefill:  always,
		forced:   thinking,
		sampling: thinking,
		compacts: true,
		input:    1_000_000,
	},
	{name: "claude-opus-4-5", thinking: "enabled disabled", efforts: "low medium high", forced: thinking, sampling: both, input: 200_000},
	{name: "claude-sonnet-4-5", thinking: "enabled disabled", forced: thinking, sampling: both, input: 200_000},
	{name: "claude-haiku-4-5", thinking: "enabled disabled", forced: thinking, sampling: both, input: 200_000},
}

// claudeRulesOf returns a model's rules, or nil. The names on cloud platforms have a prefix such as "us.anthropic." and
// a suffix such as "-20251001-v1:0" or "@20251001".
func claudeRulesOf(model string) *claudeRules {
	if i := strings.LastIndex(model, "anthropic."); i >= 0 {
		model = model[i+len("anthropic."):]
	}
	model, _, _ = strings.Cut(model, "@")
	if name, version, ok := cutLast(model, "-v"); ok && isDigits(strings.ReplaceAll(version, ":", "")) {
		model = name
	}
	model = undated(model)
	i := slices.IndexFunc(claudeModels, func(r claudeRules) bool { return r.name == model })
	if i < 0 {
		return nil
	}
	return &claudeModels[i]
}

// canRead reports whether the model reads the thinking of another one.
func (r *claudeRules) canRead(author string) bool { return r.name == author || lists(r.reads, author) }

// openaiRules are the rules for an OpenAI model.
type openaiRules struct {
	name      string
	efforts   string
	sampling  refusal // temperature, top_p and logprobs
	chatTools refusal // in Chat Completions; thinking means with any effort but none
	options   bool    // accepts prompt_cache_options
	retention string  // accepted values of prompt_cache_retention
	phases    bool    // messages have a phase
	strict    bool    // function tools must have the member strict
	input     int64   // maximum tokens
}

var openaiModels = []openaiRules{
	{
		name: "gpt-6.1-sol", efforts: fiveEfforts, sampling: always, chatTools: always,
		options: true, retention: "24h", phases: true, strict: true, input: 922_000,
	},
	{
		name: "gpt-6.1-terra", efforts: sixEfforts, sampling: always, chatTools: thinking,
		options: true, retention: "24h", phases: true, strict: true, input: 922_000,
	},
	{
		name: "gpt-6-astra", efforts: fiveEfforts, sampling: always, chatTools: always,
		options: true, retention: "24h", phases: true, strict: true, input: 922_000,
	},
	{
		name: "gpt-6-sol", efforts: sixEfforts, sampling: always, chatTools: thinking,
		options: true, retention: "24h", phases: true, strict: true, input: 922_000,
	},
	{
		name: "gpt-6-luna", efforts: sixEfforts, sampling: always, chatTools: thinking,
		options: true, retention: "24h", phases: true, strict: true, input: 922_000,
	},
	{
		name: "gpt-5.6-sol", efforts: sixEfforts, chatTools: thinking,
		options: true, retention: "24h", phases: true, strict: true, input: 922_000,
	},
	{
		name: "gpt-5.6-terra", efforts: sixEfforts, chatTools: thinking,
		options: true, retention: "24h", phases: true, strict: true, input: 922_000,
	},
	{
		name: "gpt-5.6-luna", efforts: sixEfforts, chatTools: thinking,
		options: true, retention: "24h", phases: true, strict: true, input: 922_000,
	},
	{name: "gpt-5.5", efforts: "none low medium high xhigh", retention: "24h", phases: true, input: 922_000},
	{name: "gpt-5.4", efforts: "none low medium high xhigh", retention: "in_memory 24h", phases: true, input: 922_000},
	{name: "gpt-5.4-mini", efforts: "none low medium high xhigh", retention: "in_memory 24h", input: 272_000},
	{name: "gpt-5.4-nano", efforts: "none low medium high xhigh", retention: "in_memory 24h", input: 272_000},
	{name: "gpt-5.2", efforts: "none low medium high xhigh", retention: "in_memory 24h", input: 272_000},
	{name: "gpt-5.1", efforts: "none low medium high", retention: "in_memory 24h", input: 272_000},
	{name: "gpt-5", efforts: "minimal low medium high", retention: "in_memory 24h", input: 272_000},
	{name: "gpt-5-mini", efforts: "minimal low medium high", retention: "in_memory 24h", input: 272_000},
	{name: "gpt-5-nano", efforts: "minimal low medium high", retention: "in_memory 24h", input: 272_000},
}

// openaiRulesOf returns a model's rules, or nil.
func openaiRulesOf(model string) *openaiRules {
	model = undated(model)
	i := slices.IndexFunc(openaiModels, func(r openaiRules) bool { return r.name == model })
	if i < 0 {
		return nil
	}
	return &openaiModels[i]
}

// geminiRules are the rules for a Gemini model.
type geminiRules struct {
	name   string
	levels string // accepted values of thinkingLevel
	budget refusal
	output int64 // maximum tokens in a stream
	unary  int64 // maximum tokens otherwise
	input  int64
}

var geminiModels = []geminiRules{
	{name: "gemini-4-argon", levels: "low medium high", budget: always, output: 65_536, unary: 32_768, input: 1_048_576},
	{name: "gemini-3.8-flash", levels: "low medium high", output: 65_536, unary: 65_536, input: 1_048_576},
	{name: "gemini-3.7-flash", levels: "low medium high", output: 65_536, unary: 65_536, input: 1_048_576},
	{name: "gemini-3.6-flash", levels: "minimal low medium high", output: 65_536, unary: 65_536, input: 1_048_576},
	{name: "gemini-3.5-flash", levels: "minimal low medium high", output: 65_536, unary: 65_536, input: 1_048_576},
	{name: "gemini-3.1-pro-preview", levels: "low medium high", output: 65_536, unary: 65_536, input: 1_048_576},
	{name: "gemini-3.1-flash-lite", levels: "minimal low medium high", output: 65_536, unary: 65_536, input: 1_048_576},
	{name: "gemini-2.5-pro", budget: never, output: 65_536, unary: 65_536, input: 1_048_576},
	{name: "gemini-2.5-flash", budget: never, output: 65_536, unary: 65_536, input: 1_048_576},
}

// geminiRulesOf returns a model's rules, or nil.
func geminiRulesOf(model string) *geminiRules {
	model = model[strings.LastIndexByte(model, '/')+1:]
	i := slices.IndexFunc(geminiModels, func(r geminiRules) bool { return r.name == model })
	if i < 0 {
		return nil
	}
	return &geminiModels[i]
}

// chatRules are the rules for a model with a Chat Completions API that is not OpenAI's.
type chatRules struct {
	name     string
	efforts  string // accepted values of reasoning_effort
	thinking string // accepted values of thinking.type
	switches bool   // accepts enable_thinking
	echo     bool   // reasoning_content of answers with calls must come back
	hot      bool   // temperature must be 1
	hint     string // what the API says if thinking is turned off
}

const minimaxHint = " (2013): this model requires adaptive thinking"

var chatModels = []chatRules{
	{name: "deepseek-flash", efforts: "low medium high max", thinking: "enabled disabled", echo: true},
	{name: "deepseek-v4-flash", efforts: "low medium high max", thinking: "enabled disabled", echo: true},
	{name: "deepseek-v4-pro", efforts: "low medium high max", thinking: "enabled disabled", echo: true},
	{name: "kimi-k3", efforts: "low high max", echo: true, hot: true},
	{name: "kimi-k3.1-pro", efforts: "low high max", echo: true, hot: true},
	{name: "kimi-k3.1-pro-highspeed", efforts: "low high max", echo: true, hot: true},
	{name: "kimi-k2.7-code", thinking: "enabled", echo: true},
	{name: "qwen3.8-max", efforts: "low medium xhigh", switches: true},
	{name: "qwen3.8-flash", efforts: "low medium xhigh", switches: true},
	{name: "MiniMax-M3.1-Flash", efforts: "low medium high xhigh max", thinking: "adaptive", echo: true, hint: minimaxHint},
	{name: "MiniMax-M3", echo: true, thinking: "adaptive disabled"},
	{name: "glm-5.3", efforts: "low high max", thinking: "enabled disabled"},
	{name: "glm-5.3-flash", efforts: "low high max", thinking: "enabled disabled"},
}

// chatRulesOf returns a model's rules, or nil.
func chatRulesOf(model string) *chatRules {
	i := slices.IndexFunc(chatModels, func(r chatRules) bool { return r.name == model })
	if i < 0 {
		return nil
	}
	return &chatModels[i]
}

// lists reports whether a list of words has a word.
func lists(words, word string) bool { return slices.Contains(strings.Fields(words), word) }

// undated returns a model's name without a date such as "-20260922" or "-2026-09-22".
func undated(model string) string {
	for _, layout := range []string{"-00000000", "-0000-00-00"} {
		if i := len(model) - len(layout); i > 0 && strings.Map(digitsToZero, model[i:]) == layout {
			return model[:i]
		}
	}
	return model
}

func digitsToZero(r rune) rune {
	if r >= '0' && r <= '9' {
		return '0'
	}
	return r
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// cutLast is strings.Cut at the last separator.
func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
