package llm

import "slices"

// searchPrices has the price of 1,000 web searches by provider, for models that have no such price.
var searchPrices = map[string]float64{"openai": 10, "anthropic": 10, "gemini": 14}

// families has the newest model of each family of names, for the rules of models that the catalogue does not have yet.
// Longer prefixes come first.
var families = []Family{
	{"anthropic", "claude-fable", "claude-fable-5-2"},
	{"anthropic", "claude-mythos", "claude-mythos-5-2"},
	{"anthropic", "claude-opus", "claude-opus-5-5"},
	{"anthropic", "claude-haiku", "claude-haiku-5-5"},
	{"anthropic", "claude-", "claude-sonnet-5-5"},
	{"openai", "gpt-", "gpt-6.1-sol"},
	{"gemini", "gemini-4", "gemini-4-argon"},
	{"gemini", "gemini-", "gemini-3.8-flash"},
	{"deepseek", "deepseek-", "deepseek-flash"},
	{"xai", "grok-", "grok-4.7"},
	{"mistral", "mistral-large", "mistral-large-4"},
	{"qwen", "qwen", "qwen3.8-max"},
	{"zai", "glm-", "glm-5.3"},
	{"moonshot", "kimi-", "kimi-k3.1-pro"},
	{"minimax", "MiniMax-", "MiniMax-M3.1-Flash"},
	{"meta", "muse-", "muse-spark-1.3"},
}

// aliases has the names that users type, and the models that they mean at the moment.
var aliases = []Alias{
	{"claude", "anthropic", "claude-sonnet-5-5"},
	{"fable", "anthropic", "claude-fable-5-2"},
	{"haiku", "anthropic", "claude-haiku-5-5"},
	{"mythos", "anthropic", "claude-mythos-5-2"},
	{"opus", "anthropic", "claude-opus-5-5"},
	{"sonnet", "anthropic", "claude-sonnet-5-5"},
	{"gpt", "openai", "gpt-6.1-sol"},
	{"gpt-astra", "openai", "gpt-6-astra"},
	{"gpt-luna", "openai", "gpt-6-luna"},
	{"gpt-sol", "openai", "gpt-6.1-sol"},
	{"gpt-terra", "openai", "gpt-6.1-terra"},
	{"gemini", "gemini", "gemini-3.8-flash"},
	{"gemini-argon", "gemini", "gemini-4-argon"},
	{"gemini-flash", "gemini", "gemini-3.8-flash"},
	{"gemini-flash-lite", "gemini", "gemini-3.5-flash-lite"},
	{"gemini-pro", "gemini", "gemini-3.1-pro-preview"},
	{"deepseek", "deepseek", "deepseek-flash"},
	{"glm", "zai", "glm-5.3"},
	{"grok", "xai", "grok-4.7"},
	{"kimi", "moonshot", "kimi-k3.1-pro"},
	{"minimax", "minimax", "MiniMax-M3.1-Flash"},
	{"muse", "meta", "muse-spark-1.3"},
	{"qwen", "qwen", "qwen3.8-max"},
}

// models returns the built-in catalogue. Programs decode no JSON for it when they start.
func models() []Model {
	return slices.Concat(
		openaiModels(), anthropicModels(), geminiModels(), bedrockModels(), deepseekModels(), xaiModels(), mistralModels(),
		qwenModels(), zaiModels(), moonshotModels(), minimaxModels(), metaModels(), groqModels(), openrouterModels(),
	)
}
