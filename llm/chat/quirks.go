package chat

import (
	"net/url"
	"strings"
)

// Quirks are how a server departs from the protocol that OpenAI publishes, as far as requests are
// concerned. The zero value departs in nothing.
type Quirks struct {
	// MaxTokens is the member that limits the answer; "" is "max_completion_tokens".
	MaxTokens string
	// NoDeveloper sends developer messages as system messages.
	NoDeveloper bool
	// NoStreamUsage leaves out stream_options, which asks for token counts in a stream.
	NoStreamUsage bool
	// Effort is how the effort of thinking is set.
	Effort Effort
	// Reasoning is the member of an assistant message in which reasoning text goes back; "" is
	// the one it came in.
	Reasoning string
	// NoReplay never sends reasoning back.
	NoReplay bool
	// ReasoningDue is set where an assistant message with tool calls but without reasoning is
	// refused: an empty reasoning_content is sent with calls that have none of their own, such
	// as those of another model.
	ReasoningDue bool
	// NoRequired is set where tool_choice knows no "required": it is sent as "auto".
	NoRequired bool
	// NoParallel leaves out parallel_tool_calls.
	NoParallel bool
	// NoStrict leaves out the strict flag of tools.
	NoStrict bool
	// NoSchema asks for a JSON object where a JSON Schema was asked for.
	NoSchema bool
	// NoCacheKey leaves out prompt_cache_key.
	NoCacheKey bool
	// NoTopK leaves out top_k, which OpenAI does not take.
	NoTopK bool
	// ToolNames puts the tool's name into tool messages.
	ToolNames bool
	// ToolIDs is the exact length of the ids of tool calls, and MaxToolID their greatest length;
	// 0 is any. Other ids are replaced, in calls and results alike.
	ToolIDs, MaxToolID int
	// Bridge puts an assistant message between a tool message and a user message, where the
	// server takes no user message in that place.
	Bridge bool
	// Merge joins user messages that follow one another, where the server's template wants the
	// roles to alternate, as those of many local models do.
	Merge bool
	// ToolMedia is set where tool messages take images.
	ToolMedia bool
	// Documents is how a document with a URL is sent; "" is a text that names it, "file" is a
	// file part and "document_url" a part of that type.
	Documents string
	// KeyHeader is the header for the API key; "" is a bearer token in Authorization.
	KeyHeader string
	// NoTextTools is set where the server never leaves tool calls in the text.
	NoTextTools bool
}

// Effort is a way to set the effort of thinking.
type Effort string

// The ways to set the effort. Those that only switch thinking on and off switch it off for the
// effort "none".
const (
	EffortWord     Effort = ""                     // reasoning_effort: "high"
	EffortObject   Effort = "reasoning"            // reasoning: {"effort": "high"} or {"max_tokens": 2000}
	EffortType     Effort = "thinking"             // thinking: {"type": "enabled"}
	EffortTypeWord Effort = "thinking+effort"      // both thinking and reasoning_effort
	EffortEnable   Effort = "enable_thinking"      // enable_thinking: true, thinking_budget: 2000
	EffortTemplate Effort = "chat_template_kwargs" // chat_template_kwargs: {"enable_thinking": true}
	EffortNone     Effort = "none"                 // there is none
)

var (
	openai = Quirks{MaxToolID: 40, NoTopK: true, NoTextTools: true}
	azure  = Quirks{MaxToolID: 40, NoTopK: true, NoTextTools: true, NoCacheKey: true, KeyHeader: "api-key"}
	// compatible is a server of which nothing else is known.
	compatible = Quirks{MaxTokens: "max_tokens", NoDeveloper: true, NoCacheKey: true, Merge: true}
)

// vendors is the table of quirks. The first row that matches decides. A host matches itself, its
// subdomains, and as ":port" that port; a row without hosts matches all. A model matches if its
// name contains the word; a row without models matches all.
var vendors = []struct {
	hosts, models []string
	quirks        Quirks
}{
	{[]string{"api.openai.com"}, []string{"gpt-3.5", "o1-mini", "o1-preview"}, Quirks{MaxToolID: 40, NoTopK: true, NoTextTools: true, NoDeveloper: true}},
	{[]string{"api.openai.com"}, nil, openai},
	{[]string{"openai.azure.com", "cognitiveservices.azure.com", "services.ai.azure.com"}, nil, azure},
	{[]string{"openrouter.ai"}, nil, Quirks{MaxTokens: "max_tokens", NoDeveloper: true, Effort: EffortObject, Documents: "file"}},
	{[]string{"ai-gateway.vercel.sh"}, nil, Quirks{MaxTokens: "max_tokens", NoDeveloper: true, Effort: EffortObject, NoCacheKey: true}},
	{[]string{"snowflakecomputing.com"}, nil, Quirks{NoDeveloper: true, Effort: EffortObject, NoCacheKey: true, NoParallel: true}},
	{[]string{"api.mistral.ai"}, nil, Quirks{MaxTokens: "max_tokens", NoDeveloper: true, NoStreamUsage: true, NoCacheKey: true, NoTopK: true, ToolNames: true, ToolIDs: 9, Bridge: true, ToolMedia: true, Documents: "document_url"}},
	{[]string{"api.groq.com"}, nil, Quirks{NoDeveloper: true, Reasoning: "reasoning", NoCacheKey: true, NoTopK: true}},
	{[]string{"api.cerebras.ai"}, nil, Quirks{NoDeveloper: true, Reasoning: "reasoning", NoCacheKey: true, NoTopK: true}},
	{[]string{"api.deepseek.com"}, nil, Quirks{MaxTokens: "max_tokens", NoDeveloper: true, Effort: EffortTypeWord, Reasoning: "reasoning_content", ReasoningDue: true, NoSchema: true, NoParallel: true, NoCacheKey: true, NoTopK: true}},
	{[]string{"api.z.ai", "open.bigmodel.cn"}, nil, Quirks{MaxTokens: "max_tokens", NoDeveloper: true, Effort: EffortTypeWord, Reasoning: "reasoning_content", NoRequired: true, NoSchema: true, NoParallel: true, NoCacheKey: true, NoTopK: true}},
	{[]string{"api.moonshot.ai", "api.moonshot.cn"}, nil, Quirks{MaxTokens: "max_tokens", NoDeveloper: true, Effort: EffortType, Reasoning: "reasoning_content", ReasoningDue: true, NoRequired: true, NoCacheKey: true, NoTopK: true}},
	{[]string{"dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com", "dashscope-us.aliyuncs.com"}, nil, Quirks{MaxTokens: "max_tokens", NoDeveloper: true, Effort: EffortEnable, Reasoning: "reasoning_content", NoRequired: true, NoCacheKey: true}},
	{[]string{"api.x.ai"}, nil, Quirks{NoDeveloper: true, NoCacheKey: true, NoTopK: true}},
	{[]string{"api.perplexity.ai"}, nil, Quirks{MaxTokens: "max_tokens", NoDeveloper: true, NoReplay: true, NoStreamUsage: true, NoParallel: true, NoCacheKey: true}},
	{[]string{"generativelanguage.googleapis.com", "aiplatform.googleapis.com"}, nil, Quirks{NoDeveloper: true, NoParallel: true, NoStrict: true, NoCacheKey: true, NoTopK: true}},
	{[]string{"api.together.xyz", "api.together.ai"}, nil, Quirks{MaxTokens: "max_tokens", NoDeveloper: true, NoCacheKey: true}},
	{[]string{"api.fireworks.ai"}, nil, Quirks{MaxTokens: "max_tokens", NoDeveloper: true}},
	{[]string{"huggingface.co"}, nil, Quirks{MaxTokens: "max_tokens", NoDeveloper: true, NoCacheKey: true, NoTopK: true}},
	{[]string{"api.minimax.io", "api.minimaxi.com"}, nil, Quirks{NoDeveloper: true, Effort: EffortNone, NoCacheKey: true, NoTopK: true}},
	{[]string{"ml.cloud.ibm.com"}, nil, Quirks{MaxTokens: "max_tokens", NoDeveloper: true, NoParallel: true, NoCacheKey: true}},
	{[]string{"api.cloudflare.com", "gateway.ai.cloudflare.com"}, nil, Quirks{MaxTokens: "max_tokens", NoDeveloper: true, NoCacheKey: true}},
	{[]string{"ollama.com", ":11434"}, nil, Quirks{MaxTokens: "max_tokens", NoDeveloper: true, Reasoning: "reasoning", NoParallel: true, NoCacheKey: true, Merge: true}},
	{[]string{":1234"}, nil, Quirks{MaxTokens: "max_tokens", NoDeveloper: true, NoParallel: true, NoCacheKey: true, Merge: true}},
	{nil, []string{"deepseek-v4", "deepseek-v3.2", "kimi-k2"}, Quirks{MaxTokens: "max_tokens", NoDeveloper: true, NoCacheKey: true, ReasoningDue: true, Merge: true}},
	{nil, []string{"qwen3", "qwen-3"}, Quirks{MaxTokens: "max_tokens", NoDeveloper: true, NoCacheKey: true, Effort: EffortTemplate, Merge: true}},
}

// QuirksFor are the known quirks of the server at a base URL for a model. A server that is not
// known is taken for one that is compatible with OpenAI's older API.
func QuirksFor(baseURL, model string) Quirks {
	host, port := hostPort(baseURL)
	model = strings.ToLower(model)
	for i := range vendors {
		v := &vendors[i]
		if matchHost(v.hosts, host, port) && matchModel(v.models, model) {
			return v.quirks
		}
	}
	return compatible
}

func hostPort(baseURL string) (host, port string) {
	u, err := url.Parse(baseURL)
	if err != nil {
		return "", ""
	}
	return strings.ToLower(u.Hostname()), u.Port()
}

func matchHost(hosts []string, host, port string) bool {
	for _, h := range hosts {
		if h == host || strings.HasSuffix(host, "."+h) || port != "" && h == ":"+port {
			return true
		}
	}
	return len(hosts) == 0
}

func matchModel(words []string, model string) bool {
	for _, w := range words {
		if strings.Contains(model, w) {
			return true
		}
	}
	return len(words) == 0
}
